# SPDX-License-Identifier: Apache-2.0
"""Direct solvers, two threads, f64: built-in Cholesky and LU beside CHOLMOD, UMFPACK and SciPy's SuperLU, what a
backward costs, log-determinants with gradients, and batches. All peers in the same run, in turns with ours, best of
each.

CHOLMOD gets our own permutation, so that both factor the same matrix; UMFPACK chooses its own. Engines run with one and
with two threads of BLAS; SciPy's BLAS, whose calls by SuperLU are tiny, with one: what is faster for each. Times are of
the C calls: "factor" is lac_solver_factor on new values (finiteness and symmetry looked at, values copied), for engines
as for ours. glibc is told to keep freed memory, as our allocator does, so that no engine pays for fresh pages. SuperLU
runs with its best settings for these matrices (MMD_AT_PLUS_A, symmetric mode), once, in a process of its own that is
stopped when it has used up STOP times our time: then its row says so. Errors are |b - A x| / (|A| |x| + |b|), the
largest norm of each.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads of one library must not sit on the cores of another

import ctypes
import multiprocessing
import re
import time

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from support import PEERS, ROOT, Call, Table, ask, new_pattern, peer_call, poisson2d, poisson3d, sized, sorted_csr

import lacuna
from lacuna._core import context, ffi, lib
from lacuna._program import VJP

THREADS = 2
STOP = 4
SPLU = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
LARGE = sized(("2-D 1M", 1000), ("2-D 160K", 400))
MATRICES = os.path.join(ROOT, "data", "matrices")


# -- matrices --------------------------------------------------------------------------------------------------------


def convection2d(n, peclet=20.0):
    """-laplace u + w . grad u on an n x n grid, the wind w turning about the middle, central differences."""
    h = 1 / (n + 1)
    x, y = np.meshgrid(np.arange(1, n + 1) * h, np.arange(1, n + 1) * h)
    wind = peclet * 4 * h / 2
    u, v = (wind * (2 * y - 1) * (1 - (2 * x - 1) ** 2)).ravel(), (-wind * (2 * x - 1) * (1 - (2 * y - 1) ** 2)).ravel()
    step = sp.diags([-np.ones(n - 1), np.ones(n - 1)], [-1, 1])
    along_x, along_y = sp.diags(u) @ sp.kron(sp.eye(n), step), sp.diags(v) @ sp.kron(step, sp.eye(n))
    return sorted_csr(poisson2d(n) + along_x + along_y)


def read(name):
    return sorted_csr(scipy.io.mmread(os.path.join(MATRICES, name + ".mtx")))


def backward_error(A, x, b):
    r, size = np.abs(b - A @ x), np.abs(A) @ np.abs(x) + np.abs(b)
    return float(r.max() / size.max())


# -- ours, and engines -----------------------------------------------------------------------------------------------


class System:
    """A pattern of its own with a solver, through the C interface. Nothing is kept from one factor to the next."""

    def __init__(self, A, method, ordering):
        self.A, self.ctx, self.pattern = A, context(), new_pattern(A)
        begin = time.perf_counter()
        self.solver = lacuna.Solver(self.pattern, method=method, ordering=ordering, keep_bytes=-1)
        self.analyse_s = time.perf_counter() - begin
        self.factor_s = self.solve_s = float("inf")
        self.threads = (THREADS,)
        self.held, self.out = [], ffi.new("lac_factor **")

    def array(self, data):
        out = ffi.new("lac_array **")
        memory = ffi.from_buffer(data)
        self.held.append((data, memory))
        described = lib.LAC_F64, data.ndim, data.shape
        self.ctx.check(lib.lac_array_from(self.ctx.c, *described, memory, lib.LAC_OWNERSHIP_BORROW, out))
        return out

    def factor(self, values):
        lib.lac_factor_destroy(self.out)
        array = self.array(values)
        begin = time.perf_counter()
        self.ctx.check(lib.lac_solver_factor(self.ctx.c, self.solver.c, array[0], self.out))
        self.factor_s = min(self.factor_s, time.perf_counter() - begin)
        lib.lac_array_destroy(array)

    def solve(self, b):
        x = np.empty_like(b)
        arrays = self.array(b), self.array(x)
        begin = time.perf_counter()
        self.ctx.check(lib.lac_factor_solve(self.ctx.c, self.out[0], arrays[0][0], lib.LAC_PLAIN, arrays[1][0]))
        self.solve_s = min(self.solve_s, time.perf_counter() - begin)
        for array in arrays:
            lib.lac_array_destroy(array)
        return x

    @property
    def total_s(self):
        return self.analyse_s + self.factor_s + self.solve_s

    def close(self):
        lib.lac_factor_destroy(self.out)
        self.held.clear()
        lib.lac_memory_trim()


def has(engine):
    try:
        lacuna.Solver(lacuna.Pattern.eye(1), method=engine)
    except lacuna.UnsupportedError as error:
        print(error)
        return False
    return True


def in_turns(systems, rounds):
    """Factor and solve with each, `rounds` times; the error of the last solve of each."""
    rng, errors = np.random.default_rng(1), []
    A = systems[0].A
    b = rng.standard_normal((A.shape[0], 1))
    for _ in range(rounds):
        errors = []
        for system in systems:
            for threads in system.threads:
                context().set_threads(threads)
                system.factor(A.data)
                x = system.solve(b)
                errors.append(backward_error(A, x, b))
    context().set_threads(THREADS)
    return errors


def splu_child(A, connection):
    b, columns = np.random.default_rng(1).standard_normal(A.shape[0]), A.tocsc()
    begin = time.perf_counter()
    x = spla.splu(columns, **SPLU).solve(b)
    connection.send(time.perf_counter() - begin)
    assert backward_error(A, x, b) < 1e-10


def splu_seconds(A, limit):
    """Seconds of factor and solve with SciPy, and how it ended: "" or that it was stopped; None where it failed."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=splu_child, args=(A, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        return (ours.recv(), "") if ours.poll(limit) else (limit, f" (stopped after {limit:.0f} s)")
    except EOFError:
        return None, " (which failed: out of memory?)"
    finally:
        child.terminate()
        child.join()


