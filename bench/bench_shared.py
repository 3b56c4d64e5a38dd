# SPDX-License-Identifier: Apache-2.0
"""Cores that others use: CG with multigrid on a square, f64, to 1e-8, with two threads beside one, while as many
programs as there are cores, and four times as many, do nothing but count; while nobody else is there; and after a call
of NumPy's BLAS, whose threads then look for work for a tenth of a second, each on a core.

Both are run in turns, forth and back, set-up and solve; the sums of all turns count, since a loaded machine has no best
time. One in ten is what sums of so many turns differ by among themselves; of a dozen, it is one in six.
"""

import os
import subprocess
import sys
import time

import numpy as np
from support import Table, new_pattern, poisson2d, sized

import lacuna

SIDE, TURNS = sized(1000, 300), sized(36, 2)
RTOL, SAME = 1e-8, 1.1


class Busy:
    """So many programs that keep a core busy, for as long as the block lasts."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        self.programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(self.count)]
        time.sleep(0.5)

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()


def norm(x):
    """Without a BLAS, whose threads would be there in the next turn."""
    return float(np.sqrt(np.square(x).sum()))


def solve(pattern, A, b, threads, before=lambda: None):
    """(seconds of set-up and solve, residual) with so many threads."""
    lacuna.set_threads(threads)
    before()
    begin = time.perf_counter()
    factor = lacuna.Solver(pattern, "flexible_cg", preconditioner="multigrid", rtol=RTOL).factor(A.data)
    x = factor.solve(b)
    return time.perf_counter() - begin, norm(b - A @ x) / norm(b)


def turns(pattern, A, b, **more):
    """{threads: seconds of all turns}, and the largest residual."""
    seconds, worst = {2: 0.0, 1: 0.0}, 0.0
    for turn in range(TURNS):
        for threads in (2, 1) if turn % 2 else (1, 2):
            took, residual = solve(pattern, A, b, threads, **more)
            seconds[threads] += took
            worst = max(worst, residual)
    return seconds, worst


def main():
    table, A = Table("shared"), poisson2d(SIDE)
    pattern, b = new_pattern(A), np.random.default_rng(0).standard_normal((A.shape[0], 1))

    def row(name, others, **more):
        with Busy(others):
            seconds, residual = turns(pattern, A, b, **more)
        table.row(f"{name}: multigrid", n=A.shape[0], threads=2, ours=seconds[2] / TURNS, residual=residual,
                  peer="one thread", peer_s=seconds[1] / TURNS, limit=1.01 * RTOL, ok=seconds[2] <= SAME * seconds[1],
                  bar="no slower than one thread, but for a tenth")  # fmt: skip

    solve(pattern, A, b, 2)  # what a pattern keeps
    for others in (0, os.cpu_count(), 4 * os.cpu_count()):
        row(f"{others} others", others)
    row("after a BLAS", 0, before=lambda: np.dot(b[:, 0], b[:, 0]))
    table.finish()


if __name__ == "__main__":
    main()
