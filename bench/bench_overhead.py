# SPDX-License-Identifier: Apache-2.0
"""What a call costs: spmm on a tridiagonal matrix of 100 rows, from NumPy and from torch. Checked first, then timed.

Prints a table and appends one JSON row a line to build/bench.jsonl.
"""

import json
import os
import platform
import time

import numpy as np
import scipy.sparse as sp
import torch

import lacuna
import lacuna.torch as lt

N = 100
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def microseconds(function, calls=100, rounds=200):
    """The best of many short rounds: overhead is what is left when nothing else runs."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - begin) / calls)
    return 1e6 * best


def main():
    torch.set_num_threads(1)
    lacuna.set_threads(1)
    matrix = sp.diags_array([np.ones(N - 1), -2 * np.ones(N), np.ones(N - 1)], offsets=[-1, 0, 1], format="csr")
    pattern, a = lacuna.from_scipy(matrix)
    x = np.random.default_rng(0).random((N, 1))
    assert np.allclose(lacuna.spmm(pattern, a, x), matrix @ x)
    ta, tx = torch.tensor(a), torch.tensor(x)
    la, lx = ta.clone().requires_grad_(), tx.clone().requires_grad_()
    bar = torch.ones(N, 1, dtype=torch.float64)
    dense = torch.tensor(matrix.toarray())
    expected = torch.autograd.grad(dense @ lx, lx, bar)[0]
    assert torch.allclose(torch.autograd.grad(lt.spmm(pattern, la, lx), lx, bar)[0], expected)
    csr = torch.sparse_csr_tensor(torch.tensor(matrix.indptr), torch.tensor(matrix.indices), ta, (N, N))

    rows = [
        ("numpy", 15, lambda: lacuna.spmm(pattern, a, x)),
        ("numpy, SciPy's A @ x", None, lambda: matrix @ x),
        ("torch, no gradient", None, lambda: lt.spmm(pattern, ta, tx)),
        ("torch, backward recorded", 60, lambda: lt.spmm(pattern, la, lx)),
        ("torch, forward and backward", None, lambda: torch.autograd.grad(lt.spmm(pattern, la, lx), (la, lx), bar)),
        ("torch, its own CSR @ x", None, lambda: csr @ tx),
    ]
    print(f"spmm, n = {N}, nnz = {pattern.nnz}, k = 1, one thread: microseconds a call")
    os.makedirs(os.path.join(ROOT, "build"), exist_ok=True)
    with open(os.path.join(ROOT, "build", "bench.jsonl"), "a") as log:
        for name, bar_us, function in rows:
            took = microseconds(function)
            verdict = "" if bar_us is None else f"   bar {bar_us}: {'met' if took < bar_us else 'MISSED'}"
            print(f"  {name:30} {took:8.2f}{verdict}")
            row = {"bench": "overhead", "case": name, "microseconds": round(took, 3), "bar": bar_us,
                   "torch": torch.__version__, "python": platform.python_version()}  # fmt: skip
            log.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
