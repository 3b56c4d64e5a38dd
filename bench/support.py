# SPDX-License-Identifier: Apache-2.0
"""What the Python benchmarks share: matrices, timing side by side, rows on the screen and in build/bench.jsonl.

LACUNA_BENCH_PEERS=0   times our own calls alone: peers and the triad are left out, and with them every bar on speed;
                       answers are checked as ever
LACUNA_BENCH_QUICK=1   smaller sizes and shorter measurements where a benchmark takes long
LACUNA_BENCH_ONLY=WORD only the problems whose names have the word, where a benchmark has many (hard, small)
LACUNA_BENCH_ROWS      the file to which rows are appended (default: build/bench.jsonl)
"""

import json
import os
import subprocess
import sys
import time
import types

import numpy as np
import scipy.sparse as sp

import lacuna
from lacuna import _numpy, _operators
from lacuna._core import context, ffi, lib
from lacuna._numpy import BY_CODE, DTYPES
from lacuna._program import FORWARD, IN, OUT, OUT_BAR, VJP, find

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
KEYS = (
    "bench row pass n dtype threads device ours_s peer peer_s ratio residual gbps bandwidth_share bytes_per_unknown "
    "python_s"
).split()
PLAN_BYTES = 4 << 30  # of kept plans: the largest product here has 64 million entries
MAX_RESIDUAL = {"f64": 1e-13, "f32": 1e-5}
PEERS = os.environ.get("LACUNA_BENCH_PEERS") != "0"
QUICK = os.environ.get("LACUNA_BENCH_QUICK") == "1"
ONLY = os.environ.get("LACUNA_BENCH_ONLY", "")
ROWS = os.environ.get("LACUNA_BENCH_ROWS", os.path.join(ROOT, "build", "bench.jsonl"))


def sized(full, quick):
    """A size, or a number of repetitions, of the full benchmark or of the quick one."""
    return quick if QUICK else full


def sorted_csr(a):
    """A matrix as SciPy CSR in double precision with sorted 32-bit indices."""
    a = sp.csr_matrix(a)
    a.sort_indices()
    return sp.csr_matrix((a.data.astype(float), a.indices.astype(np.int32), a.indptr.astype(np.int32)), shape=a.shape)


def line(n):
    """The second difference of n points."""
    return sp.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])


def poisson2d(n):
    """The five-point matrix of an n x n grid."""
    return sorted_csr(sp.kron(line(n), sp.eye(n)) + sp.kron(sp.eye(n), line(n)))


def poisson3d(n):
    """The seven-point matrix of an n x n x n grid."""
    return sorted_csr(sp.kron(poisson2d(n), sp.eye(n)) + sp.kron(sp.eye(n * n), line(n)))


# The functions of lacuna, which here run nothing: they give what they would have run, for Call.
_asking = types.SimpleNamespace(**{**vars(_numpy), "apply": lambda name, like, *arrays: (name, arrays)})
ask = types.SimpleNamespace(**_operators.of(_asking, __name__))


def new_pattern(A):
    """A pattern that nobody has seen: the one that is remembered for these indices is let go, and its analyses too."""
    lacuna.forget_patterns()
    return lacuna.Pattern.from_scipy(A)


class Call:
    """One program, ask.FUNCTION(...) of given arrays, inside the C library: results in place."""

    def __init__(self, asked, mode=FORWARD, bars=(), outs=()):
        name, arrays = asked
        metas = tuple((DTYPES[a.dtype], a.shape) for a in arrays)
        wants, given = ((1 << len(arrays)) - 1, 1) if mode == VJP else (0, 0)
        spec = find(name)
        if spec.is_composed and mode == VJP:  # rules are those of operators
            spec = spec.program(FORWARD, (), metas).lone[0]
        self.program = spec.program(mode, (), metas, wants, given)
        place = {IN: arrays, OUT: outs, OUT_BAR: bars}
        self.ins = [place[port.role][port.index] for port in self.program.inputs]
        self.outs = [np.zeros(port.shape, BY_CODE[port.code]) for port in self.program.results]
        self.addresses = [[array.ctypes.data for array in arrays] for arrays in (self.ins, self.outs)]

    def __call__(self):
        self.program.run(context(), *self.addresses)


class ColdProduct:
    """C = A B inside the C library from two patterns and their values, with a plan that is thrown away each time."""

    def __init__(self, a, b):
        self.patterns = [new_pattern(m) for m in (a, b)]
        self.data, self.ctx, tape = (a.data, b.data), context(), ffi.new("lac_tape **")
        self.ctx.check(lib.lac_tape_create(self.ctx.c, lib.LAC_TAPE_RUN, tape))
        self.tape = tape[0]
        self.arrays = [self._borrow(d) for d in self.data]

    def _borrow(self, data):
        out, memory = ffi.new("lac_array **"), ffi.from_buffer(data)
        self.ctx.check(
            lib.lac_array_from(self.ctx.c, DTYPES[data.dtype], 1, [data.size], memory, lib.LAC_OWNERSHIP_BORROW, out)
        )
        return out[0]

    def __call__(self):
        lib.lac_tape_clear(self.tape)
        lib.lac_pattern_set_plan_budget(0)
        lib.lac_pattern_set_plan_budget(PLAN_BYTES)
        (pa, pb), (a, b) = self.patterns, (lib.lac_tape_constant(self.tape, array) for array in self.arrays)
        self.c = lib.lac_spgemm(self.tape, pa.c, a, pb.c, b, ffi.NULL)
        self.ctx.check(lib.lac_tape_status(self.tape))

    @property
    def outs(self):
        array, dtype = lib.lac_tape_value(self.tape, self.c), self.data[0].dtype
        size = dtype.itemsize * lib.lac_array_count(array)
        return [np.frombuffer(ffi.buffer(lib.lac_array_data(array), size), dtype)]

    def close(self):
        lib.lac_tape_destroy(ffi.new("lac_tape **", self.tape))
        for array in self.arrays:
            lib.lac_array_destroy(ffi.new("lac_array **", array))


