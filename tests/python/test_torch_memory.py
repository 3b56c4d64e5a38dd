# SPDX-License-Identifier: Apache-2.0
"""Streams and memory that Lacuna shares with torch: temporary memory is torch's, nothing copies or waits unasked, and
graphs of CUDA can be captured. What needs a device is named *cuda*."""

import pytest
import torch
from reference import same

import lacuna
import lacuna.torch as lt
from lacuna._core import WAITING, ffi, lib, text
from lacuna.torch import _memory

has_cuda = torch.cuda.is_available() and "cuda" in text(lib.lac_backends()).split()
on_cuda = pytest.mark.skipif(not has_cuda, reason="no CUDA device, or liblacuna_cuda.so is missing")


def test_memory_is_asked_of_torch(monkeypatch):
    asked = []
    monkeypatch.setattr(_memory, "cuda_allocate", lambda *given: asked.append(given) or 4096)
    monkeypatch.setattr(_memory, "cuda_release", asked.append)
    monkeypatch.setattr(_memory, "cuda_trim", lambda: asked.append("trim"))
    source, stream = _memory._source, ffi.cast("void *", 77)
    block = source.allocate(ffi.NULL, 1, 1000, stream)
    source.release(ffi.NULL, 1, block, 1000, stream)
    source.trim(ffi.NULL, 1)
    assert int(ffi.cast("uintptr_t", block)) == 4096 and asked == [(1, 1000, 77), 4096, "trim"]


@pytest.mark.parametrize("error", [torch.cuda.OutOfMemoryError, KeyboardInterrupt])
def test_what_torch_raises_is_not_lost(monkeypatch, error):
    """C says that memory is exhausted; anything else is raised when C is back."""

    def fail(*_given):
        raise error

    monkeypatch.setattr(_memory, "cuda_allocate", fail)
    assert _memory._source.allocate(ffi.NULL, 0, 1000, ffi.NULL) == ffi.NULL
    waiting = [type(what) for _, what in WAITING]
    WAITING.clear()
    assert waiting == ([] if error is torch.cuda.OutOfMemoryError else [error])


def problem(n=20_000):
    """A matrix that keeps the device busy for a moment, and a block of vectors; both on the device."""
    rows = torch.arange(n).repeat_interleave(8)
    cols = (rows * 7 + torch.randint(0, 50, rows.shape)) % n
    pattern = lacuna.Pattern.from_coo(rows.numpy(), cols.numpy(), (n, n))
    a, x = torch.randn(pattern.nnz, dtype=torch.float64), torch.randn(n, 8, dtype=torch.float64)
    return pattern, a.cuda().requires_grad_(), x.cuda().requires_grad_()


def step_of(pattern, a, x):
    """Two products and their gradients."""

    def step():
        y = lt.spmm(pattern, a, lt.spmm(pattern, a, x), "T")
        return (y, *torch.autograd.grad(y.sin().sum(), (a, x)))

    return step


@on_cuda
def test_products_and_gradients_make_no_copies_cuda():
    """Neither a copy between host and device nor a moment of waiting, by Lacuna's counters and by torch's watch."""
    step = step_of(*problem())
    step()  # the pattern and its transpose are on the device from now on
    counted = ("to_host_bytes", "to_device_bytes", "waits")
    before = lacuna.memory_stats("cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(5):
            step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    after = lacuna.memory_stats("cuda")
    assert {name: after[name] - before[name] for name in counted} == dict.fromkeys(counted, 0)


@on_cuda
def test_memory_of_streams_comes_from_torch_cuda():
    x = torch.randn(1 << 22, dtype=torch.float64, device="cuda")
    lt.mean(x)
    ours, torchs = lacuna.memory_stats("cuda"), torch.cuda.memory_stats()
    for _ in range(5):
        lt.mean(x)  # one result, which is a tensor, of several steps
    taken = lacuna.memory_stats("cuda")["allocations"] - ours["allocations"]
    given = torch.cuda.memory_stats()["allocation.all.allocated"] - torchs["allocation.all.allocated"]
    assert taken >= 5 and given == taken + 5
    assert lacuna.memory_stats("cuda")["live_bytes"] == ours["live_bytes"]


def captured(step):
    """A graph of what a function does, and its results, which replaying fills anew. As torch's notes on graphs say."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step()
    return graph, results


@on_cuda
def test_a_graph_of_products_and_gradients_is_captured_cuda():
    pattern, a, x = problem()
    step = step_of(pattern, a, x)
    graph, results = captured(step)
    for seed in range(3):
        torch.manual_seed(seed)
        with torch.no_grad():
            a.copy_(torch.randn_like(a)), x.copy_(torch.randn_like(x))
        graph.replay()
        for got, expected in zip(results, step()):
            assert torch.equal(got, expected)


@on_cuda
def test_a_graph_of_several_steps_is_captured_cuda():
    """Memory that is needed for a moment belongs to the graph."""
    x = torch.randn(1 << 22, dtype=torch.float64, device="cuda")
    graph, (result,) = captured(lambda: (lt.mean(lt.mul(x, x)),))
    for factor in (1.0, 2.0):
        x.mul_(factor)
        noise = [torch.randn(1 << 16, device="cuda") for _ in range(8)]  # in no memory of the graph's
        graph.replay()
        same(result.cpu(), (x * x).mean().cpu())
        del noise


@on_cuda
def test_compiled_graphs_reduce_overhead_cuda():
    pytest.importorskip("triton")
    torch._dynamo.reset()
    pattern, a, x = problem(500)

    def loss(a, x):
        return lt.spmm(pattern, a, lt.spmm(pattern, a, x).relu()).square().sum()

    compiled = torch.compile(loss, mode="reduce-overhead")
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        got = torch.autograd.grad(compiled(a, x), (a, x))
        for one, expected in zip(got, torch.autograd.grad(loss(a, x), (a, x))):
            torch.testing.assert_close(one, expected)
        with torch.no_grad():
            a.mul_(0.9)
