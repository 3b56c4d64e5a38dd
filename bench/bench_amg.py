# SPDX-License-Identifier: Apache-2.0
"""Multigrid inside Krylov methods, two threads, f64, random right-hand sides, to a true residual of 1e-10: set-up and
solve beside hypre BoomerAMG and PETSc GAMG on two ranks (and on one, for the record) and AMGCL on two threads, with its
hierarchy in f64 and in f32; what a backward and new values cost; how iterations grow; bytes an unknown.

All in one run and in turns. Peers are programs (bench/peers) that repeat set-up and solve for a while; the best
repetition of each counts, as of ours: flexible CG with multigrid, which chooses its kind by itself. Residuals are |b -
A x| / |b|, computed here by SciPy.
"""

import os
import tempfile
import time

import numpy as np
import peers
import scipy.sparse as sp
from support import PEERS, Call, Table, ask, line, new_pattern, poisson2d, poisson3d, sized, sorted_csr

import lacuna
from lacuna import _core
from lacuna._core import check, context, ffi, lib
from lacuna._handle import form
from lacuna._program import VJP

THREADS = 2
RTOL = 1e-10
SIDE = sized(1000, 400)  # of the squares on which most rows stand
LIMIT = 1.0000001 * RTOL  # of residuals that are computed by another program
MAX_BYTES = 165  # an unknown
OURS = {"method": "flexible_cg", "preconditioner": "multigrid", "rtol": RTOL}
TURNS, SECONDS = sized(2, 1), 2.0  # how often each runs, and how long a peer goes on at a time


# -- matrices --------------------------------------------------------------------------------------------------------


def anisotropic2d(n, weak):
    return sorted_csr(weak * sp.kron(line(n), sp.eye(n)) + sp.kron(sp.eye(n), line(n)))


def lognormal2d(n, sigma):
    """-div(k grad u), log k of cells normal with deviation sigma and independent, harmonic means at faces, u = 0
    around."""
    k = np.pad(np.exp(sigma * np.random.default_rng(1).standard_normal((n, n))), 1, mode="edge")
    across = 2 / (1 / k[1:-1, :-1] + 1 / k[1:-1, 1:])
    along = 2 / (1 / k[:-1, 1:-1] + 1 / k[1:, 1:-1])
    cell = np.arange(n * n).reshape(n, n)
    rows = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    cols = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    couplings = -np.concatenate([across[:, 1:-1].ravel(), along[1:-1].ravel()])
    half = sp.coo_matrix((couplings, (rows, cols)), (n * n, n * n))
    centre = (across[:, :-1] + across[:, 1:] + along[:-1] + along[1:]).ravel()
    return sorted_csr(sp.diags(centre) + half + half.T)


def permuted(a):
    order = np.random.default_rng(2).permutation(a.shape[0])
    return sorted_csr(a[order][:, order])


# -- ours ------------------------------------------------------------------------------------------------------------


class System:
    """A matrix in the library's own memory, and what it is solved by; through the C interface."""

    def __init__(self, A):
        self.A, self.ctx = A, context()
        self.pattern = new_pattern(A)
        self.values, self.factor = self.array(A.data), ffi.new("lac_factor **")
        self.b = np.random.default_rng(0).standard_normal((A.shape[0], 1))
        self.rhs, self.x = self.array(self.b), self.array(np.zeros_like(self.b))
        self.report = ffi.new("lac_solve_report *")

    def array(self, data):
        out, memory = ffi.new("lac_array **"), ffi.from_buffer(data)
        described = lib.LAC_F64, data.ndim, data.shape
        self.ctx.check(lib.lac_array_from(self.ctx.c, *described, memory, lib.LAC_OWNERSHIP_COPY, out))
        return out

    def set_up(self):
        """Seconds from the pattern to the factor; nothing of an earlier set-up is used."""
        lib.lac_factor_destroy(self.factor)
        begin = time.perf_counter()
        self.solver = lacuna.Solver(self.pattern, keep_bytes=-1, **OURS)
        self.ctx.check(lib.lac_solver_factor(self.ctx.c, self.solver.c, self.values[0], self.factor))
        return time.perf_counter() - begin

    def solve(self, op="N"):
        begin = time.perf_counter()
        arguments = self.factor[0], self.rhs[0], ffi.NULL, form(op), self.x[0], self.report
        self.ctx.check(lib.lac_factor_iterate(self.ctx.c, *arguments))
        return time.perf_counter() - begin

    def residual(self):
        x = np.empty_like(self.b)
        self.ctx.check(lib.lac_array_read(self.ctx.c, self.x[0], ffi.from_buffer(x)))
        return float(np.linalg.norm(self.b - self.A @ x) / np.linalg.norm(self.b))

    def close(self):
        lib.lac_factor_destroy(self.factor)
        for array in (self.values, self.rhs, self.x):
            lib.lac_array_destroy(array)
        lib.lac_memory_trim()


