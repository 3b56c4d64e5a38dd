# SPDX-License-Identifier: Apache-2.0
"""Products on the 2-D Poisson matrices of one and four million unknowns, f64, two threads, beside SciPy (which has one)
and SuiteSparse:GraphBLAS (python-graphblas, with as many threads as we have) in the same run.

"ours" is the time inside the C library on outputs that are there already; A A, cold, also makes the pattern of the
product and allocates its values. GraphBLAS gets its matrices by rows, its dense operands full, by rows or columns as it
is faster, and makes its results anew, which is how it is used. Shares are of the best triad of this run, over the bytes
that must be moved: every array once. Circulant products stand beside SciPy's transforms. The first row is the memory of
an spmm and its backward on the tape, by the allocator's counter.
"""

import gc
import time

import numpy as np
from scipy import fft
from support import (  # isort: skip
    PEERS, PLAN_BYTES, Call, ColdProduct, Table, ask, error, new_pattern, peer_call, poisson2d, side_by_side, sized,
    triad,
)  # fmt: skip

import lacuna
from lacuna._core import context, ffi, lib
from lacuna._program import VJP

try:
    import graphblas
except ImportError:
    graphblas = None
    print("GraphBLAS is left out: python-graphblas is not installed (pip install python-graphblas)")

THREADS = 2
REST = 0.005  # seconds: GraphBLAS has threads of its own, which keep a core busy for a while after their work


def available_bytes():
    """What the machine could give us, caches of files included."""
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))


class Peer:
    """The same matrix in GraphBLAS, whose work is done when a call returns."""

    def __init__(self, a):
        graphblas.ss.config["nthreads"] = THREADS
        self.a = graphblas.Matrix.from_csr(a.indptr, a.indices, a.data, ncols=a.shape[1])
        self.a.ss.config["format"] = "by_row"
        self.a.wait()

    def dense(self, x, layouts=("by_col", "by_row")):
        """A x, with x full, by rows or by columns: whichever is faster here."""
        if x.shape[1] == 1:
            vector = graphblas.Vector.from_dense(x[:, 0])
            return lambda: self.a.mxv(vector, graphblas.semiring.plus_times).new().wait()
        full, times = graphblas.Matrix.from_dense(x), {}
        product = lambda: self.a.mxm(full, graphblas.semiring.plus_times).new().wait()  # noqa: E731
        for layout in layouts:
            full.ss.config["format"] = layout
            full.wait()
            times[layout] = side_by_side(product, seconds=0)[0]
        full.ss.config["format"] = min(times, key=times.get)
        full.wait()
        return product

    def square(self):
        return lambda: self.a.mxm(self.a, graphblas.semiring.plus_times).new().wait()


def compare(table, row, ours, peers, residual, *, n, seconds=3.0, **more):
    """A row for each peer: (name, function or None, at least this much faster). Without peers one row of our own."""
    peers = [each for each in peers if each[1]]
    ours_s, *peer_s = side_by_side(ours, *(function for _, function, _ in peers), seconds=seconds, rest=REST)
    for (name, _, factor), seconds_of in zip(peers, peer_s):
        table.at_least(factor, f"{row}, {name}", n=n, ours=ours_s, peer=name, peer_s=seconds_of, threads=THREADS,
                       residual=residual(), **more)  # fmt: skip
    if not peers:
        table.row(row, n=n, ours=ours_s, threads=THREADS, residual=residual(), **more)
    return ours_s


def spmv_calls(pattern, a, x):
    """(format, share of triad that is asked for, call): every format that the library multiplies with."""
    begin = time.perf_counter()
    sell = pattern.to_sell()
    laid_out = time.perf_counter()
    storage = lacuna.remap(sell.map, a)
    filled = time.perf_counter()
    print(f"sliced ELL, n = {pattern.shape[0]}: layout {laid_out - begin:.3f} s once a pattern, "
          f"values {filled - laid_out:.4f} s each time they change")  # fmt: skip
    return [
        ("CSR", 0.80, Call(ask.spmm(pattern, a, x))),
        ("sliced ELL", 0.90, Call(ask.sell_mm(sell, storage, x))),
    ]