# -- Cholesky and LU -------------------------------------------------------------------------------------------------


def beside_engine(table, name, A, method, ordering, engine, factor, *, rounds, threads=(THREADS, 1)):
    """Analysis, numeric factor (which has the bar) and solve, ours and the engine's; our system is given back."""
    ours, theirs = System(A, method, ordering), None
    if PEERS and has(engine):
        theirs = System(A, engine, "auto" if engine == "umfpack" else ordering)
        theirs.threads = threads
    errors = in_turns([ours, theirs] if theirs else [ours], sized(rounds, 2))
    common = {"n": A.shape[0], "threads": THREADS, "residual": max(errors), "peer": engine.upper()}
    for part in ("analyse", "factor", "solve"):
        mine = getattr(ours, part + "_s")
        peer = getattr(theirs, part + "_s") if theirs else None
        bar = part == "factor" and theirs
        table.row(f"{name}, {part}", ours=mine, peer_s=peer, ok=not bar or mine <= factor * peer,
                  bar=f"at most {factor:g} x {engine.upper()}: {mine / peer:.2f}" if bar else "", **common)  # fmt: skip
    if theirs:
        theirs.close()
    return ours


def cholesky(table, name, A, ordering, **turns):
    ours = beside_engine(table, name, A, "cholesky", ordering, "cholmod", 1.5, **turns)
    residual = in_turns([ours], 1)[0]
    ours.close()
    seconds, end = splu_seconds(A, max(STOP * ours.total_s, 1)) if PEERS else (None, "")
    table.row(f"{name}, all, SciPy splu", n=A.shape[0], ours=ours.total_s, peer="SciPy splu", peer_s=seconds,
              threads=THREADS, residual=residual, ok=seconds is None or seconds >= 2 * ours.total_s,
              bar="at least 2 x SciPy splu" + end)  # fmt: skip


def factorisations(table):
    cholesky(table, "Cholesky bcsstk16", read("bcsstk16"), "amd", rounds=10)
    cholesky(table, f"Cholesky {LARGE[0]}", poisson2d(LARGE[1]), "amd", rounds=3)
    dissected = lib.lac_ordering_find(context().c, lib.LAC_ORDER_METIS) == lib.LAC_OK
    side, order = sized(64, 24), "metis" if dissected else "amd"
    cholesky(table, f"Cholesky 3-D {side}^3", poisson3d(side), order, rounds=2, threads=(THREADS,))
    name, side = sized(("250K", 500), ("100K", 316))
    beside_engine(table, f"LU convection {name}", convection2d(side), "lu", "auto", "umfpack", 2, rounds=4).close()


# -- derivatives of a solve ------------------------------------------------------------------------------------------


def best_of(rounds, *functions):
    """The best time of each function; a function that is None has none."""
    times = [float("inf") if function else None for function in functions]
    for _ in range(rounds):
        for i, function in ((i, function) for i, function in enumerate(functions) if function):
            begin = time.perf_counter()
            function()
            times[i] = min(times[i], time.perf_counter() - begin)
    return times


