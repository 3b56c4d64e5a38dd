# SPDX-License-Identifier: Apache-2.0
"""numml's Table 2 in f32 on one thread, beside SciPy in the same run: forward, and forward with both gradients.

The rows are run on A = tridiag(-1, 2, -1), as numml did, and on a nonsymmetric matrix of a million rows with eight
entries each in random columns. "ours" is the time inside the C library on outputs that are there already, "python" the
same through NumPy's front with new outputs; SciPy runs as its users call it. Bars are judged by "ours".

cold: the plan for the pair is thrown away each time, so that "ours" makes the product's pattern and its values, and
"python" makes the patterns of both factors as well. cached: the plan is kept, and only values are computed.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular
from support import PLAN_BYTES, Call, ColdProduct, Table, ask, error, new_pattern, peer_call, side_by_side, sized

import lacuna
from lacuna._core import context, lib
from lacuna._program import VJP

DTYPE = np.float32


def tridiagonal(n):
    a = sp.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1], format="csr", dtype=DTYPE)
    a.sort_indices()
    return sp.csr_matrix(a)


def random_matrix(n, rng):
    col = rng.integers(0, n, (n, 8), dtype=np.int32)
    offsets = np.arange(0, 8 * n + 1, 8, dtype=np.int32)
    a = sp.csr_matrix((rng.standard_normal(8 * n).astype(DTYPE), col.ravel(), offsets), shape=(n, n))
    a.sum_duplicates()
    return a


def numbers(rng, *shape):
    return rng.standard_normal(shape, dtype=DTYPE)


def worst(ours, expected):
    return max(error(a.reshape(b.shape), b) for a, b in zip(ours, expected))


class Case:
    """One matrix: its name, its bars, and how long to measure each row."""

    def __init__(self, table, name, seconds):
        self.table, self.name, self.seconds = table, name, seconds

    def forward(self, row, factor, n, ours, python, scipy, expected=None):
        ours_s, python_s, peer_s = side_by_side(ours, python, peer_call(scipy), seconds=self.seconds)
        residual = error(ours.outs[0].ravel(), (scipy() if expected is None else expected).ravel())
        self.table.at_least(factor, f"{self.name}: {row}", n=n, ours=ours_s, python=python_s, peer="SciPy",
                            peer_s=peer_s, residual=residual, dtype="f32")  # fmt: skip

    def backward(self, row, factor, n, forward, backward, expected):
        forward_s, both_s = side_by_side(forward, lambda: (forward(), backward()), seconds=self.seconds)
        self.table.at_most(factor, f"{self.name}: {row} + backward", n=n, ours=both_s, forward_s=forward_s,
                           residual=worst(backward.outs, expected), dtype="f32")  # fmt: skip


def coordinates(a):
    return np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)), a.indices


def product(case, row, factors, a, x, y_bar):
    """y = A x, dense x."""
    pattern, (i, j) = new_pattern(a), coordinates(a)
    asked = ask.spmm(pattern, a.data, x)
    ours = Call(asked)
    case.forward(row, factors[0], len(x), ours, lambda: lacuna.spmm(pattern, a.data, x), lambda: a @ x)
    backward = Call(asked, VJP, (y_bar,))
    a_bar = np.concatenate([np.einsum("zk,zk->z", y_bar[i[s : s + 4096]], x[j[s : s + 4096]])
                            for s in range(0, a.nnz, 4096)])  # fmt: skip
    case.backward(row, factors[1], len(x), ours, backward, (a_bar, a.T @ y_bar))


def cold_in_python(a, b):
    return lacuna.spgemm(new_pattern(a), a.data, new_pattern(b), b.data)


def sparse_product(case, a, b, rng):
    n = a.shape[0]
    c = a @ b
    c.sort_indices()
    cold = ColdProduct(a, b)
    case.forward("SpSpMM, cold", 1, n, cold, lambda: cold_in_python(a, b), lambda: a @ b, c.data)
    cold.close()
    pa, pb = (new_pattern(m) for m in (a, b))
    asked = ask.spgemm(pa, a.data, pb, b.data)
    ours = Call(asked)
    case.forward("SpSpMM, cached", 3, n, ours, lambda: lacuna.spgemm(pa, a.data, pb, b.data), lambda: a @ b, c.data)
    # With c_bar = u v^T at C's entries the gradients are u (B v)^T at A's and (A^T u) v^T at B's: an independent check.
    u, v = numbers(rng, n), numbers(rng, n)
    (i, j), (ai, aj), (bi, bj) = coordinates(c), coordinates(a), coordinates(b)
    backward = Call(asked, VJP, (u[i] * v[j],))
    case.backward("SpSpMM, cached", 5, n, ours, backward, (u[ai] * (b @ v)[aj], (a.T @ u)[bi] * v[bj]))


def addition(case, a, b, rng):
    pattern, n = new_pattern(a), a.shape[0]
    asked, c_bar = ask.spadd(pattern, a.data, pattern, b.data), numbers(rng, a.nnz)
    ours = Call(asked)
    case.forward("Sp + Sp, equal patterns", 4, n, ours, lambda: lacuna.spadd(pattern, a.data, pattern, b.data),
                 lambda: (a + b).data, a.data + b.data)  # fmt: skip
    case.backward("Sp + Sp", 3, n, ours, Call(asked, VJP, (c_bar,)), (c_bar, c_bar))


def union(case, a, b):
    pa, pb, n = new_pattern(a), new_pattern(b), a.shape[0]
    c = sp.csr_matrix((np.ones(a.nnz), a.indices, a.indptr), shape=a.shape) + sp.csr_matrix(
        (np.ones(b.nnz), b.indices, b.indptr), shape=b.shape
    )
    i, j = coordinates(c)
    expected = np.asarray(sum(m.tolil()[i, j] if n < 1000 else m[i, j] for m in (a, b))).ravel()
    case.forward("Sp + Sp, different patterns", 1, n, Call(ask.spadd(pa, a.data, pb, b.data)),
                 lambda: lacuna.spadd(pa, a.data, pb, b.data), lambda: a + b, expected)  # fmt: skip


def triangular(case, low, b, x_bar):
    pattern, n = new_pattern(low), low.shape[0]
    asked = ask.trisolve(pattern, low.data, b, triangle="lower")
    ours = Call(asked)
    case.forward("SpTRSV", 1, n, ours, lambda: lacuna.trisolve(pattern, low.data, b, triangle="lower"),
                 lambda: spsolve_triangular(low, b[:, 0], lower=True))  # fmt: skip
    x = ours.outs[0]
    backward = Call(asked, VJP, (x_bar,), (x,))
    b_bar = spsolve_triangular(low.T.tocsr(), x_bar[:, 0], lower=False)
    i, j = coordinates(low)
    case.backward("SpTRSV", 3.5, n, ours, backward, (-b_bar[i] * x[j, 0], b_bar))


def on_tridiagonal(table, rng):
    case, n = Case(table, "tridiagonal", 2.0), 32768
    a = tridiagonal(n)
    product(case, "SpMV", (1, 4), a, numbers(rng, n, 1), numbers(rng, n, 1))
    half = tridiagonal(n // 2)
    sparse_product(case, half, -half, rng)
    x = numbers(rng, n // 2, sized(n // 2, 1024))
    shape = sized("dense N x N", "1024 columns")
    product(Case(table, "tridiagonal", 6.0), f"SpDMM, {shape}", (1.5, 4), half, x, x)
    addition(case, a, 3 * a, rng)
    shifted = sp.csr_matrix(sp.diags([np.ones(n - 2, DTYPE), np.ones(n, DTYPE)], [-2, 0], format="csr", dtype=DTYPE))
    union(case, a, shifted)
    low = sp.csr_matrix(sp.diags([-np.ones(n - 1), 2 * np.ones(n)], [-1, 0], format="csr", dtype=DTYPE))
    triangular(case, low, numbers(rng, n, 1), numbers(rng, n, 1))


def on_random(table, rng):
    case, n = Case(table, "random", 4.0), sized(1_000_000, 100_000)
    a = random_matrix(n, rng)
    product(case, "SpMV", (1, 4), a, numbers(rng, n, 1), numbers(rng, n, 1))
    product(case, "SpDMM, 16 columns", (1.5, 4), a, numbers(rng, n, 16), numbers(rng, n, 16))
    addition(case, a, 3 * a, rng)
    union(case, a, random_matrix(n, rng))
    low = sp.csr_matrix(sp.tril(a, -1) + sp.diags(np.full(n, 8, DTYPE)), dtype=DTYPE)
    low.sort_indices()
    triangular(case, low, numbers(rng, n, 1), numbers(rng, n, 1))
    sparse_product(case, a, -a, rng)


def main():
    context().set_threads(1)
    lib.lac_pattern_set_plan_budget(PLAN_BYTES)
    table, rng = Table("table2"), np.random.default_rng(0)
    on_tridiagonal(table, rng)
    on_random(table, rng)
    table.finish()


if __name__ == "__main__":
    main()