# -- beside the peers ------------------------------------------------------------------------------------------------


def beside(table, name, A, bars, dimensions=2):
    """Set-up and solve, ours and every peer's. `bars`: {start of a peer's name: the least ratio}; "" is for all of
    them."""
    system = System(A)
    found = peers.find(dimensions) if PEERS else []
    best, theirs = (float("inf"), 0, 0), {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "system")
        peers.write_system(path, A, system.b)
        for _ in range(TURNS):
            for _ in range(3):
                setup, solve = system.set_up(), system.solve()
                best = min(best, (setup + solve, setup, solve))
            for peer in found:
                if peer.threads == 1 and peer.name in theirs:
                    continue  # for the record: once
                ran = peer.run(path, RTOL, SECONDS)
                theirs[peer.name] = min(theirs.get(peer.name, ran), ran, key=lambda r: r.seconds)
    common = {"n": A.shape[0], "threads": THREADS, "residual": system.residual(), "limit": LIMIT}
    iterations = system.report.iterations
    for peer in found:
        ran = theirs[peer.name]
        asked = [bar for start, bar in bars.items() if peer.name.startswith(start) and peer.threads == 2]
        factor = max(asked, default=0)
        ratio = ran.seconds / best[0]
        told = f"iterations {iterations} to {ran.iterations}; theirs {ran.setup:.2f} + {ran.solve:.2f} s"
        told += f", {ran.residual:.0e}"
        bar = f"at least {factor:g} x; " if factor else ""
        table.row(f"{name}, {peer.name}", ours=best[0], peer=peer.name, peer_s=ran.seconds, ok=ratio >= factor,
                  bar=f"{bar}ours {best[1]:.3f} + {best[2]:.3f} s; {told}", **common)  # fmt: skip
    if not found:
        table.row(name, ours=best[0], bar=f"ours {best[1]:.3f} + {best[2]:.3f} s, {iterations} iterations", **common)
    system.close()


def all_beside(table):
    headline = {"hypre": 2.5, "PETSc": 2.5, "AMGCL": 1.5}
    n, n3 = SIDE, sized(100, 40)
    beside(table, f"poisson2d-{n}", poisson2d(n), headline)
    beside(table, f"poisson2d-{n} permuted", permuted(poisson2d(n)), {"": 1})
    beside(table, f"poisson3d-{n3}", poisson3d(n3), {"": 1}, dimensions=3)
    beside(table, f"lognormal2d-{n} sigma 2", lognormal2d(n, 2.0), {"": 1})
    beside(table, f"anisotropic2d-{n} 0.01", anisotropic2d(n, 0.01), {"": 1})


# -- ours by itself --------------------------------------------------------------------------------------------------


def growth(table):
    """Iterations from 250K to 4M unknowns; and the bytes of the largest, right-hand side and solution counted."""
    counts = {}
    for n in sized((500, 1000, 2000), (500,)):
        A = poisson2d(n)
        lib.lac_memory_trim()
        before = lacuna.memory_stats("cpu")["live_bytes"]
        system = System(A)
        lib.lac_memory_reset_peak(b"cpu")
        seconds = system.set_up()
        seconds += system.solve()
        peak = (lacuna.memory_stats("cpu")["peak_bytes"] - before) / n**2
        counts[n] = system.report.iterations
        told, ok = f"{counts[n]} iterations", True
        if n == 2000:
            rise = counts[2000] / counts[500] - 1
            ok = rise <= 0.25 and peak <= MAX_BYTES
            told += f"; at most 25 % more than of 250K: {rise:.0%}; at most {MAX_BYTES} bytes an unknown: {peak:.1f}"
        table.row(f"poisson2d-{n}, once", n=n * n, ours=seconds, threads=THREADS, residual=system.residual(),
                  limit=LIMIT, bytes_per_unknown=peak, ok=ok, bar=told)  # fmt: skip
        system.close()


