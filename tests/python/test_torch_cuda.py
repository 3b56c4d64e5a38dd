# SPDX-License-Identifier: Apache-2.0
"""CUDA tensors go in and out by pointer and stream. Every test here is named *cuda*, so that it can be run alone."""

import pytest
import torch
from reference import CASES, FORMS, TRANSFORMS, data, dense, rectangular, same, smooth, square, values

import lacuna
import lacuna.torch as lt
from lacuna._core import lib, text

has_cuda = torch.cuda.is_available() and "cuda" in text(lib.lac_backends()).split()
pytestmark = pytest.mark.skipif(not has_cuda, reason="no CUDA device, or liblacuna_cuda.so is missing")
both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])
pattern = rectangular()


def on_cuda(*tensors):
    return tuple(t.detach().cuda().requires_grad_() for t in tensors)


@both
@pytest.mark.parametrize("form", FORMS)
def test_spmm_cuda_equals_cpu(dtype, form):
    a = values(pattern, dtype, (3,))
    x = torch.randn(FORMS[form](dense(pattern, a)).shape[-1], 4, dtype=dtype)
    f = lambda a, x: lt.spmm(pattern, a, x, form)  # noqa: E731
    ga, gx = on_cuda(a, x)
    a.requires_grad_(), x.requires_grad_()
    y = f(ga, gx)
    assert y.is_cuda
    same(y.cpu(), f(a, x))
    same(
        [g.cpu() for g in torch.autograd.grad(smooth(f)(ga, gx), (ga, gx))],
        torch.autograd.grad(smooth(f)(a, x), (a, x)),
    )


@both
def test_other_operators_cuda_equal_cpu(dtype):
    u, v, w = torch.randn(7, 2, dtype=dtype), torch.randn(5, 2, dtype=dtype), torch.randn(2, 7, 1, dtype=dtype)
    for f in [
        lambda u, v, w: lt.sddmm(pattern, u, v),
        lambda u, v, w: lt.sub(lt.add(u, w), lt.mul(lt.conj(u), w)),
        lambda u, v, w: lt.scale(1.5, lt.sum(lt.mul(u, w), (0, 2))),
        lambda u, v, w: lt.dot(v, v),
        lambda u, v, w: lt.remap(pattern.transpose()[1], lt.sddmm(pattern, u, v)),
        lambda u, v, w: lt.sum(lt.reshape(w, (7, 2)), 1, keepdim=True),
    ]:
        cpu, cuda = tuple(t.detach().requires_grad_() for t in (u, v, w)), on_cuda(u, v, w)
        same(f(*cuda).cpu(), f(*cpu))
        grads = [torch.autograd.grad(smooth(f)(*leaves), leaves, allow_unused=True) for leaves in (cuda, cpu)]
        same([g.cpu() for g in grads[0] if g is not None], [g for g in grads[1] if g is not None])


@both
def test_gradcheck_cuda(dtype):
    leaves = on_cuda(values(pattern, dtype), torch.randn(5, 2, dtype=dtype))
    f = lambda a, x: lt.spmm(pattern, a, x)  # noqa: E731
    assert torch.autograd.gradcheck(f, leaves, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, leaves, check_fwd_over_rev=True)


@both
@pytest.mark.parametrize("form", FORMS)
def test_krylov_solve_cuda(dtype, form):
    where = square()
    solver = lacuna.Solver(where, "gmres", preconditioner="jacobi", rtol=1e-14, max_iterations=500)
    a, b = values(where, dtype), torch.randn(where.shape[0], 2, dtype=dtype)
    leaves = on_cuda(a, b)
    f = lambda a, b: lt.solve(solver, a, b, op=form)  # noqa: E731
    x = f(*leaves)
    assert x.is_cuda
    same(x.cpu(), torch.linalg.solve(FORMS[form](dense(where, a)), b))
    assert torch.autograd.gradcheck(f, leaves, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, leaves)


