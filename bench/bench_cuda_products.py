# SPDX-License-Identifier: Apache-2.0
"""Products and groups of CUDA tensors beside torch and CuPy on the same device, one run.

Matrices: tridiag(-1, 2, -1) of numml's Table 2 in f32, the five-point matrix of 4 million unknowns, and rows whose
lengths follow a power law (a few of some ten thousand entries among many of a few). Each library gets the same CSR on
the device and makes its results anew. Times are medians between CUDA events; the peer of a row is the faster of the
two. Shares are of what a copy on the device moves, over the bytes that must be moved: every array once.
"""

import statistics
import sys

import numpy as np
import torch
from support import Table, peer_call, sized

import lacuna
import lacuna.torch as lt

try:
    import cupy
    import cupyx.scipy.sparse as cusparse
except ImportError:
    cupy = None
    print("CuPy is left out: it is not installed")


def seconds(f, rounds=11):
    """The median time of a call on the device."""
    times = []
    for _ in range(3):
        f()
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        f()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
    return statistics.median(times)


def copy_bandwidth():
    x = torch.zeros(1 << 28, dtype=torch.float64, device="cuda")
    y = torch.empty_like(x)
    return 2 * x.nbytes / seconds(lambda: y.copy_(x))


class Matrix:
    """One matrix for all three libraries. CuPy works on torch's stream and in torch's memory."""

    def __init__(self, offsets, columns, values, shape):
        self.offsets, self.columns, self.a, self.shape = offsets, columns, values, shape
        self.pattern = lacuna.Pattern.from_csr(offsets, columns, shape)
        self.torch = torch.sparse_csr_tensor(offsets, columns, values, shape, check_invariants=False)
        if cupy:
            parts = [cupy.asarray(t) for t in (values, columns, offsets)]
            self.cupy = cusparse.csr_matrix(tuple(parts), shape=shape)

    @property
    def bytes(self):
        return self.a.nbytes + self.columns.nbytes + self.offsets.nbytes


def by_lengths(lengths, columns, n, dtype):
    offsets = torch.zeros(len(lengths) + 1, dtype=torch.int32, device="cuda")
    offsets[1:] = torch.cumsum(lengths, 0)
    values = torch.randn(columns.numel(), dtype=dtype, device="cuda")
    return Matrix(offsets, columns.int(), values, (len(lengths), n))


def tridiagonal(n):
    i = torch.arange(n, device="cuda")
    columns = torch.stack([i - 1, i, i + 1], 1)
    is_here = (columns >= 0) & (columns < n)
    m = by_lengths(is_here.sum(1), columns[is_here], n, torch.float32)
    m.a.copy_(torch.tensor([-1.0, 2.0, -1.0], device="cuda").expand(n, 3)[is_here])
    return m


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


class Bench:
    def __init__(self):
        self.bandwidth, self.table = copy_bandwidth(), Table("cuda_products")
        print(f"copy: {self.bandwidth * 1e-9:.0f} GB/s")

    def row(self, name, m, ours, peers, bytes, bar=None, within=None):
        """`ours` and the functions of `peers` give the same numbers; `bar` is a share of the bandwidth, `within` the
        most seconds. A row is at least as fast as its peers."""
        mine, dtype = seconds(ours), {torch.float32: "f32", torch.float64: "f64"}[m.a.dtype]
        times = {peer: seconds(f) for peer, f in peers.items() if peer_call(f)}
        peer = min(times, key=times.get, default=None)
        residual = self.residual(ours(), peers, dtype)
        share = bytes / mine / self.bandwidth
        ok = (bar is None or share >= bar) and (within is None or mine <= within)
        bars = ([] if bar is None else [f"{bar:.0%} of a copy"]) + ([] if within is None else [f"{within * 1e3:g} ms"])
        told = ", ".join(f"{p} {t * 1e3:.3f} ms" for p, t in times.items())
        self.table.at_least(1, name, n=m.shape[0], ours=mine, peer=peer, peer_s=times.get(peer), residual=residual,
                            limit={"f32": 2e-5, "f64": 1e-13}[dtype], dtype=dtype, device="cuda",
                            gbps=bytes / mine * 1e-9, share=share, ok=ok)  # fmt: skip
        print(f"    {told}; bars: {', '.join(bars) or 'none'} and the peers")

    @staticmethod
    def residual(mine, peers, dtype):
        """The largest difference from a peer, relative to the largest number; a sample of large results."""
        worst = 0.0
        for f in peers.values():
            other = f()
            other = other if isinstance(other, torch.Tensor) else torch.as_tensor(other, device="cuda")
            a, b = mine.reshape(-1)[:: 1 + mine.numel() // 10**7], other.reshape(-1)[:: 1 + mine.numel() // 10**7]
            worst = max(worst, ((a - b).abs().max() / b.abs().max()).item())
        return worst


def with_cupy(peers, f):
    """The peers, and CuPy's function where it is there."""
    return {**peers, "CuPy": f} if cupy else peers


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


def backward(bench, m, k):
    """Forward and both gradients of an spmm; torch's takes a dense matrix for the gradient of a CSR tensor."""
    x = torch.randn(m.shape[1], k, dtype=m.a.dtype, device="cuda").requires_grad_()
    a, y_bar = m.a.clone().requires_grad_(), torch.randn(m.shape[0], k, dtype=m.a.dtype, device="cuda")

    def ours():
        return torch.autograd.grad(lt.spmm(m.pattern, a, x), (a, x), y_bar)[1]

    matrix = m.torch.detach().requires_grad_()

    def theirs():
        return torch.autograd.grad(matrix @ x, (matrix, x), y_bar)[1]

    size = 3 * m.bytes + 3 * (x.nbytes + y_bar.nbytes)
    bench.row(f"tridiagonal: SpMM {k} and gradients", m, ours, {"torch": theirs}, size)


def main():
    if not torch.cuda.is_available():
        sys.exit("skip: no CUDA device")
    if cupy:
        cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream).use()
    np.random.seed(1)
    torch.manual_seed(1)
    bench = Bench()
    side, n = sized(2000, 500), sized(1 << 20, 1 << 16)
    product(bench, "tridiagonal: SpMV", tridiagonal(32768), 1)
    product(bench, "tridiagonal: SpDMM", tridiagonal(16384), 16384, within=0.65e-3)
    backward(bench, tridiagonal(16384), 128)
    for dtype in (torch.float64, torch.float32):
        m = five_point(side, dtype)
        word = "f64" if dtype == torch.float64 else "f32"
        product(bench, f"five-point {word}: SpMV", m, 1)
        transposed(bench, f"five-point {word}: A^T x", m)
        product(bench, f"five-point {word}: SpMM 32", m, 32, bar=0.75)
        product(bench, f"five-point {word}: SpMM 128", m, 128, bar=0.75)
        sampled(bench, f"five-point {word}: SDDMM 32", m, 32, bar=0.7)
        softmax(bench, f"five-point {word}: softmax", m, bar=1 / 1.5)
        m = power_law(n, 16, dtype)
        product(bench, f"power law {word}: SpMV", m, 1)
        transposed(bench, f"power law {word}: A^T x", m)
        product(bench, f"power law {word}: SpMM 32", m, 32)
        sampled(bench, f"power law {word}: SDDMM 32", m, 32)
        softmax(bench, f"power law {word}: softmax", m)
    bench.table.finish()


if __name__ == "__main__":
    main()
