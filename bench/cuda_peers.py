# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of CUDA tensors beside torch and CuPy share: matrices that all three have, times, rows.

Each library gets the same CSR on the device and makes its results anew. A time is the mean of calls in a row, as long
as some two milliseconds, between CUDA events: the device does not wait for the host to wake up, but it does wait for
one that needs longer for a call than the device (bench_cuda_call.py times the host alone). It is the median of rounds;
the peer of a row is the faster of the two.
"""

import statistics
import sys

import numpy as np
import torch
from support import Table, peer_call

import lacuna

try:
    import cupy
    import cupyx.scipy.sparse as cusparse
except ImportError:
    cupy = None
    print("CuPy is left out: it is not installed")


def begin():
    """Seeds, and CuPy on torch's stream; the end where there is no device."""
    if not torch.cuda.is_available():
        sys.exit("skip: no CUDA device")
    if cupy:
        cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream).use()
    np.random.seed(1)
    torch.manual_seed(1)


def of_calls(f, calls):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(calls):
        f()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3 / calls


def seconds(f, rounds=11):
    """The median time of a call, of calls in a row."""
    for _ in range(3):
        f()
    calls = max(1, min(50, int(2e-3 / of_calls(f, 1))))
    return statistics.median(of_calls(f, calls) for _ in range(rounds))


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


def numbers(result):
    """What is compared of a result: a tensor, or the values of a sparse matrix, row by row."""
    if isinstance(result, torch.Tensor):
        if result.layout != torch.sparse_csr:
            return result
        coo = result.to_sparse_coo().coalesce()
        return coo.values()
    if cupy and cusparse.issparse(result):
        result.sort_indices()
        result = result.data
    return torch.as_tensor(result, device="cuda")


class Bench:
    def __init__(self, name):
        self.bandwidth, self.table = copy_bandwidth(), Table(name)
        print(f"copy: {self.bandwidth * 1e-9:.0f} GB/s")

    def row(self, name, m, ours, peers, bytes, bar=None, within=None, factor=1):
        """`ours` and the functions of `peers` give the same numbers; `bar` is a share of the bandwidth, `within` the
        most seconds. A row is `factor` times as fast as its peers, and its answer is right."""
        mine, dtype = seconds(ours), {torch.float32: "f32", torch.float64: "f64"}[m.a.dtype]
        times = {peer: seconds(f) for peer, f in peers.items() if peer_call(f)}
        peer = min(times, key=times.get, default=None)
        residual = self.residual(ours(), peers)
        share = bytes / mine / self.bandwidth
        ok = (bar is None or share >= bar) and (within is None or mine <= within)
        bars = ([] if bar is None else [f"{bar:.0%} of a copy"]) + ([] if within is None else [f"{within * 1e3:g} ms"])
        told = ", ".join(f"{p} {t * 1e3:.3f} ms" for p, t in times.items())
        self.table.at_least(factor, name, n=m.shape[0], ours=mine, peer=peer, peer_s=times.get(peer), residual=residual,
                            limit={"f32": 2e-5, "f64": 1e-13}[dtype], dtype=dtype, device="cuda",
                            gbps=bytes / mine * 1e-9, share=share, ok=ok)  # fmt: skip
        print(f"    {told}; bars: {', '.join(bars) or 'none'} and the peers")

    @staticmethod
    def residual(mine, peers):
        """The largest difference from a peer, relative to the largest number; a sample of large results."""
        worst = 0.0
        for f in peers.values():
            other = numbers(f())
            a, b = mine.reshape(-1)[:: 1 + mine.numel() // 10**7], other.reshape(-1)[:: 1 + mine.numel() // 10**7]
            worst = max(worst, ((a - b).abs().max() / b.abs().max()).item())
        return worst


def with_cupy(peers, f):
    """The peers, and CuPy's function where it is there."""
    return {**peers, "CuPy": f} if cupy else peers