@both
@pytest.mark.parametrize("method", ["auto", "lu", "gmres"])
def test_methods_of_the_host_serve_cuda_tensors(dtype, method):
    """Nothing is refused because of where it lies: values and right-hand sides travel, and the report says so."""
    where = square()
    options = {"preconditioner": "ilu0", "rtol": 1e-14} if method == "gmres" else {}
    solver = lacuna.Solver(where, method, **options)
    a, b = values(where, dtype), torch.randn(where.shape[0], 2, dtype=dtype)
    leaves = on_cuda(a, b)
    f = lambda a, b: lt.solve(solver, a, b)  # noqa: E731
    x = f(*leaves)
    assert x.is_cuda
    same(x.cpu(), torch.linalg.solve(dense(where, a), b))
    assert torch.autograd.gradcheck(f, leaves, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, leaves)


def poisson(n):
    """The five-point matrix of an n x n grid: pattern and values."""
    i = torch.arange(n * n)
    right, down = i[i % n < n - 1], i[i < n * n - n]
    rows, cols = torch.cat([i, right, right + 1, down, down + n]), torch.cat([i, right + 1, right, down + n, down])
    a = torch.where(rows == cols, 4.0, -1.0).double()
    p = lacuna.Pattern.from_coo(rows.numpy(), cols.numpy(), (n * n, n * n))
    return p, lt.remap(p.entries, a)


def test_iterative_solves_set_up_once_and_keep_values_on_the_device_cuda():
    p, a = poisson(40)
    solver = lacuna.Solver(p, "cg", preconditioner="jacobi", rtol=1e-12)
    a, b = on_cuda(a, torch.randn(p.shape[0], 1, dtype=torch.float64))
    before = lacuna.memory_stats("cuda")["values_to_host_bytes"]
    x = lt.solve(solver, a, b)
    ga, gb = torch.autograd.grad(x.square().sum(), (a, b), create_graph=True)
    torch.autograd.grad(ga.square().sum() + gb.square().sum(), (a, b))
    assert solver.report["setups"] == 1
    assert lacuna.memory_stats("cuda")["values_to_host_bytes"] == before


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_cuda(transform):
    case, evaluate = CASES["spmm"], TRANSFORMS[transform]
    inputs = data(case)
    got = evaluate(case.function, {name: t.cuda() for name, t in inputs.items()})
    same(torch.utils._pytree.tree_map(lambda t: t.cpu(), got), evaluate(case.twin, inputs))


@pytest.mark.parametrize("transform", ["forward", "grad", "vmap_of_grad", "jvp", "hessian"])
def test_compiled_transforms_cuda(transform):
    torch._dynamo.reset()
    case, evaluate = CASES["spmm"], TRANSFORMS[transform]
    inputs = data(case)
    f = torch.compile(lambda d: evaluate(case.function, d), fullgraph=True, backend="aot_eager")
    got = f({name: t.cuda() for name, t in inputs.items()})
    same(torch.utils._pytree.tree_map(lambda t: t.cpu(), got), evaluate(case.twin, inputs))


def large():
    """A matrix large enough that kernels overlap and sums have many terms."""
    n = 20_000
    rows = torch.arange(n).repeat_interleave(8)
    cols = (rows * 7 + torch.randint(0, 50, rows.shape)) % n
    p = lacuna.Pattern.from_coo(rows.numpy(), cols.numpy(), (n, n))
    return p, torch.randn(p.nnz, dtype=torch.float64), torch.randn(4, n, 8, dtype=torch.float64)


def test_gradients_are_the_same_bits_from_run_to_run_cuda():
    p, a, x = large()
    a, x = on_cuda(a, x)
    runs = [torch.autograd.grad(smooth(lambda a, x: lt.spmm(p, a, x))(a, x), (a, x)) for _ in range(4)]
    for run in runs[1:]:
        assert all(torch.equal(first, again) for first, again in zip(runs[0], run))


def test_work_is_on_the_current_stream_cuda():
    p, a, x = large()
    expected = lt.spmm(p, a, lt.spmm(p, a, x))
    a, x = a.cuda(), x.cuda()
    lt.spmm(p, a, x * 1.0)  # the pattern is on the device, kernels are loaded
    stream, pending = torch.cuda.Stream(), []
    for _ in range(3):
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            late = x * 1.0  # not there yet when the product is asked for
            y = lt.spmm(p, a, lt.spmm(p, a, late))
            pending.append(not stream.query())
        stream.synchronize()
        same(y.cpu(), expected)
    assert any(pending), "every call waited for the device"


