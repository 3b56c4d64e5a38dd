# SPDX-License-Identifier: Apache-2.0
"""SpMV, A^T v, SDDMM and Sp + Sp on the 2-D Poisson matrix of a million unknowns, beside SciPy in the same run.

Ours is timed inside the C library, on outputs that are there already; SciPy as its users call it. Shares are of the
best triad of this run on as many threads, over the bytes that must be moved: every array once. The triad's stores read
their lines first; kernels whose stores do not, such as the sum, can go beyond 100 %.
"""

import numpy as np
from support import Call, Table, ask, error, new_pattern, peer_call, poisson2d, side_by_side, triad

import lacuna
from lacuna._core import context
from lacuna._program import VJP

N = 1000


def bar_of(name, threads, ratio, share):
    """(what is asked of a row, whether it holds)."""
    if threads == 1:
        return "at least as fast as SciPy", ratio and ratio >= 1
    if name == "spmv":
        return "75 % of triad", 0.75 <= share <= 1.5  # beyond, the triad met a neighbour: no measure of anything
    return "", True


def products(table, rows, n):
    measured = [triad()]
    for threads in (1, 2):
        measured.append(triad())  # again: a neighbour that slows one triad down must not flatter our shares
        bandwidth = max(each[threads] for each in measured)
        context().set_threads(threads)
        for name, ours, scipy, size in rows:
            ours_s, peer_s = side_by_side(ours, peer_call(scipy))
            gbps = size / ours_s * 1e-9
            share = gbps / bandwidth
            bar, ok = bar_of(name, threads, peer_s and peer_s / ours_s, share)
            residual = error(ours.outs[0].ravel(), scipy().ravel())
            table.row(name, n=n, threads=threads, ours=ours_s, peer="SciPy", peer_s=peer_s, residual=residual,
                      gbps=gbps, share=share, bytes_per_unknown=size / n, ok=ok, bar=bar)  # fmt: skip


def derivatives(table, forward, backward, expected, n):
    """Both gradients of y = A x, beside the product alone."""
    for threads in (1, 2):
        context().set_threads(threads)
        forward_s, both_s = side_by_side(forward, lambda: (forward(), backward()))
        wrong = max(error(ours.ravel(), peer) for ours, peer in zip(backward.outs, expected))
        ok = both_s <= 4 * forward_s
        table.row("spmm forward + backward", n=n, threads=threads, ours=both_s, peer="our forward x 4",
                  peer_s=4 * forward_s, residual=wrong, ok=ok, bar="at most 4 x forward")  # fmt: skip


def main():
    table = Table("tracer")
    rng = np.random.default_rng(0)
    A = poisson2d(N)
    n, nnz = A.shape[0], A.nnz
    pattern = new_pattern(A)
    a, b = rng.standard_normal(nnz), rng.standard_normal(nnz)
    A.data, B = a, A.copy()
    B.data = b
    x, v = rng.standard_normal((n, 1)), rng.standard_normal((n, 1))
    row, col = A.tocoo().row, A.tocoo().col
    size = 4 * nnz + 4 * (n + 1) + 8 * nnz + 16 * n  # structure, values, two vectors

    rows = [
        ("spmv", Call(ask.spmm(pattern, a, x)), lambda: A @ x[:, 0], size),
        ("A^T v", Call(ask.spmm(pattern, a, v, op="T")), lambda: A.T @ v[:, 0], size),
        ("sddmm, 1 column", Call(ask.sddmm(pattern, v, x)), lambda: v[row, 0] * x[col, 0], size),
        ("sparse + sparse, same pattern", Call(ask.add(a, b)), lambda: (A + B).data, 24 * nnz),
    ]
    products(table, rows, n)
    backward = Call(ask.spmm(pattern, a, x), VJP, (v,))
    derivatives(table, rows[0][1], backward, (v[row, 0] * x[col, 0], A.T @ v[:, 0]), n)
    table.finish()


if __name__ == "__main__":
    main()