def backward_of_a_solve(table, name, A):
    rng, n = np.random.default_rng(2), A.shape[0]
    b, bar = rng.standard_normal((2, n, 1))
    pattern = new_pattern(A)
    solver = lacuna.Solver(pattern, "direct", keep_bytes=8 << 30)
    solve = ask.solve(solver, A.data, b)
    forward = Call(solve)
    forward()
    x = forward.outs[0]
    backward = Call(solve, VJP, (bar,), (x,))
    outer = Call(ask.sddmm(pattern, bar, x))
    before = solver.factor(A.data).report
    forward_s, backward_s, outer_s = best_of(4, forward, backward, outer)
    after = solver.factor(A.data).report
    a_bar, b_bar = sorted(backward.outs, key=lambda out: out.ndim)
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    wrong = np.abs(a_bar + b_bar[rows, 0] * x[A.indices, 0]).max() / np.abs(a_bar).max()
    residual = max(backward_error(A.T.tocsr(), b_bar, bar), wrong, backward_error(A, x, b))
    made = after["factorisations"] - before["factorisations"]
    limit = 1.3 * (forward_s + outer_s)
    table.row(f"{name}, backward of a solve", n=n, ours=backward_s, peer="solve + sddmm", peer_s=forward_s + outer_s,
              threads=THREADS, residual=residual, ok=backward_s <= limit and made == 0,
              bar=f"at most 1.3 x (solve + sddmm): {1.3 * backward_s / limit:.2f}; factorisations: {made}")  # fmt: skip


def solve_again(table, name, A):
    """From the matrix to its solution, and then with other values on the same pattern."""
    b = np.random.default_rng(5).standard_normal((A.shape[0], 1))
    begin = time.perf_counter()
    solver = lacuna.Solver(new_pattern(A), "direct", keep_bytes=-1)
    Call(ask.solve(solver, A.data, b))()
    first_s = time.perf_counter() - begin
    changed = [Call(ask.solve(solver, A.data * (2 + i), b)) for i in range(3)]
    again_s = min(best_of(1, *changed))
    table.row(f"{name}, re-solve with new values", n=A.shape[0], ours=again_s, peer="the first", peer_s=first_s,
              threads=THREADS, residual=backward_error(A * 4.0, changed[2].outs[0], b), ok=first_s >= 2 * again_s,
              bar="at least 2 x faster than the first")  # fmt: skip


# -- log-determinants ------------------------------------------------------------------------------------------------


def inverse_entries(A, solver, slots):
    """(A^-1)(j, i) of the slots of (i, j), by solves whose errors are measured."""
    rows = np.searchsorted(A.indptr, slots, side="right") - 1
    b = np.zeros((A.shape[0], slots.size))
    b[rows, np.arange(slots.size)] = 1
    x = lacuna.solve(solver, A.data, b)
    assert backward_error(A, x, b) < 1e-13
    return x[A.indices[slots], np.arange(slots.size)]


def logdet(table, name, A):
    rng, n = np.random.default_rng(3), A.shape[0]
    factored = System(A, "direct", "auto")
    for _ in range(3):
        factored.factor(A.data)
    factor_s = factored.factor_s
    factored.close()
    solver = lacuna.Solver(factored.pattern, "direct", keep_bytes=8 << 30)
    solver.factor(A.data)
    gradient = Call(ask.apply("logdet", solver, A.data), VJP, (np.array(1.0),), ())
    gradient_s = best_of(3, gradient)[0]
    found = gradient.outs[0]
    trace = abs((A.data * found).sum() / n - 1)
    slots = rng.integers(0, A.nnz, 20)
    entries = inverse_entries(A, solver, slots)
    worst = np.abs(found[slots] / entries - 1).max()
    made = solver.factor(A.data).report["factorisations"]
    bar = f"at most 4 x the factor: {gradient_s / factor_s:.2f}; trace {trace:.0e}, 20 entries {worst:.0e}"
    table.row(f"{name}, gradient of logdet", n=n, ours=gradient_s, peer="our factor", peer_s=factor_s, threads=THREADS,
              residual=max(trace, 10 * worst), limit=1e-8, ok=gradient_s <= 4 * factor_s and made == 1,
              bar=bar)  # fmt: skip