def test_backward_runs_on_the_stream_of_forward_cuda():
    p, a, x = large()
    a, x = on_cuda(a, x)
    stream = torch.cuda.Stream()
    expected = torch.autograd.grad(lt.spmm(p, a, x).sin().sum(), (a, x))
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        loss = lt.spmm(p, a, x).sin().sum()
    got = torch.autograd.grad(loss, (a, x))
    torch.cuda.synchronize()
    assert all(torch.equal(g, e) for g, e in zip(got, expected))


def test_mixed_devices_and_wrong_shapes_are_refused_cuda():
    a, x = values(pattern), torch.randn(5, 2, dtype=torch.float64)
    with pytest.raises(lacuna.DeviceError, match=r"x lies on cuda:0 and a on cpu"):
        lt.spmm(pattern, a, x.cuda())
    with pytest.raises(lacuna.ShapeError):
        lt.spmm(pattern, a.cuda(), torch.randn(4, 2, dtype=torch.float64).cuda())


def test_empty_sizes_cuda():
    none = lacuna.Pattern.from_coo([], [], (3, 4))
    a, x = on_cuda(torch.zeros(0, dtype=torch.float64), torch.ones(4, 2, dtype=torch.float64))
    y = lt.spmm(none, a, x)
    y.sum().backward()
    same(
        (y.cpu(), a.grad.cpu(), x.grad.cpu()),
        (torch.zeros(3, 2).double(), torch.zeros(0).double(), torch.zeros(4, 2).double()),
    )


@pytest.mark.parametrize("kind", [torch.int32, torch.int64], ids=["i32", "i64"])
def test_patterns_of_cuda_indices_equal_those_of_the_host(kind):
    torch.manual_seed(1)
    row, col = torch.randint(0, 50, (400,), dtype=kind), torch.randint(0, 70, (400,), dtype=kind)
    here = lacuna.Pattern.from_coo(row.numpy(), col.numpy(), (50, 70))
    before = lacuna.memory_stats("cuda")
    there = lacuna.Pattern.from_coo(row.cuda(), col.cuda(), (50, 70))
    moved = lacuna.memory_stats("cuda")["to_host_bytes"] - before["to_host_bytes"]
    assert moved < 400  # counts and flags, not indices
    a, x = torch.randn(400, dtype=torch.float64), torch.randn(70, 2, dtype=torch.float64)
    summed = lt.remap(there.entries, a.cuda())
    same(lt.spmm(there, summed, x.cuda()).cpu(), lt.spmm(here, lt.remap(here.entries, a), x))
    same(lt.spmm(there, summed, torch.ones(50, 1).double().cuda(), "T").cpu(),
         lt.spmm(here, lt.remap(here.entries, a), torch.ones(50, 1).double(), "T"))
    assert there.same(here) and (there.entries.target == here.entries.target).all()
    offsets, columns, _ = here.structure()
    rows = lacuna.Pattern.from_csr(*(torch.tensor(t, dtype=kind).cuda() for t in (offsets, columns)), (50, 70))
    assert rows.same(here) and rows.entries.is_identity
    offsets, columns, _ = here.transpose()[0].structure()
    cols = lacuna.Pattern.from_csc(*(torch.tensor(t, dtype=kind).cuda() for t in (offsets, columns)), (50, 70))
    assert cols.same(here) and (cols.entries.target == here.transpose()[0].transpose()[1].target).all()


def test_bad_cuda_indices_are_named_as_on_the_host():
    row, col = torch.tensor([0, 1, 7]), torch.tensor([0, 3, 1])
    texts = []
    for place in ("cpu", "cuda"):
        with pytest.raises(lacuna.LacunaError) as raised:
            lacuna.Pattern.from_coo(*(t.to(place) if place == "cuda" else t.numpy() for t in (row, col)), (5, 5))
        texts.append(str(raised.value))
    assert texts[0] == texts[1] and "row[2] = 7" in texts[0]
    with pytest.raises(lacuna.LacunaError, match="one device"):
        lacuna.Pattern.from_coo(row.cuda(), col, (9, 9))
    with pytest.raises(lacuna.LacunaError, match="integers"):
        lacuna.Pattern.from_coo(row.cuda().float(), col.cuda(), (9, 9))


