# SPDX-License-Identifier: Apache-2.0
"""numml's Table 2 on CUDA tensors beside torch and CuPy on the same device, one run: A = tridiag(-1, 2, -1) in f32.

Each row is to be faster than both. CuPy has no derivatives; torch has them for the product with a dense matrix, where
it makes a dense gradient of the sparse one.
"""

import torch
from cuda_peers import Bench, Matrix, begin, cupy, tridiagonal, with_cupy
from support import sized

import lacuna.torch as lt

if cupy:
    from cupyx.scipy.sparse.linalg import spsolve_triangular


def dense(bench, name, m, k, **bars):
    x = torch.randn((m.shape[1], k) if k > 1 else m.shape[1], device="cuda")
    peers = with_cupy({"torch": lambda: m.torch @ x}, lambda: m.cupy @ cupy.asarray(x))
    bench.row(name, m, lambda: lt.spmm(m.pattern, m.a, x), peers, m.bytes + 2 * x.nbytes, **bars)


def gradients(bench, name, m, k, **bars):
    """Forward and both gradients."""
    x = torch.randn(m.shape[1], k, device="cuda").requires_grad_()
    a, y_bar = m.a.clone().requires_grad_(), torch.randn(m.shape[0], k, device="cuda")
    matrix = m.torch.detach().requires_grad_()

    def ours():
        return torch.autograd.grad(lt.spmm(m.pattern, a, x), (a, x), y_bar)[1]

    def theirs():
        return torch.autograd.grad(matrix @ x, (matrix, x), y_bar)[1]

    bench.row(name, m, ours, {"torch": theirs}, 3 * (m.bytes + x.nbytes + y_bar.nbytes), **bars)


def sparse(bench, m):
    """B = -A on a kept plan, the pattern of whose product is there."""
    b = Matrix(m.offsets, m.columns, -m.a, m.shape)
    peers = with_cupy({"torch": lambda: m.torch @ b.torch}, lambda: m.cupy @ b.cupy)
    entries = lt.spgemm(m.pattern, m.a, m.pattern, b.a).numel()
    bench.row("SpSpMM", m, lambda: lt.spgemm(m.pattern, m.a, m.pattern, b.a), peers, 2 * m.bytes + 12 * entries)


def added(bench, m):
    b = Matrix(m.offsets, m.columns, 3 * m.a, m.shape)
    peers = with_cupy({"torch": lambda: m.torch + b.torch}, lambda: m.cupy + b.cupy)
    bench.row("Sp + Sp", m, lambda: lt.spadd(m.pattern, m.a, m.pattern, b.a), peers, 3 * m.a.nbytes)


def triangular(bench, n):
    """2 I less the diagonal below."""
    m = tridiagonal(n)
    row = torch.repeat_interleave(torch.arange(n, device="cuda"), m.offsets.diff())
    below = m.columns <= row
    offsets = torch.zeros(n + 1, dtype=torch.int32, device="cuda")
    offsets[1:] = torch.cumsum(torch.bincount(row[below], minlength=n), 0)
    low = Matrix(offsets, m.columns[below].contiguous(), m.a[below].contiguous(), m.shape)
    b = torch.randn(n, 1, device="cuda")
    peers = {"torch": lambda: torch.triangular_solve(b, low.torch, upper=False)[0]}
    peers = with_cupy(peers, lambda: spsolve_triangular(low.cupy, cupy.asarray(b), lower=True))
    bench.row("SpTRSV", low, lambda: lt.trisolve(low.pattern, low.a, b, "lower"), peers, low.bytes + 2 * b.nbytes,
              within=0.05e-3)  # fmt: skip


def main():
    begin()
    bench = Bench("cuda_table2")
    n = 32768
    dense(bench, "SpMV", tridiagonal(n), 1)
    sparse(bench, tridiagonal(n // 2))
    dense(bench, "SpDMM", tridiagonal(n // 2), sized(n // 2, 1024), within=0.65e-3)
    added(bench, tridiagonal(n))
    triangular(bench, n)
    gradients(bench, "SpMV and gradients", tridiagonal(n // 2), 1)
    gradients(bench, "SpMM 128 and gradients", tridiagonal(n // 2), 128, factor=3)
    bench.table.finish()


if __name__ == "__main__":
    main()
