# SPDX-License-Identifier: Apache-2.0
"""The C library as Python sees it: cffi (ABI mode) over the public headers, contexts, and errors as exceptions.

cffi lets go of the interpreter's lock around every call, so other threads run while C computes.
"""

import atexit
import contextlib
import operator
import os
import struct
import sys
import threading
import warnings

from ._library import ffi, lib
from ._words import spoken
from .errors import BY_STATUS, AccuracyWarning, LacunaError, UnsupportedError

_STATUS = ffi.typeof("lac_status").elements


def text(pointer):
    return ffi.string(pointer).decode(errors="replace") if pointer else ""  # a file's bytes may be any


def sized(kind):
    """A new struct of options or a report, zero but for its size: all defaults."""
    return ffi.new(kind + " *", {"size": ffi.sizeof(kind)})


def fields(struct):
    """The names of the fields of such a struct, but for its size."""
    return [name for name, _ in ffi.typeof(struct).item.fields if name != "size"]


# (thread, what waits for C to be back): exceptions of Python functions that C called, and bars of progress to close.
WAITING = []
TICKS = {}  # thread: a function that is called now and then while C works in it


def raise_later(_kind, exception, _trace):
    """Keep an exception that cannot pass through C, for the call that brought us there. What ffi.callback calls."""
    WAITING.append((threading.get_ident(), exception))


def raised():
    """The first exception that waits for this thread."""
    me = threading.get_ident()
    return next((what for thread, what in WAITING if thread == me and isinstance(what, BaseException)), None)


def _taken():
    """What waits for this thread, which waits no longer."""
    me = threading.get_ident()
    mine = [pair for pair in WAITING if pair[0] == me]
    for pair in mine:
        WAITING.remove(pair)
    return mine


def arrived():
    """C is back: close bars. Returns the first exception that waited."""
    first = raised()
    for _, what in _taken():
        if not isinstance(what, BaseException):
            what.close()
    return first


@contextlib.contextmanager
def aside():
    """What waits goes on waiting while a Python function that C called makes calls of its own."""
    mine = _taken() if WAITING else ()
    try:
        yield
    finally:
        WAITING.extend(mine)


def failure(status, ctx=ffi.NULL):
    """The exception that goes with a status of a call through `ctx`."""
    trace = text(lib.lac_context_trace(ctx)) if ctx else ""
    error = BY_STATUS.get(_STATUS.get(status), LacunaError)(spoken(text(lib.lac_context_error(ctx)), trace))
    error.trace = trace
    return error


def check(status):
    """Raise what a call without a context failed with."""
    if status:
        raise failure(status)


_alive = [True]
atexit.register(_alive.clear)


def release(destroy, kind, held=()):
    """What ffi.gc calls for an object that C counts: one holder less. Nothing while the interpreter goes down. `held`
    lives until then."""
    pointer, new, alive = ffi.typeof(kind + " **"), ffi.new, _alive

    def gone(c, held=held):
        if alive:
            destroy(new(pointer, c))

    return gone


def _closer():
    """What ffi.gc calls for a context. A forked child leaves those of its parent alone: their threads are not there."""
    home, close = os.getpid(), release(lib.lac_context_destroy, "lac_context")

    def gone(c):
        if os.getpid() == home:
            close(c)

    return gone


class Table:
    """Room for the pointers of one call: those of results first, then those of inputs."""

    __slots__ = ("memory", "bytes", "in_pointers", "out_pointers")

    def __init__(self, ports=0):
        # The same memory under two types: addresses are written as bytes of integers, all at once (packing), which is
        # far cheaper than casting each.
        self.memory = ffi.new("void *[]", PORTS + max(ports, PORTS))
        self.bytes = ffi.buffer(self.memory)
        self.in_pointers, self.out_pointers = self.memory + PORTS, ffi.cast("void **", self.memory)


def packing(ins, outs):
    """pack(table.bytes, 0, *addresses of results, *addresses of inputs) for so many of each."""
    gap = (PORTS - outs) * ffi.sizeof("void *")
    return struct.Struct(f"{outs}N{gap}x{ins}N").pack_into


# No program of an operator has more: its inputs, its outputs and a derivative of each. No function has more results.
PORTS = 2 * max(lib.lac_op_inputs(op) + lib.lac_op_outputs(op) for op in map(lib.lac_op_at, range(lib.lac_op_count())))


def _outside():
    """How many frames to go up from the caller to code that is not Lacuna's or torch's machinery."""
    frame, level = sys._getframe(2), 2
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("lacuna", "torch"):
        frame, level = frame.f_back, level + 1
    return level


