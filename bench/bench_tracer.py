# SPDX-License-Identifier: Apache-2.0
"""SpMV, A^T v, SDDMM and Sp + Sp on the 2-D Poisson matrix of a million unknowns, beside SciPy in the same run.

Ours is timed inside the C library, on outputs that are there already; SciPy as its users call it. Shares are of the triad that is
measured in this run on as many threads, over the bytes that must be moved: every array once.
"""
import numpy as np
from support import Table, poisson2d, side_by_side, triad

import lacuna
from lacuna._core import context
from lacuna._front import SIDES, resolve
from lacuna._program import FORWARD, VJP, find
from lacuna._numpy import DTYPES, _address

N = 1000


class Call:
    """One program on given arrays: inputs in the order of the operator, results new."""

    def __init__(self, name, arrays, mode=FORWARD, bars=()):
        metas = tuple((DTYPES[a.dtype], a.shape) for a in arrays)
        self.program = find(name).program(mode, (), metas, (1 << len(arrays)) - 1 if mode == VJP else 0, 1 if mode == VJP else 0)
        given = {0: arrays, 2: bars}
        self.ins = [given[port.role][port.index] for port in self.program.inputs]
        self.outs = [np.zeros(port.shape, self.ins[0].dtype) for port in self.program.results]

    def __call__(self):
        self.program.run(context(), map(_address, self.ins), map(_address, self.outs))


def error(ours, peer):
    return float(np.abs(ours - peer).max() / np.abs(peer).max())


def main():
    table, bandwidth = Table("tracer"), triad()
    rng = np.random.default_rng(0)
    A = poisson2d(N)
    n, nnz = A.shape[0], A.nnz
    pattern = lacuna.Pattern.from_scipy(A)
    a, b = rng.standard_normal(nnz), rng.standard_normal(nnz)
    A.data, B = a, A.copy()
    B.data = b
    x, v = rng.standard_normal((n, 1)), rng.standard_normal((n, 1))
    row, col = A.tocoo().row, A.tocoo().col
    structure = 4 * nnz + 4 * (n + 1)

    spmm = {side: resolve("spmm", (pattern.key,), (SIDES[side],)) for side in "NT"}
    rows = [
        ("spmv", Call(spmm["N"], (a, x)), lambda: A @ x[:, 0], structure + 8 * nnz + 16 * n),
        ("A^T v", Call(spmm["T"], (a, v)), lambda: A.T @ v[:, 0], structure + 8 * nnz + 16 * n),
        ("sddmm, 1 column", Call(resolve("sddmm", (pattern.key,)), (v, x)), lambda: v[row, 0] * x[col, 0], structure + 8 * nnz + 16 * n),
        ("sparse + sparse, same pattern", Call(resolve("add", ("0",)), (a, b)), lambda: (A + B).data, 24 * nnz),
    ]
    for threads in (1, 2):
        context().set_threads(threads)
        for name, ours, peer, size in rows:
            ours_s, peer_s = side_by_side(ours, peer)
            share = size / ours_s * 1e-9 / bandwidth[threads]
            bar, ok = ("at least as fast as SciPy", peer_s >= ours_s) if threads == 1 else ("", True)
            if threads == 2 and name == "spmv":
                bar, ok = "75 % of triad", share >= 0.75
            table.row(name, n=n, threads=threads, ours=ours_s, peer="SciPy", peer_s=peer_s, gbps=size / ours_s * 1e-9, share=share,
                      residual=error(ours.outs[0].ravel(), peer().ravel()), bytes_per_unknown=size / n, ok=ok, bar=bar)

    for threads in (1, 2):
        context().set_threads(threads)
        forward, backward = rows[0][1], Call(spmm["N"], (a, x), VJP, (v,))
        both = lambda: (forward(), backward())
        forward_s, both_s = side_by_side(forward, both)
        wrong = max(error(backward.outs[0], v[row, 0] * x[col, 0]), error(backward.outs[1][:, 0], A.T @ v[:, 0]))
        table.row("spmm forward + backward", n=n, threads=threads, ours=both_s, peer="our forward x 4", peer_s=4 * forward_s,
                  residual=wrong, ok=both_s <= 4 * forward_s and wrong < 1e-13, bar="at most 4 x forward")
    table.finish()


main()
