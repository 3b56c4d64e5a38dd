# SPDX-License-Identifier: Apache-2.0
"""torch.compile(fullgraph=True) around every transform, torch.export, dynamic shapes: the numbers are compared."""

import gc
import weakref

import numpy as np
import pytest
import torch
from reference import CASES, TRANSFORMS, data, dense, same, smooth, values
from torch._dynamo.testing import CompileCounterWithBackend

import lacuna
import lacuna.torch as lt

each = pytest.mark.parametrize("name", CASES)
version = tuple(int(part) for part in torch.__version__.split(".")[:2])


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def compiled(function, backend="aot_eager", **options):
    return torch.compile(function, fullgraph=True, backend=backend, **options)


@each
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_compiled_transforms_equal_the_dense_twin(name, transform):
    if version < (2, 5) and transform.startswith(("hessian", "jac")):
        pytest.skip("this torch cannot compile a hessian")
    case, evaluate = CASES[name], TRANSFORMS[transform]
    inputs = data(case)
    same(compiled(lambda d: evaluate(case.function, d))(inputs), evaluate(case.twin, inputs))


@each
@pytest.mark.parametrize("transform", ["forward", "grad", "vmap_of_grad", "jvp"])
def test_compiled_transforms_on_complex_numbers(name, transform):
    case, evaluate = CASES[name], TRANSFORMS[transform]
    inputs = data(case, torch.complex128)
    same(compiled(lambda d: evaluate(case.function, d))(inputs), evaluate(case.twin, inputs))


@each
def test_inductor(name):
    case = CASES[name]
    a, x = (t.requires_grad_() for t in case.inputs())
    loss = compiled(lambda a, x: smooth(case.function)(a.sin() + a, x), backend="inductor")(a, x)
    expected = smooth(case.twin)(a.sin() + a, x)
    same(loss, expected)
    same(torch.autograd.grad(loss, (a, x)), torch.autograd.grad(expected, (a, x)))


@each
def test_compiled_backward_of_autograd(name):
    """Autograd around a compiled function, and a compiled function of what autograd tracks."""
    case = CASES[name]
    a, x = (t.requires_grad_() for t in case.inputs())
    loss = compiled(smooth(case.function))(a, x)
    expected = smooth(case.twin)(a, x)
    same(torch.autograd.grad(loss, (a, x)), torch.autograd.grad(expected, (a, x)))
    (ga,) = torch.autograd.grad(compiled(smooth(lambda a: case.function(a, x.detach())))(a), a)
    same(ga, torch.autograd.grad(smooth(lambda a: case.twin(a, x.detach()))(a), a)[0])


@each
def test_dynamic_shapes_compile_once(name):
    case = CASES[name]
    counter = CompileCounterWithBackend("aot_eager")
    f = compiled(smooth(case.function), backend=counter, dynamic=True)
    for batch, k in ((2, 3), (4, 3), (7, 9), (3, 8)):
        a, x = (t.requires_grad_() for t in case.inputs(batch_x=(batch,), k=k))
        loss, expected = f(a, x), smooth(case.twin)(a, x)
        same(loss, expected)
        same(torch.autograd.grad(loss, (a, x)), torch.autograd.grad(expected, (a, x)))
    assert counter.frame_count == 1


@each
def test_dynamic_batches_of_values_under_vmap(name):
    case, evaluate = CASES[name], TRANSFORMS["vmap_of_grad"]
    counter = CompileCounterWithBackend("aot_eager")
    f = compiled(lambda d: evaluate(case.function, d), backend=counter, dynamic=True)
    for batch in (2, 4, 9):
        inputs = data(case)
        inputs["A"] = values(case.pattern, batch=(batch,))
        same(f(inputs), evaluate(case.twin, inputs))
    assert counter.frame_count == 1 or version < (2, 6)  # there, torch's own vmap fixes the batch size


