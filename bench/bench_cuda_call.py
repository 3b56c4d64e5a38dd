# SPDX-License-Identifier: Apache-2.0
"""What a call on CUDA tensors costs the host, from torch: products with a tridiagonal matrix of 1000 rows, beside
torch's own CSR product and dense product.

A round is many calls in a row, in which nobody waits for the device: what is timed is the host, which must stay ahead
of the device. The device is waited for between rounds. Each row is the best mean of many rounds, in turn with its
peer's; a call that waits for the device or copies between it and the host is wrong.
"""

import sys
import time
import warnings

import torch
from support import Table, peer_call, sized

import lacuna
import lacuna.torch as lt

N, CALLS = 1000, 200  # fewer calls than a stream takes before it makes the host wait


def seconds(function):
    """The mean time of a call on the host."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        function()
    spent = time.perf_counter() - begin
    torch.cuda.synchronize()
    return spent / CALLS


def in_turns(*functions):
    best = [float("inf") if f else None for f in functions]
    for _ in range(sized(30, 8)):
        for i, f in enumerate(functions):
            best[i] = min(best[i], seconds(f)) if f else None
    return best


def transfers():
    stats = lacuna.memory_stats("cuda")
    return stats["to_host_bytes"] + stats["to_device_bytes"] + stats["waits"]


def tridiagonal():
    """The pattern, the values and the CSR tensor of a matrix on the device."""
    i = torch.arange(N, device="cuda")
    columns = torch.stack([i - 1, i, i + 1], 1)
    is_here = (columns >= 0) & (columns < N)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64, device="cuda"), is_here.sum(1).cumsum(0)])
    values = torch.randn(int(offsets[-1]), dtype=torch.float64, device="cuda")
    pattern = lacuna.Pattern.from_csr(offsets, columns[is_here], (N, N))
    with warnings.catch_warnings():  # torch says once that its CSR support is in beta
        warnings.simplefilter("ignore", UserWarning)
        return pattern, values, torch.sparse_csr_tensor(offsets, columns[is_here], values, (N, N))


def row(table, name, ours, expected, peer, call, microseconds=None):
    """`ours` gives `expected`, tuples of tensors, and is under its bar."""
    got = ours()
    residual = max(((g - e).abs().max() / e.abs().max()).item() for g, e in zip(got, expected))
    before = transfers()
    ours_s, peer_s = in_turns(ours, peer_call(call))
    moved = transfers() - before
    bar = f"under {microseconds} us" if microseconds else ""
    table.row(name, n=N, ours=ours_s, peer=peer, peer_s=peer_s, residual=residual if moved == 0 else float("inf"),
              device="cuda", ok=microseconds is None or ours_s <= 1e-6 * microseconds, bar=bar)  # fmt: skip
    if moved:
        print(f"    {moved} bytes were copied, or waits counted, where there should be none")


def main():
    if not torch.cuda.is_available():
        sys.exit("skip: no CUDA device")
    torch.manual_seed(1)
    table, (pattern, a, csr) = Table("cuda_call"), tridiagonal()
    x, bar = (torch.randn(N, 1, dtype=torch.float64, device="cuda") for _ in range(2))
    la, lx = a.clone().requires_grad_(), x.clone().requires_grad_()
    full = csr.to_dense()
    lf, y = full.clone().requires_grad_(), full @ x
    at = torch.repeat_interleave(torch.arange(N, device="cuda"), csr.crow_indices().diff())
    bars = bar[at, 0] * x[csr.col_indices(), 0], full.T @ bar

    row(table, "spmm, no gradient", lambda: (lt.spmm(pattern, a, x),), (y,), "torch CSR", lambda: csr @ x, 25)
    row(table, "spmm, backward recorded", lambda: (lt.spmm(pattern, la, lx).detach(),), (y,), "torch dense",
        lambda: lf @ lx, 60)  # fmt: skip
    row(table, "spmm, forward + backward", lambda: torch.autograd.grad(lt.spmm(pattern, la, lx), (la, lx), bar), bars,
        "torch dense", lambda: torch.autograd.grad(lf @ lx, (lf, lx), bar))  # fmt: skip
    row(table, "segment_softmax, no gradient", lambda rows=pattern.row_map(): (lt.segment_softmax(rows, a),),
        (torch.sparse.softmax(csr.to_sparse_coo(), 1).coalesce().values(),), "torch dense",
        lambda: torch.softmax(full, 1), 25)  # fmt: skip
    table.finish()


if __name__ == "__main__":
    main()