@ffi.callback("int(void *)", onerror=raise_later, error=1)
def _interrupt(_data):
    """Let signal handlers run, which Python does between its own instructions alone: what they raise ends the call."""
    for _ in range(2):
        pass
    tick = TICKS.get(threading.get_ident())
    if tick:
        tick()
    return 0


class Context:
    """A thread's door to a device, with the tables of pointers that no call is using. `asked` is the number of threads
    that it was last asked for by set_threads of the package, `threads` what it has."""

    __slots__ = ("c", "stream", "tables", "asked", "threads", "most")

    def __init__(self, backend, device):
        out = ffi.new("lac_context **")
        status = lib.lac_context_create(backend.encode(), device, out)
        if status:
            raise failure(status)
        self.c = ffi.gc(out[0], _closer())
        self.stream, self.tables = 0, []
        lib.lac_context_set_interrupt(self.c, _interrupt, ffi.NULL)
        lib.lac_context_share_errors(self.c)  # a gradient is computed in a thread that the caller never sees
        self.asked, self.most = None, 1 if _forked else lib.lac_context_threads(self.c)
        self.set_threads(self.most)

    def table(self, ports=0):
        """A table for one call, which gives it back to `tables` when done. A signal handler or finalizer that runs
        meanwhile, and calls Lacuna, gets another one. Functions of lists may have more ports than others."""
        if ports > PORTS:
            return Table(ports)
        try:
            return self.tables.pop()
        except IndexError:
            return Table()

    def check(self, status):
        """Raise what a call failed with, or what a Python function raised that it called."""
        first = arrived() if WAITING else None
        if first is not None:
            raise first
        if status:
            raise failure(status, self.c)

    def warn(self):
        """Pass on what the library has warned of since it was last asked."""
        sentence = lib.lac_context_warning(self.c)
        if sentence[0] != b"\0":
            message = spoken(text(sentence))
            lib.lac_context_clear_warning(self.c)
            warnings.warn(message, AccuracyWarning, stacklevel=_outside())

    def set_stream(self, stream):
        if stream != self.stream:
            self.check(lib.lac_context_set_stream(self.c, ffi.cast("void *", stream)))
            self.stream = stream

    def set_threads(self, threads):
        if _forked and threads > 1:
            raise UnsupportedError(
                f"set_threads: {threads} threads in a forked process; OpenMP does not survive a fork, so it is 1 here: "
                "start processes with the method 'spawn' to have more"
            )
        self.check(lib.lac_context_set_threads(self.c, threads))
        self.threads = threads

    def obey(self, asked):
        """Have as many threads as all contexts are asked to; None: as many as there are."""
        self.set_threads(self.most if asked is None else asked)
        self.asked = asked

    def follow(self, threads):
        """Have as many threads as another library, unless Lacuna was asked for a number, or in a forked process."""
        if threads != self.threads and self.asked is None and not _forked:
            self.set_threads(threads)


class _Local(threading.local):
    def __init__(self):
        self.contexts = {}


_local = _Local()
_forked = False
_asked = None  # how many threads contexts have, all of them; None: as many as there are


def _after_fork():
    """The threads of OpenMP stayed in the parent, and a kernel would wait for them for ever: begin anew, with one."""
    global _forked, _asked
    _forked, _asked, _local.contexts = True, None, {}


os.register_at_fork(after_in_child=_after_fork)


def survive_fork(lock):
    """Let no fork happen while another thread holds the lock. Returns it."""
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


def context(backend="cpu", device=0):
    """This thread's context on a device, opened when first asked for."""
    contexts = _local.contexts
    found = contexts.get((backend, device))
    if found is None:
        found = contexts[backend, device] = Context(backend, device)
    if found.asked is not _asked:
        found.obey(_asked)
    return found


def set_threads(threads):
    """How many threads CPU kernels use, in all threads of Python; None: as many as there are, and with torch's tensors
    torch.get_num_threads(). The results do not depend on it, to the bit."""
    global _asked
    threads = None if threads is None else operator.index(threads)
    context().obey(threads)
    _asked = threads


def get_threads():
    """How many threads CPU kernels use that this thread of Python calls."""
    return context().threads


@contextlib.contextmanager
def threads(count):
    """As many threads within a `with` as set_threads(count) gives, in all threads of Python; then as many as before."""
    before = _asked
    set_threads(count)
    try:
        yield
    finally:
        set_threads(before)


def version():
    return text(lib.lac_version())


def memory_stats(backend="cpu"):
    """The counters of a backend's memory, "cpu" or "cuda", as in lacuna/memory.h: what lives there, and on "cuda" what
    was copied between the host and the devices so far."""
    stats = sized("lac_memory_stats")
    check(lib.lac_memory_get_stats(backend.encode(), stats))
    return {name: getattr(stats, name) for name in fields(stats)}
