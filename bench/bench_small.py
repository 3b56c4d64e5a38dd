# SPDX-License-Identifier: Apache-2.0
"""Small and special matrices, f64: the automatic choice with its defaults beside SciPy's splu and KLU of SuiteSparse,
all in one run, in turns, best of each.

"from scratch" is pattern, solver, factor and solve, as a user of the NumPy front calls them; splu and KLU get the
matrix by columns, which is not counted. "new values" is a factor of other values by the pivots at hand, which are
looked at (Factor.refactor; KLU's klu_refactor, which does not look), and a solve: splu, which keeps nothing, does all
of it. "other values" is the same with pivots of their own, by the kept pattern and its analysis (Solver.factor,
klu_factor). SuperLU runs with its defaults, and on symmetric patterns with those for them too: the better counts. What
takes it long is run twice only. Fill is of ours and of KLU's factors, what stands off the blocks included. Errors are
|b - A x| / (|A| |x| + |b|), the largest norm of each.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import scipy.sparse.linalg as spla
from bench_direct import SPLU, THREADS, backward_error, settle
from peers import klu
from small_matrices import CIRCUITS, all_of_them
from support import ONLY, PEERS, Table, new_pattern, side_by_side, sized

import lacuna

OF_SPLU, OF_KLU, OF_KLU_FILL = 1.3, 1.1, 1.1
LIMIT = 1e-13


class Ours:
    """The automatic choice; the last solution is in x."""

    def __init__(self, A, b):
        scale = 1 + 0.01 * np.random.default_rng(2).random(A.shape[0])
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        self.A, self.b, self.values = A, b, A.data * scale[rows] * scale[A.indices]  # Hermitian where A is
        self.next = self.values * (1 + 1e-9)
        self.solver = lacuna.Solver(new_pattern(A))
        self.factor = self.solver.factor(A.data)
        self.fill = self.factor.report["factor_nnz"]

    def first(self):
        solver = lacuna.Solver(new_pattern(self.A))
        self.x, self.used = solver.factor(self.A.data).solve(self.b), self.A.data

    def again(self):
        self.values, self.next = self.next, self.values
        self.factor = self.factor.refactor(self.values)
        self.x, self.used = self.factor.solve(self.b), self.values

    def other(self):
        self.values *= 1 + 1e-9  # others than were met before, which the solver may know
        self.x, self.used = self.solver.factor(self.values).solve(self.b), self.values

    def error(self):
        A = self.A.copy()
        A.data = self.used
        return backward_error(A, self.x, self.b)


def splu_calls(A, b):
    """SuperLU by its defaults, and by those for symmetric patterns."""
    columns, pattern = A.tocsc(), A.astype(bool)
    settings = [{}] + [SPLU] * ((pattern != pattern.T).nnz == 0)
    return [lambda given=given: spla.splu(columns, **given).solve(b) for given in settings] if PEERS else []


def best(times):
    return min((t for t in times if t is not None), default=None)


def bars(kind, ours, splu, other):
    """Whether the bars hold, and what they are."""
    asked = [("splu", OF_SPLU, splu)] + [("KLU", OF_KLU, other)] * (kind == CIRCUITS)
    there = [(name, most, ours / peer) for name, most, peer in asked if peer]
    return all(ratio <= most for _, most, ratio in there), ", ".join(
        f"at most {most:g} x {name}: {ratio:.2f}" for name, most, ratio in there
    )


def beside(table, name, kind, A):
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    ours, splu, peer = Ours(A, b), splu_calls(A, b), klu(A, b) if PEERS else None
    common = {"n": A.shape[0], "threads": THREADS, "limit": LIMIT}
    for what, mine, theirs in (("from scratch", ours.first, peer and peer.first),
                               ("new values", ours.again, peer and peer.again),
                               ("other values", ours.other, peer and peer.other)):  # fmt: skip
        mine_s, klu_s, *splu_s = side_by_side(mine, theirs, *splu, seconds=sized(0.5, 2))
        ok, bar = bars(kind, mine_s, best(splu_s), klu_s)
        error = ours.error()
        table.row(f"{name}, {what}", ours=mine_s, residual=error, peer="SciPy splu", peer_s=best(splu_s), ok=ok,
                  bar=bar, **common)  # fmt: skip
        if klu_s:
            table.row(f"{name}, {what}, KLU", ours=mine_s, residual=error, peer="KLU", peer_s=klu_s, **common)
    if peer and kind == CIRCUITS:
        ratio = ours.fill / peer.fill
        print(f"{name}: fill {ours.fill}, KLU {peer.fill}: {ratio:.2f}" + " MISSED" * (ratio > OF_KLU_FILL))
        table.failed += ratio > OF_KLU_FILL


def main():
    settle()
    table = Table("small")
    for name, kind, A in all_of_them():
        if ONLY in name:
            beside(table, name, kind, A)
    table.finish()


if __name__ == "__main__":
    main()