def test_solve_operator_cuda():
    """Products are computed on the device, iterations on the host; values and gradients are those of the host."""
    where = square()
    a, b = values(where, torch.float64), torch.randn(where.shape[0], dtype=torch.float64)

    def solved(device):
        leaves = [t.detach().to(device).requires_grad_() for t in (a, b)]
        x = lt.solve_operator(lambda a, x: lt.spmm(where, a, x), leaves[:1], leaves[1], rtol=1e-13)
        assert x.device == leaves[1].device
        return [t.cpu() for t in (x, *torch.autograd.grad(x.square().sum(), leaves))]

    for here, there in zip(solved("cpu"), solved("cuda")):
        torch.testing.assert_close(there, here, rtol=1e-9, atol=1e-11)


# -- errors of values, which kernels find after their call -----------------------------------------------------------


def triangle():
    """A lower triangle of 3 rows, good values for it, and values with a zero on the diagonal of row 1."""
    p = lacuna.Pattern.from_coo([0, 1, 2, 2], [0, 1, 1, 2], (3, 3))
    good, bad = (torch.tensor([2.0, d, 1.0, 2.0], dtype=torch.float64) for d in (4.0, 0.0))
    return p, good.cuda(), bad.cuda(), torch.ones(3, 1, dtype=torch.float64).cuda()


ZERO = r"trisolve: the diagonal entry of row 1 is zero"


def test_a_zero_pivot_is_raised_by_the_next_call_cuda():
    p, good, bad, b = triangle()
    lt.trisolve(p, good, b)
    before = lacuna.memory_stats("cuda")["waits"]
    x = lt.trisolve(p, bad, b)
    torch.cuda.synchronize()
    assert lacuna.memory_stats("cuda")["waits"] == before
    with pytest.raises(lacuna.SingularError, match=ZERO):
        lt.trisolve(p, good, b)
    assert x.isnan().all()
    same(lt.trisolve(p, good, b).cpu(), lt.trisolve(p, good.cpu(), b.cpu()))
    lt.trisolve(p, bad, b)
    with pytest.raises(lacuna.SingularError, match=ZERO):
        lt.synchronize()
    lt.synchronize()


def test_a_zero_pivot_of_a_backward_is_raised_in_the_callers_thread_cuda():
    p, good, bad, b = triangle()
    a = good.clone().requires_grad_()
    x = lt.trisolve(p, a, b.clone().requires_grad_())
    with torch.no_grad():
        x_bar = torch.ones_like(x)
        a.data.copy_(bad)  # behind autograd's back: the backward meets what the forward did not
    torch.autograd.grad(x, a, x_bar)
    with pytest.raises(lacuna.SingularError, match=ZERO):
        lt.synchronize()


def test_solves_are_captured_and_a_replay_that_fails_is_raised_cuda():
    p, good, bad, b = triangle()
    square = lacuna.Pattern.from_coo([0, 1, 1, 2, 2], [0, 1, 2, 1, 2], (3, 3))
    lu_values = torch.tensor([3.0, 4.0, 1.0, 1.0, 4.0], dtype=torch.float64).cuda()
    circulant = torch.tensor([4.0, 1.0, 0.0], dtype=torch.float64).cuda()
    band = torch.tensor([[0.0, 1, 1], [4, 4, 4], [1, 1, 0]], dtype=torch.float64).cuda()

    def calls():
        return (
            lt.trisolve(p, values, b),
            lt.lu_values(square, lu_values),
            lt.banded_solve((1, 1), band, b),
            lt.circulant_solve(circulant, b),
        )

    values = good.clone()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        expected = calls()  # indices come to the device, kernels are loaded
    torch.cuda.current_stream().wait_stream(stream)
    lt.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = calls()
    for _ in range(2):
        graph.replay()
        lt.synchronize()
        same([t.cpu() for t in got], [t.cpu() for t in expected])
        values.copy_(bad)
        for _ in range(2):
            graph.replay()
            torch.cuda.synchronize()
            with pytest.raises(lacuna.SingularError, match=ZERO):
                lt.scale(2.0, b)
        assert got[0].isnan().all() and not got[1].isnan().any()
        values.copy_(good)