def test_dynamic_shapes_that_a_derivative_spreads():
    """sum's derivative is a broadcast to a symbolic shape."""
    pattern = CASES["spmm"].pattern
    counter = CompileCounterWithBackend("aot_eager")
    f = compiled(
        lambda a, x: lt.sum(lt.mul(lt.spmm(pattern, a, x), lt.spmm(pattern, a, x))), backend=counter, dynamic=True
    )
    for batch in (2, 4, 9):
        a, x = values(pattern, batch=(batch,)).requires_grad_(), torch.randn(5, 3, dtype=torch.float64)
        same(torch.autograd.grad(f(a, x), a), torch.autograd.grad((dense(pattern, a) @ x).pow(2).sum(), a))
    assert counter.frame_count == 1


def test_another_pattern_is_another_graph():
    f = compiled(lambda p, a, x: lt.spmm(p, a, x))
    patterns = [lacuna.Pattern.from_coo([0, 1, 1], cols, (2, 3)) for cols in ([0, 1, 2], [2, 0, 1], [1, 1, 0])]
    a, x = torch.randn(3, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    for pattern in patterns + patterns[::-1]:
        same(f(pattern, a, x), dense(pattern, a) @ x)


def test_every_operator_compiles():
    p = CASES["spmm"].pattern
    q = lacuna.Pattern.from_coo([0, 1, 2, 3, 4, 0], [0, 1, 2, 3, 4, 3], (5, 5))
    other = lacuna.Pattern.from_coo([0, 6, 2], [4, 0, 1], (7, 5))
    a, b, c = values(p), values(q), values(other)
    x, u = torch.randn(5, 2, dtype=torch.float64), torch.randn(7, 2, dtype=torch.float64)
    functions = {
        "spmm": lambda: lt.spmm(p, a, u[:, 0], op="T"),
        "sddmm": lambda: lt.sddmm(p, u, x),
        "spgemm": lambda: lt.spgemm(p, a, q, b),
        "sampled_spgemm": lambda: lt.sampled_spgemm(other, p, a, q, b, op_x="N", op_y="T"),
        "spadd": lambda: lt.spadd(p, a, other, c),
        "to_dense": lambda: lt.to_dense(p, a),
        "remap": lambda: lt.remap(p.entries, a, op="T"),
        "trisolve": lambda: lt.trisolve(q, b, x, triangle="upper"),
        "solve": lambda: lt.solve(q, b, x[:, 0]),
        "arrays": lambda: lt.add(lt.sub(x, lt.scale(0.5, x)), lt.mul(x, lt.conj(x))),
        "reductions": lambda: lt.sum(x, dim=(0,), keepdim=True) + lt.dot(x, x) + lt.reshape(x, (2, 5))[0, :2],
    }
    everything = lambda: {name: function() for name, function in functions.items()}  # noqa: E731
    same(compiled(everything)(), everything())


class Layer(torch.nn.Module):
    def __init__(self, case):
        super().__init__()
        self.case, self.a = case, torch.nn.Parameter(values(case.pattern))

    def forward(self, x):
        return self.case.function(self.a, x).relu()


@each
@pytest.mark.parametrize("strict", [False, True], ids=["nonstrict", "strict"])
def test_export(name, strict):
    if version < (2, 6) and name == "solve":
        pytest.skip("this torch cannot export a function that keeps its output for backward")
    case = CASES[name]
    layer = Layer(case)
    _, x = case.inputs()
    same(torch.export.export(layer, (x,), strict=strict).module()(x), layer(x))
    _, x = case.inputs(batch_x=(4,))
    dynamic = torch.export.export(layer, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=2)},), strict=strict)
    assert any(node.target is torch.ops.lacuna.apply.default for node in dynamic.graph.nodes)
    _, x = case.inputs(batch_x=(9,))
    same(dynamic.module()(x), layer(x))


def test_the_registered_operator_passes_torchs_own_checks():
    case = CASES["spmm"]
    name = lacuna._operators.resolve("spmm", (case.pattern.key,), (0,))
    for batch in ((), (3,)):
        torch.library.opcheck(torch.ops.lacuna.apply.default, (name, (), (), list(case.inputs(batch_a=batch))))