def error(ours, peer):
    """The largest difference, relative to the largest number."""
    return float(np.abs(ours - peer).max() / np.abs(peer).max())


def triad():
    """{threads: GB/s} of this machine, measured now by the compiled triad with plain stores; the streamed one is
    printed too.

    Without peers nothing is judged by it: the bandwidth is then unknown, which NaN says.
    """
    if not PEERS:
        return {1: float("nan"), 2: float("nan")}
    program = os.path.join(os.path.dirname(os.environ["LACUNA_LIBRARY"]), "..", "bench", "bench_triad")
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")
    rows = [line.split() for line in lines if line]
    told = [f"{threads} threads {plain} (streamed {streamed})" for threads, plain, streamed in rows]
    print("triad, GB/s:", ", ".join(told))
    return {int(threads): float(plain) for threads, plain, _ in rows}


def side_by_side(*functions, seconds=2.0, rest=0.0):
    """The best time of each function, run in turns, forth and back, so that all meet the same neighbours: of two, each
    finds in the caches what the other one left there. Each at least twice, and what takes longer than all the time
    there is no more often: it would leave the others a single turn, after its own.

    A function that is None is not run, and has no time. `rest` before each: threads of the one before, which may wait
    on a core of the next, fall asleep.
    """
    best = [float("inf") if f else None for f in functions]
    there, seconds = [(i, f) for i, f in enumerate(functions) if f], sized(seconds, 0.1 * seconds)

    def turn(functions):
        for i, f in functions:
            time.sleep(rest)
            begin = time.perf_counter()
            f()
            best[i] = min(best[i], time.perf_counter() - begin)

    for _, f in there:
        f()
    turn(there)
    there, end = [(i, f) for i, f in there if best[i] < seconds], time.perf_counter() + seconds
    while there and time.perf_counter() < end:
        there.reverse()
        turn(there)
    return best


def peer_call(function):
    """The peer's function; None where peers are left out."""
    return function if PEERS else None


def _show(x, form):
    return "-" if x is None else format(x, form)


def _time(seconds):
    return "-" if seconds is None else f"{seconds * 1e3:.3f} ms" if seconds > 1e-4 else f"{seconds * 1e6:.2f} us"


class Table:
    """Rows as they come: printed, appended to build/bench.jsonl, and remembered for the exit code.

    `ours` is the time inside the C library, `python` that of the same through NumPy's front, results allocated. A row
    passes when its bar holds (`ok`) and its answer is right: a residual above `limit`, its dtype's as a rule, fails any
    row.
    """

    def __init__(self, bench):
        self.bench, self.failed = bench, 0
        print(f"{'row':38} {'thr':>3} {'ours':>10} {'python':>10} {'peer':>10} {'ratio':>6} {'GB/s':>6} {'share':>6} "
              f"{'error':>8}  bar")  # fmt: skip

    def row(self, name, *, n, ours, residual, peer=None, peer_s=None, threads=1, dtype="f64", device="cpu", gbps=None,
            share=None, bytes_per_unknown=None, python=None, ok=True, bar="", limit=None):  # fmt: skip
        right = residual <= (limit or MAX_RESIDUAL.get(dtype, 0))  # NaN is not; what has no dtype is right or wrong
        ratio, share = peer_s / ours if peer_s else None, share if PEERS else None
        ok = bool(right and (ok or not PEERS))
        self.failed += not ok
        values = [self.bench, name, ok, n, dtype, threads, device, ours, peer, peer_s, ratio, residual, gbps, share,
                  bytes_per_unknown, python]  # fmt: skip
        verdict, bar = "" if ok else "  MISSED" if right else "  WRONG", bar if PEERS else ""
        print(f"{name:38} {threads:3} {_time(ours):>10} {_time(python):>10} {_time(peer_s):>10} "
              f"{_show(ratio, '.2f'):>6} {_show(gbps, '.1f'):>6} {_show(share, '.0%'):>6} {residual:8.1e}  "
              f"{bar}{verdict}", flush=True)  # fmt: skip
        os.makedirs(os.path.dirname(ROWS), exist_ok=True)
        with open(ROWS, "a") as file:
            file.write(json.dumps(dict(zip(KEYS, values, strict=True))) + "\n")

    def at_least(self, factor, name, *, ours, peer, peer_s, ok=True, bar="", **more):
        """A row whose bar is a speed-up over a peer, besides what else is asked of it."""
        bar = f"at least {factor:g} x {peer}" if factor else bar
        fast = peer_s is None or peer_s >= factor * ours
        self.row(name, ours=ours, peer=peer, peer_s=peer_s, ok=ok and fast, bar=bar, **more)

    def at_most(self, factor, name, *, ours, forward_s, **more):
        """A row whose bar is a multiple of our own forward."""
        self.row(name, ours=ours, peer="our forward", peer_s=forward_s, ok=ours <= factor * forward_s,
                 bar=f"at most {factor:g} x forward: {ours / forward_s:.2f}", **more)  # fmt: skip

    def finish(self):
        print(f"{self.bench}: {'every bar holds' if not self.failed else f'{self.failed} bars missed'}")
        sys.exit(self.failed != 0)