def new_values(table):
    """A set-up on the frozen structure of the first; each time with values that were not seen before."""
    A = poisson2d(SIDE)
    system = System(A)
    first_s = min(system.set_up() for _ in range(3))
    solver, times = lacuna.Solver(system.pattern, **OURS), []
    solver.factor(A.data)
    for i in range(4):
        lib.lac_array_destroy(system.values)
        lib.lac_factor_destroy(system.factor)
        system.values, system.A = system.array(A.data * (2 + i)), A * (2 + i)
        begin = time.perf_counter()
        system.ctx.check(lib.lac_solver_factor(system.ctx.c, solver.c, system.values[0], system.factor))
        times.append(time.perf_counter() - begin)
    report = _core.sized("lac_report")
    check(lib.lac_factor_report(system.factor[0], report))
    system.solve()
    ok = first_s >= 3 * min(times) and report.setups == 1
    table.row(f"poisson2d-{SIDE}, new values", n=A.shape[0], ours=min(times), peer="the first set-up", peer_s=first_s,
              threads=THREADS, residual=system.residual(), limit=LIMIT, ok=ok,
              bar="at least 3 x cheaper than the first; "
                  f"set-ups {report.setups}, refreshes {report.refreshes}")  # fmt: skip
    system.close()


def backward(table):
    """The derivative of a solve by matrix and right-hand side beside the forward, both with the set-up at hand."""
    A = poisson2d(SIDE)
    b, bar = np.random.default_rng(3).standard_normal((2, A.shape[0], 1))
    solver = lacuna.Solver(new_pattern(A), keep_bytes=8 << 30, **OURS)
    solve = ask.solve(solver, A.data, b)
    forward = Call(solve)
    forward()
    x = forward.outs[0].copy()
    back = Call(solve, VJP, (bar,), (x,))
    times = [float("inf")] * 2
    for _ in range(4):
        for i, call in enumerate((forward, back)):
            begin = time.perf_counter()
            call()
            times[i] = min(times[i], time.perf_counter() - begin)
    a_bar, b_bar = sorted(back.outs, key=lambda out: out.ndim)
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    wrong = np.abs(a_bar + b_bar[rows, 0] * x[A.indices, 0]).max() / np.abs(a_bar).max()
    left = np.linalg.norm(bar - A.T @ b_bar) / np.linalg.norm(bar)
    setups = solver.factor(A.data).report["setups"]
    table.row(f"poisson2d-{SIDE}, backward", n=A.shape[0], ours=times[1], peer="our forward", peer_s=times[0],
              threads=THREADS, residual=float(max(wrong, left)), limit=LIMIT,
              ok=times[1] <= 1.2 * times[0] and setups == 1,
              bar=f"at most 1.2 x the forward: {times[1] / times[0]:.2f}; set-ups: {setups}")  # fmt: skip


def memory_of_iterations(table):
    """The peak of a solve does not depend on how many iterations it takes."""
    A, peaks, counts = poisson2d(500), [], []
    for rtol in (1e-2, 1e-10):
        solver = lacuna.Solver(new_pattern(A), method="cg", preconditioner="jacobi", rtol=rtol)
        factor, b = solver.factor(A.data), np.ones((A.shape[0], 1))
        factor.iterate(b)
        before = lacuna.memory_stats("cpu")["live_bytes"]
        lib.lac_memory_reset_peak(b"cpu")
        _, report = factor.iterate(b)
        peaks.append(lacuna.memory_stats("cpu")["peak_bytes"] - before)
        counts.append(report["iterations"])
    table.row("poisson2d-500, memory of iterations", n=A.shape[0], ours=1, residual=float(peaks[0] != peaks[1]),
              limit=0.5, bytes_per_unknown=peaks[1] / A.shape[0],
              bar=f"{counts[0]} and {counts[1]} iterations, the same peak")  # fmt: skip


def main():
    context().set_threads(THREADS)
    table = Table("amg")
    growth(table)
    new_values(table)
    backward(table)
    if PEERS:  # without them only times count
        memory_of_iterations(table)
    all_beside(table)
    table.finish()


if __name__ == "__main__":
    main()