def test_graphs_outlive_the_pattern_and_compiled_code_says_so_when_it_cannot():
    pattern = lacuna.Pattern.from_coo([0, 1], [1, 0], (2, 2))
    a, x = torch.ones(2, dtype=torch.float64, requires_grad=True), torch.ones(2, 1, dtype=torch.float64)

    class Swap(torch.nn.Module):
        def forward(self, a, x):
            return lt.spmm(held[0], a, x)

    held = [pattern]
    exported = torch.export.export(Swap(), (a.detach(), x), strict=False).module()
    same(exported(a.detach(), x), torch.ones(2, 1, dtype=torch.float64))
    (ga,) = torch.autograd.grad(lt.spmm(pattern, a, x).pow(2).sum(), a, create_graph=True)
    family = weakref.ref(pattern.family)
    held.clear()
    del pattern
    gc.collect()
    ga.sum().backward()  # the autograd graph holds what it needs
    same(a.grad, torch.full((2,), 2.0, dtype=torch.float64))
    del ga
    gc.collect()
    assert family() is None
    with pytest.raises(lacuna.StaleError, match="no longer exists"):
        exported(a.detach(), x)


def test_pattern_families_die_without_the_collector():
    gc.disable()
    try:
        pattern = lacuna.Pattern.from_coo(np.arange(4), np.arange(4), (4, 4))
        a, b = (
            torch.ones(4, dtype=torch.float64, requires_grad=True),
            torch.ones(4, 1, dtype=torch.float64, requires_grad=True),
        )
        for function in (lt.spmm, lt.solve):
            (ga,) = torch.autograd.grad(smooth(lambda a, b: function(pattern, a, b))(a, b), a, create_graph=True)
            ga.sum().backward()
            del ga
        family = weakref.ref(pattern.family)
        del pattern
        assert family() is None
    finally:
        gc.enable()


def softmax_twin(pattern, a):
    """softmax of the stored entries of each row, by the dense matrix with -inf elsewhere."""
    _, columns, rows = (torch.tensor(s.copy()) for s in pattern.structure())
    full = torch.full(pattern.shape, -torch.inf, dtype=a.dtype).index_put((rows, columns), a)
    return full.softmax(1)[rows, columns]


def fresh_pattern(n=5):
    rng = np.random.default_rng(n)
    row, col = (np.r_[np.arange(n), rng.integers(0, n, n)] for _ in range(2))
    return lacuna.Pattern.from_coo(row, col, (n, n))


class Derives(torch.nn.Module):
    """Maps and patterns that are made within forward, from a pattern that nothing was made of before."""

    def __init__(self, pattern):
        super().__init__()
        self.pattern = pattern

    def forward(self, a):
        turned, turn = self.pattern.transpose()
        lower, take = self.pattern.tril(-1)
        weights = lt.segment_softmax(self.pattern.row_map(), a)
        there, back = lt.to_dense(turned, lt.remap(turn, a)), lt.to_dense(lower, lt.remap(take, a))
        return weights, there, back, lt.spgemm(self.pattern, a, self.pattern, a)


def derives_twin(pattern, a):
    full = dense(pattern, a)
    _, columns, rows = (torch.tensor(s.copy()) for s in pattern.product(pattern).structure())
    return softmax_twin(pattern, a), full.mT, full.tril(-1), (full @ full)[rows, columns]


def test_maps_made_within_forward_compile():
    pattern = fresh_pattern()
    a = values(pattern).requires_grad_()
    got, expected = compiled(Derives(pattern))(a), derives_twin(pattern, a)
    same(got, expected)
    loss = lambda ys: sum([y.pow(3).sum() for y in ys])  # noqa: E731
    same(torch.autograd.grad(loss(got), a), torch.autograd.grad(loss(expected), a))


@pytest.mark.parametrize("strict", [False, True], ids=["nonstrict", "strict"])
def test_maps_made_within_forward_export(strict):
    pattern = fresh_pattern()
    a = values(pattern)
    exported = torch.export.export(Derives(pattern), (a,), strict=strict).module()
    gc.collect()
    same(exported(a), derives_twin(pattern, a))