def by_columns(A, chunk=64 << 20):
    """torch-sla's way: log|det A| of SuperLU's factor; A^-T on the pattern by a solve for each column, in chunks."""
    n, csc = A.shape[0], A.tocsc()
    lu = spla.splu(csc, **SPLU)
    size = np.log(np.abs(lu.U.diagonal())).sum()
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    out, width = np.empty(A.nnz), max(chunk // (8 * n), 1)
    for begin in range(0, n, width):
        columns = np.arange(begin, min(begin + width, n))
        unit = np.zeros((n, columns.size))
        unit[columns, columns - begin] = 1
        x = lu.solve(unit)
        mine = (rows >= begin) & (rows < begin + columns.size)
        out[mine] = x[A.indices[mine], rows[mine] - begin]
    return size, out


def beside_columns(table, A):
    """Everything, from the pattern on: analysis, factor, determinant, gradient."""

    def ours():
        solver = lacuna.Solver(new_pattern(A), "direct")
        size, inverse = lacuna.logdet(solver, A.data), lacuna.selected_inverse(solver, A.data)
        return size, inverse

    (size, inverse), (expected, entries) = ours(), by_columns(A)
    ours_s, peer_s = best_of(5, ours)[0], best_of(2, peer_call(lambda: by_columns(A)))[0]
    residual = max(abs(size / expected - 1), np.abs(inverse / entries - 1).max())
    table.row("logdet + gradient 2-D 4096", n=A.shape[0], ours=ours_s, peer="n solves (torch-sla)", peer_s=peer_s,
              threads=THREADS, residual=residual, limit=1e-10, ok=peer_s is None or peer_s >= 50 * ours_s,
              bar="at least 50 x n solves by SciPy splu, torch-sla's method")  # fmt: skip


# -- batches ---------------------------------------------------------------------------------------------------------


def batch(table, count=sized(1000, 200), side=32):
    """-div(c grad) on 32 x 32 cells with random coefficients of their own: each matrix is definite."""
    rng, A = np.random.default_rng(4), poisson2d(side)
    n, rows = A.shape[0], np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    diagonal, mirror = rows == A.indices, np.argsort(np.lexsort((rows, A.indices)))
    weights = rng.uniform(0.1, 10, (count, A.nnz))
    values = -(weights + weights[:, mirror])
    values[:, diagonal] = 0
    sums = np.stack([sp.csr_matrix((v, A.indices, A.indptr), A.shape).sum(axis=1).A1 for v in values])
    values[:, diagonal] = rng.uniform(0.1, 1, (count, n)) - sums
    b = rng.standard_normal((count, n, 1))
    matrices = [sp.csr_matrix((v, A.indices, A.indptr), A.shape) for v in values]
    columns = [m.tocsc() for m in matrices]
    solver = lacuna.Solver(new_pattern(A), "direct", keep_bytes=-1)
    call = Call(ask.solve(solver, values, b))

    def peer():
        return [spla.splu(m, **SPLU).solve(c[:, 0]) for m, c in zip(columns, b)]

    ours_s, peer_s = best_of(4, call)[0], best_of(2, peer_call(peer))[0]
    residual = max(backward_error(m, x, c) for m, x, c in zip(matrices, call.outs[0], b))
    table.row(f"batch of {count} systems of {n}", n=n, ours=ours_s, peer="SciPy splu, one by one", peer_s=peer_s,
              threads=THREADS, residual=residual, ok=peer_s is None or peer_s >= 10 * ours_s,
              bar="at least 10 x SciPy splu")  # fmt: skip


def settle():
    """Two threads for us, one for SciPy's BLAS, and freed memory that stays with the process."""
    libc = ctypes.CDLL(None)
    libc.mallopt(-4, 0)  # M_MMAP_MAX: no block of its own for what is large,
    libc.mallopt(-1, -1)  # M_TRIM_THRESHOLD: and what is freed stays
    context().set_threads(THREADS)
    with open("/proc/self/maps") as file:
        loaded = set(re.findall(r"/\S*scipy_openblas\S*", file.read()))
    for path in loaded:
        for name in ("scipy_openblas_set_num_threads", "scipy_openblas_set_num_threads64_"):
            getattr(ctypes.CDLL(path), name, lambda threads: None)(1)


def main():
    settle()
    table = Table("direct")
    batch(table)
    beside_columns(table, poisson2d(64))
    logdet(table, "2-D 100K", poisson2d(316))
    logdet(table, "convection 2-D 100K", convection2d(316))
    side = sized(40, 20)
    logdet(table, f"3-D {side}^3", poisson3d(side))
    name, large = LARGE[0], poisson2d(LARGE[1])
    logdet(table, name, large)
    backward_of_a_solve(table, name, large)
    solve_again(table, name, large)
    factorisations(table)
    table.finish()


if __name__ == "__main__":
    main()
