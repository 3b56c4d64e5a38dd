# SPDX-License-Identifier: Apache-2.0
"""Products and groups of CUDA tensors beside torch and CuPy on the same device, one run.

Matrices: the five-point matrix of 4 million unknowns, once of 169 million, and rows whose lengths follow a power law (a
few of some ten thousand entries among many of a few). Shares are of what a copy on the device moves, over the bytes
that must be moved: every array once. Table 2 has rows of its own (bench_cuda_table2.py).
"""

import torch
from cuda_peers import Bench, begin, by_lengths, cupy, with_cupy
from support import sized

import lacuna.torch as lt


def five_point(side, dtype):
    n = side * side
    i = torch.arange(n, device="cuda")
    columns = torch.stack([i - side, i - 1, i, i + 1, i + side], 1)
    is_here = (columns >= 0) & (columns < n)
    is_here[:, 1] &= i % side > 0
    is_here[:, 3] &= i % side < side - 1
    return by_lengths(is_here.sum(1), columns[is_here], n, dtype)


def power_law(n, mean, dtype):
    """Lengths ~ rank^-0.7, rows in random order, columns that follow each other from a random place on."""
    generator = torch.Generator("cuda").manual_seed(3)
    lengths = torch.arange(1, n + 1, device="cuda", dtype=torch.float64) ** -0.7
    lengths = (lengths * (mean * n / lengths.sum())).long().clamp(max=n // 2)
    lengths = lengths[torch.randperm(n, device="cuda", generator=generator)]
    first = (torch.rand(n, device="cuda", generator=generator) * (n - lengths)).long()
    row = torch.repeat_interleave(torch.arange(n, device="cuda"), lengths)
    begins = torch.cumsum(lengths, 0) - lengths
    columns = first[row] + torch.arange(row.numel(), device="cuda") - begins[row]
    return by_lengths(lengths, columns, n, dtype)


def product(bench, name, m, k, **bars):
    x = torch.randn((m.shape[1], k) if k > 1 else m.shape[1], dtype=m.a.dtype, device="cuda")
    peers = with_cupy({"torch": lambda: m.torch @ x}, lambda: m.cupy @ cupy.asarray(x))
    size = m.bytes + (m.shape[0] + m.shape[1]) * k * x.element_size()
    bench.row(name, m, lambda: lt.spmm(m.pattern, m.a, x), peers, size, **bars)


def transposed(bench, name, m, **bars):
    x = torch.randn(m.shape[0], dtype=m.a.dtype, device="cuda")
    peers = with_cupy({}, lambda: m.cupy.T @ cupy.asarray(x))
    size = m.bytes + m.columns.nbytes + (m.shape[0] + m.shape[1]) * x.element_size()
    bench.row(name, m, lambda: lt.spmm(m.pattern, m.a, x, "T"), peers, size, **bars)


def sampled(bench, name, m, k, **bars):
    u, v = (torch.randn(n, k, dtype=m.a.dtype, device="cuda") for n in m.shape)
    ones = torch.sparse_csr_tensor(m.offsets, m.columns, torch.zeros_like(m.a), m.shape, check_invariants=False)
    vt = v.t()
    peers = {"torch": lambda: torch.sparse.sampled_addmm(ones, u, vt).values()}
    size = m.a.nbytes + 2 * m.columns.nbytes + u.nbytes + v.nbytes
    bench.row(name, m, lambda: lt.sddmm(m.pattern, u, v), peers, size, **bars)


def softmax(bench, name, m, **bars):
    rows = m.pattern.row_map()
    row = torch.repeat_interleave(torch.arange(m.shape[0], device="cuda"), m.offsets.diff())
    coo = torch.sparse_coo_tensor(torch.stack([row, m.columns.long()]), m.a, m.shape, is_coalesced=True)
    peers = {"torch": lambda: torch.sparse.softmax(coo, 1).values()}
    bench.row(name, m, lambda: lt.segment_softmax(rows, m.a), peers, 2 * m.a.nbytes, **bars)


def squared(bench, name, m, **bars):
    """A A on a kept plan: the pattern of the product is there, and values are computed."""
    entries = lt.spgemm(m.pattern, m.a, m.pattern, m.a).numel()
    peers = with_cupy({"torch": lambda: m.torch @ m.torch}, lambda: m.cupy @ m.cupy)
    size = m.bytes + entries * (m.a.element_size() + 2 * m.columns.element_size())
    bench.row(name, m, lambda: lt.spgemm(m.pattern, m.a, m.pattern, m.a), peers, size, **bars)


def main():
    begin()
    bench = Bench("cuda_products")
    side, n = sized(2000, 500), sized(1 << 20, 1 << 16)
    for dtype in (torch.float64, torch.float32):
        m = five_point(side, dtype)
        word = "f64" if dtype == torch.float64 else "f32"
        product(bench, f"five-point {word}: SpMV", m, 1)
        transposed(bench, f"five-point {word}: A^T x", m)
        product(bench, f"five-point {word}: SpMM 32", m, 32, bar=0.75)
        product(bench, f"five-point {word}: SpMM 128", m, 128, bar=0.75)
        sampled(bench, f"five-point {word}: SDDMM 32", m, 32, bar=0.7)
        softmax(bench, f"five-point {word}: softmax", m, bar=1 / 1.5)
        squared(bench, f"five-point {word}: A A", m, bar=1 / 2)
        m = power_law(n, 16, dtype)
        product(bench, f"power law {word}: SpMV", m, 1)
        transposed(bench, f"power law {word}: A^T x", m)
        product(bench, f"power law {word}: SpMM 32", m, 32)
        sampled(bench, f"power law {word}: SDDMM 32", m, 32)
        softmax(bench, f"power law {word}: softmax", m)
    del m
    product(bench, "five-point 169M: SpMV", five_point(sized(13000, 1000), torch.float64), 1, bar=0.9)
    bench.table.finish()


if __name__ == "__main__":
    main()
