# SPDX-License-Identifier: Apache-2.0
"""Recorded arrays: what a NumPy user's function gets in place of its arrays while it is differentiated.

    Tape    C's record of calls (tape.h), and what of it belongs to Python
    Array   a var on a tape, with NumPy's operators; every function of the package takes it in place of an array

A call on arrays of which one is recorded runs the steps of the same program that plain arrays run, on the tape. All
levels of derivatives of derivatives share one tape: an inner level differentiates vars of its own.
"""

import threading
from collections import Counter, deque

import numpy as np

from .._core import WAITING, context, ffi, lib, release
from .._dtypes import BY_CODE, DTYPES, promotions
from .._program import FORWARD, find
from ..errors import ArgumentError, DtypeError, ShapeError


class _Active(threading.local):
    tape = None  # of the derivative that this thread computes


ACTIVE = _Active()


def var(number):
    """A C var by its number; 0 is absent."""
    return ffi.new("lac_var *", {"id": number})[0]


def ids(numbers):
    """C's list of vars."""
    return ffi.new("lac_var[]", [{"id": number} for number in numbers] or 1)


class Tape:
    """A tape of this thread; one that C made is borrowed, and ends with the call of C that made it."""

    def __init__(self, borrowed=None):
        self.ctx, self.is_borrowed, self.holders = context(), borrowed is not None, Counter()
        self.thread, self.dropped, self.outer = threading.get_ident(), deque(), []
        self.c = borrowed if self.is_borrowed else self._made()

    def _made(self):
        out = ffi.new("lac_tape **")
        self.ctx.check(lib.lac_tape_create(self.ctx.c, lib.LAC_TAPE_RECORD, out))
        return ffi.gc(out[0], release(lib.lac_tape_destroy, "lac_tape", self.ctx))

    def __enter__(self):
        self.outer.append(ACTIVE.tape)
        ACTIVE.tape = self
        return self

    def __exit__(self, *_):
        ACTIVE.tape = self.outer.pop()
        if self.is_borrowed and not self.outer:
            self.c = None

    def own(self):
        """Refuse other threads than the tape's own, and let go of the vars whose arrays are gone. Python ends an Array
        in whichever thread collects, and in the middle of a call of C: there it is only written down."""
        if threading.get_ident() != self.thread:
            raise ArgumentError(
                "lacuna: a recorded array belongs to the thread that differentiates; compute with it there, or give "
                "another thread its numbers, x.value"
            )
        while self.dropped:
            number = self.dropped.pop()
            self.holders[number] -= 1
            if not self.holders[number]:
                del self.holders[number]
                if self.c is not None and not self.is_borrowed:
                    lib.lac_tape_release(self.c, var(number))  # rules keep what they need

    def check(self, status=0):
        """Raise what a call on the tape failed with."""
        status = status or lib.lac_tape_status(self.c)
        if status or WAITING:
            self.ctx.check(status)

    def put(self, numbers, is_leaf):
        """A NumPy array as a leaf or constant. The tape has a copy: what is written to the array later is not seen."""
        self.own()
        numbers = np.asarray(numbers, order="C")
        own, shape, data = ffi.new("lac_array **"), ffi.new("int64_t[]", numbers.shape), ffi.from_buffer(numbers)
        like = DTYPES[numbers.dtype], numbers.ndim, shape
        self.ctx.check(lib.lac_array_from(self.ctx.c, *like, data, lib.LAC_OWNERSHIP_COPY, own))
        try:
            put = lib.lac_tape_leaf if is_leaf else lib.lac_tape_constant
            return self.array(put(self.c, own[0]).id, is_leaf)
        finally:
            lib.lac_array_destroy(own)

    def array(self, number, is_tracked):
        """The Array of a var."""
        if not number:
            self.check()
        meta = lib.lac_tape_meta(self.c, var(number))
        return Array(self, number, tuple(meta.shape[0 : meta.ndim]), BY_CODE[meta.dtype], is_tracked)

    def read(self, number):
        """The numbers of a var, as a NumPy array of their own."""
        self.own()
        array = lib.lac_tape_value(self.c, var(number))
        if array == ffi.NULL:
            raise ArgumentError(
                "lacuna: this part of a computation is written down before it runs (checkpoint), so that its arrays "
                "have no numbers yet; compare with lacuna.less, ..., and choose with lacuna.where"
            )
        meta = lib.lac_array_meta(array)
        numbers = np.empty(tuple(meta.shape[0 : meta.ndim]), BY_CODE[meta.dtype])
        self.ctx.check(lib.lac_array_read(self.ctx.c, array, ffi.from_buffer(numbers)))
        return numbers

    def take(self, number):
        """The same of a var that nobody else has: the tape lets go of it."""
        numbers = self.read(number)
        if not self.holders[number]:
            lib.lac_tape_release(self.c, var(number))
        return numbers

    def run(self, program, arrays):
        """The results of a program on arrays of this tape."""
        self.own()
        values = {port.var: array.number for port, array in zip(program.inputs, arrays)}
        for at in range(lib.lac_program_steps(program.c)):
            step = lib.lac_program_step(program.c, at)
            ins, outs = ids([values[v] for v in getattr(step, "in")[0 : step.ins]]), ids([0] * step.outs)
            self.check(lib.lac_tape_call(self.c, step.spec, ins, outs))
            values.update(zip(step.out[0 : step.outs], [out.id for out in outs]))
        if program.warns:
            self.ctx.warn()
        is_tracked = any([array.is_tracked for array in arrays])
        return [self.array(values[port.var], is_tracked) for port in program.results]


