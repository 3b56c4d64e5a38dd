# SPDX-License-Identifier: Apache-2.0
"""What a call costs: spmm on a tridiagonal matrix of 100 rows, from NumPy and torch, beside SciPy's and torch's own.

Every row is checked first, then timed: the best mean of many short rounds, for overhead is what is left when nothing
else runs.
"""

import time
import warnings

import numpy as np
import scipy.sparse as sp
import torch
from support import Table

import lacuna
import lacuna.torch as lt

N = 100


def seconds(function, calls=100, rounds=200):
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - begin) / calls)
    return best


def torch_csr(matrix, values):
    with warnings.catch_warnings():  # torch says once that its CSR support is in beta
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(torch.tensor(matrix.indptr), torch.tensor(matrix.indices), values, matrix.shape)


def error(got, expected):
    """The largest difference of arrays or tensors, one or several, relative to the largest number."""
    pairs = zip(got, expected) if isinstance(got, tuple) else [(got, expected)]
    pairs = [[np.asarray(t.detach() if isinstance(t, torch.Tensor) else t) for t in pair] for pair in pairs]
    return max(float(np.abs(g - e).max() / np.abs(e).max()) for g, e in pairs)


def main():
    torch.set_num_threads(1)
    lacuna.set_threads(1)
    matrix = sp.diags_array([np.ones(N - 1), -2 * np.ones(N), np.ones(N - 1)], offsets=[-1, 0, 1], format="csr")
    pattern, a = lacuna.from_scipy(matrix)
    x, y_bar = np.random.default_rng(0).random((2, N, 1))
    _, columns, rows = pattern.structure()
    y, a_bar, x_bar = matrix @ x, y_bar[rows, 0] * x[columns, 0], matrix.T @ y_bar
    ta, tx, bar = torch.tensor(a), torch.tensor(x), torch.tensor(y_bar)
    la, lx = ta.clone().requires_grad_(), tx.clone().requires_grad_()
    csr = torch_csr(matrix, ta)

    scipy_s, torch_s = seconds(lambda: matrix @ x), seconds(lambda: csr @ tx)
    table = Table("overhead")
    for name, microseconds, function, expected, peer, peer_s in [
        ("spmm, NumPy", 15, lambda: lacuna.spmm(pattern, a, x), y, "SciPy", scipy_s),
        ("spmm, torch, no gradient", None, lambda: lt.spmm(pattern, ta, tx), y, "torch CSR", torch_s),
        ("spmm, torch, backward recorded", 60, lambda: lt.spmm(pattern, la, lx), y, "torch CSR", torch_s),
        ("spmm, torch, forward + backward", None, lambda: torch.autograd.grad(lt.spmm(pattern, la, lx), (la, lx), bar),
         (a_bar, x_bar), None, None),
    ]:  # fmt: skip
        residual, ours = error(function(), expected), seconds(function)
        table.row(name, n=N, ours=ours, peer=peer, peer_s=peer_s, residual=residual,
                  ok=microseconds is None or ours < 1e-6 * microseconds,
                  bar="" if microseconds is None else f"under {microseconds} us")  # fmt: skip
    table.finish()


if __name__ == "__main__":
    main()