def spmv(table, peer, A, pattern, x):
    n, nnz = A.shape[0], A.nnz
    size = 4 * nnz + 4 * (n + 1) + 8 * nnz + 16 * n  # structure, values, two vectors
    expected = A @ x
    for name, asked, ours in spmv_calls(pattern, A.data, x):
        peers = [("SciPy", peer_call(lambda: A @ x), 0), ("GraphBLAS", peer.dense(x) if peer else None, 0)]
        before = triad()[THREADS]
        alone_s = side_by_side(ours, seconds=1.0)[0]
        gbps = size / alone_s * 1e-9
        share = gbps / max(before, triad()[THREADS])
        compare(table, f"SpMV {name}", ours, peers, lambda: error(ours.outs[0], expected), n=n, gbps=gbps, share=share,
                ok=asked <= share <= 1.5, bar=f"{asked:.0%} of triad")  # fmt: skip


def spmm(table, peer, A, pattern, columns, rng):
    n, block = A.shape[0], 8 * A.shape[0] * columns
    some = slice(n // 2, n // 2 + 5000)
    size = 4 * A.nnz + 4 * (n + 1) + 8 * A.nnz + 2 * block
    if 3 * block > available_bytes():
        print(f"SpMM {columns} columns, n = {n}: left out, for it needs {3 * block >> 20} MiB and "
              f"{available_bytes() >> 20} MiB are free")  # fmt: skip
        return
    peer_s = None
    if peer and 6 * block > available_bytes():  # one after the other, and by rows alone, where both have no room
        peer_s = side_by_side(peer.dense(rng.standard_normal((n, columns)), ("by_row",)), seconds=3.0)[0]
        tidy()
    x = rng.standard_normal((n, columns))
    ours = Call(ask.spmm(pattern, A.data, x))
    bandwidth, ours_s = triad()[THREADS], side_by_side(ours, seconds=1.0)[0]
    more = {"n": n, "gbps": size / ours_s * 1e-9, "share": size / ours_s * 1e-9 / bandwidth}
    row, residual = f"SpMM {columns} columns", lambda: error(ours.outs[0][some], A[some] @ x)
    if peer_s:
        table.at_least(1.2, f"{row}, GraphBLAS", ours=ours_s, peer="GraphBLAS", peer_s=peer_s, threads=THREADS,
                       residual=residual(), **more)  # fmt: skip
        return
    peers = [("GraphBLAS", peer.dense(x) if peer else None, 1.2)]
    if n * columns <= 1 << 27:
        peers.insert(0, ("SciPy", peer_call(lambda: A @ x), 0))
    compare(table, row, ours, peers, residual, **more)


def square(table, peer, A, rng):
    n = A.shape[0]
    c = A @ A
    c.sort_indices()
    cold = ColdProduct(A, A)
    peers = [("SciPy", peer_call(lambda: A @ A), 1), ("GraphBLAS", peer.square() if peer else None, 2)]
    compare(table, "A A, cold", cold, peers, lambda: error(cold.outs[0], c.data), n=n)
    cold.close()
    pattern = new_pattern(A)
    product = ask.spgemm(pattern, A.data, pattern, A.data)
    ours = Call(product)
    compare(table, "A A, cached plan", ours, peers, lambda: error(ours.outs[0], c.data), n=n)
    del cold, peers
    lib.lac_memory_trim()
    u, v = rng.standard_normal((2, n))
    row, row_c = (np.repeat(np.arange(n, dtype=np.int32), np.diff(m.indptr)) for m in (A, c))
    adjoints = Call(product, VJP, (u[row_c] * v[c.indices],))  # u v^T at C's entries, as in bench_table2
    expected = u[row] * (A @ v)[A.indices], (A.T @ u)[row] * v[A.indices]
    both_s = side_by_side(adjoints)[0]
    table.row("A A, both adjoints", n=n, ours=both_s, threads=THREADS,
              residual=max(error(a, b) for a, b in zip(adjoints.outs, expected)))  # fmt: skip


def circulants(table, rng, columns=8):
    """Lengths of twos, of twos and fives, and a prime, beside SciPy's transforms on as many threads."""
    for n, kind in ((1 << 17, "power of two"), (100_000, "smooth"), (99_991, "prime")):
        c, x = rng.standard_normal(n), rng.standard_normal((n, columns))

        def theirs(c=c, x=x):
            return fft.irfft(fft.rfft(x, axis=0, workers=THREADS) * fft.rfft(c)[:, None], len(c), 0, workers=THREADS)

        ours = Call(ask.circulant_mm(c, x))
        expected = theirs()
        compare(table, f"circulant, {kind}", ours, [("SciPy fft", peer_call(theirs), 1)],
                lambda ours=ours, expected=expected: error(ours.outs[0], expected), n=n, seconds=1.0)  # fmt: skip


def array(ctx, data):
    out = ffi.new("lac_array **")
    described = lib.LAC_F64, data.ndim, data.shape
    ctx.check(lib.lac_array_from(ctx.c, *described, ffi.from_buffer(data), lib.LAC_OWNERSHIP_COPY, out))
    return out


def memory(table, columns=64):
    """y = A x and both gradients on the tape: the peak against the bytes of A, x, y and the three adjoints."""
    ctx, A, tape = context(), poisson2d(sized(1000, 500)), ffi.new("lac_tape **")
    n, rng = A.shape[0], np.random.default_rng(1)
    start = lacuna.memory_stats("cpu")["live_bytes"]
    pattern, x = new_pattern(A), rng.standard_normal((n, columns))
    pattern._set(entries=None)  # of the map from SciPy's entries nothing is needed
    arrays = [array(ctx, data) for data in (A.data, x, x)]
    needed = lacuna.memory_stats("cpu")["live_bytes"] - start + 8 * (2 * x.size + A.nnz)  # y, x_bar, a_bar
    ctx.check(lib.lac_tape_create(ctx.c, lib.LAC_TAPE_RECORD, tape))
    lib.lac_memory_reset_peak(b"cpu")
    begin = time.perf_counter()
    ins = ffi.new("lac_var[]", [lib.lac_tape_leaf(tape[0], each[0]) for each in arrays[:2]])
    y = ffi.new("lac_var *", lib.lac_spmm(tape[0], pattern.c, ins[0], ins[1], lib.LAC_PLAIN))
    seed, bars = ffi.new("lac_var *", lib.lac_tape_constant(tape[0], arrays[2][0])), ffi.new("lac_var[2]")
    ctx.check(lib.lac_tape_vjp(tape[0], 1, y, seed, 2, ins, bars, lib.LAC_GRAPH_NONE))
    seconds = time.perf_counter() - begin
    peak = lacuna.memory_stats("cpu")["peak_bytes"] - start
    data = lib.lac_array_data(lib.lac_tape_value(tape[0], bars[1]))
    x_bar = np.frombuffer(ffi.buffer(data, 8 * x.size)).reshape(x.shape)
    table.row(f"SpMM {columns} columns + backward, memory", n=n, ours=seconds, threads=THREADS,
              residual=error(x_bar[:5000], (A.T[:5000] @ x)), bytes_per_unknown=peak / n, ok=peak <= 1.05 * needed,
              bar=f"peak {peak} bytes, at most {needed} + 5 %: {peak / needed - 1:+.1%}")  # fmt: skip
    lib.lac_tape_destroy(tape)
    for each in arrays:
        lib.lac_array_destroy(each)


def tidy():
    """Give back what calls hold of each other, and what the pool keeps: the next rows need the room."""
    gc.collect()
    lib.lac_memory_trim()


def main():
    context().set_threads(THREADS)
    lib.lac_pattern_set_plan_budget(PLAN_BYTES)
    table, rng = Table("kernels"), np.random.default_rng(0)
    memory(table)
    circulants(table, rng)
    tidy()
    for side in sized((1000, 2000), (500, 1000)):
        A = poisson2d(side)
        A.data = rng.standard_normal(A.nnz)
        pattern, peer = new_pattern(A), Peer(A) if graphblas and PEERS else None
        spmv(table, peer, A, pattern, rng.standard_normal((A.shape[0], 1)))
        for columns in sized((32, 128), (128,) if side == 500 else (32,)):
            spmm(table, peer, A, pattern, columns, rng)
            tidy()
        square(table, peer, A, rng)
        tidy()
    table.finish()


if __name__ == "__main__":
    main()