class Array:
    """A recorded array: NumPy's operators and Lacuna's functions take it, and derivatives pass through it.

    `shape`, `ndim`, `size` and `dtype` are those of its numbers, `value` is a NumPy array of them, a constant: no
    derivative passes through that.
    """

    __slots__ = ("tape", "number", "shape", "dtype", "is_tracked", "__weakref__")
    __array_priority__ = 1000

    def __init__(self, tape, number, shape, dtype, is_tracked):
        self.tape, self.number, self.shape, self.dtype, self.is_tracked = tape, number, shape, dtype, is_tracked
        tape.holders[number] += 1

    def __del__(self):
        self.tape.dropped.append(self.number)

    @property
    def ndim(self):
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self):
        """How many numbers it has."""
        return int(np.prod(self.shape))

    @property
    def value(self):
        """The numbers, as a NumPy array of its own."""
        return self.tape.read(self.number)

    def __array__(self, *_, **__):
        raise TypeError(
            "a recorded array was given to a function of NumPy or SciPy that Lacuna cannot differentiate; of a SciPy "
            "matrix A, A @ x is lacuna.spmm(A, x); else take one of Lacuna's functions, or its numbers, x.value, "
            "through which no derivative passes"
        )

    def __float__(self):
        raise TypeError(
            "float() of a recorded array would lose its derivative; return the array, or take its numbers, x.value"
        )

    __int__ = __complex__ = __float__

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a recorded array without dimensions")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self.value)

    __hash__ = None

    def __repr__(self):
        return f"lacuna.Array(shape={self.shape}, dtype={self.dtype})"


def expect_one_real(who, y, otherwise=""):
    """Refuse a result whose gradient is none: several numbers, or a complex one."""
    if y.size != 1:
        raise ShapeError(f"{who}: the function returned an array of shape {y.shape}; it must be one number{otherwise}")
    if y.dtype.kind == "c":
        raise DtypeError(
            f"{who}: the function returned a complex number ({y.dtype}), which has no direction of steepest ascent; "
            f"return lacuna.real of it, or lacuna.abs{otherwise}"
        )


def _on(tape, array):
    """An input on a tape."""
    if not isinstance(array, Array):
        return tape.put(array, False)
    if array.tape is not tape:
        raise ArgumentError(
            "lacuna: a recorded array came from another computation, or from one that has ended; return it from the "
            "function that is differentiated, or take its numbers, x.value"
        )
    return array


def apply(name, like, arrays):
    """The operator or function of a spec's name on arrays of which some are recorded."""
    tape = next(array.tape for array in arrays if isinstance(array, Array))
    arrays = [array if isinstance(array, Array) else np.asarray(array) for array in arrays]
    dtypes, error = [array.dtype for array in arrays], None
    for tried in (dtypes, *promotions(dtypes)[0]):
        try:
            metas = tuple([(DTYPES[dtype], array.shape) for array, dtype in zip(arrays, tried)])
            program = find(name).program(FORWARD, like, metas)
        except (KeyError, DtypeError) as failed:
            error = error or failed
            continue
        arrays = [_on(tape, cast(array, dtype)) for array, dtype in zip(arrays, tried)]
        made = tape.run(program, [arrays[i] for i in program.takes] if find(name).is_composed else arrays)
        return made[0] if len(made) == 1 else tuple(made)
    raise error if isinstance(error, DtypeError) else DtypeError(f"lacuna: no dtype goes with all of {dtypes}")


def cast(array, dtype):
    """An array in a dtype."""
    import lacuna

    return lacuna.cast(array, dtype) if isinstance(array, Array) else array.astype(dtype)
