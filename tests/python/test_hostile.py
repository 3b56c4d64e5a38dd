# SPDX-License-Identifier: Apache-2.0
"""What users do that their authors did not think of."""

import gc

import numpy as np
import pytest
import torch

import lacuna
import lacuna.torch as lt

pattern = lacuna.Pattern.from_coo([0, 0, 1, 2, 2], [0, 3, 1, 0, 2], (3, 4))
groups = lacuna.Map([0, 2, 2, -1, 4, 0], 5)
chosen = lacuna.Map([2, 0, 0, 1, 2], 3)


def numbers(*shape):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.manual_seed(sum(shape)))


COMPILED = {
    "segment_mean": (lambda x: lt.segment_mean(groups, x), (6,)),
    "gather_mm of a Map": (lambda a, b: lt.gather_mm(a, b, chosen), (5, 3), (3, 3, 2)),
    "gather_mm of a list": (lambda a, b: lt.gather_mm(a, b, [2, 0, 0, 1, 2]), (5, 3), (3, 3, 2)),
    "segment_mm": (lambda a, b: lt.segment_mm(a, b, [2, 0, 3]), (5, 3), (3, 3, 2)),
    "gather of a list": (lambda x: lt.gather([0, -1, 2], x), (4, 3)),
    "scatter_add of a list": (lambda x: lt.scatter_add([0, 1, 1], x, 4), (3, 3)),
    "tridiagonal_solve": (lambda d, u, b: lt.tridiagonal_solve(u, d + 6, u, b), (5,), (4,), (5,)),
    "toeplitz_mm": (lambda c, r, x: lt.toeplitz_mm(c, r, x, "H"), (5,), (4,), (5,)),
    "banded_outer": (lambda u, v: lt.banded_outer((1, 2), u, v), (5,), (6,)),
    "banded_mm": (lambda a, x: lt.banded_mm((1, 0), a, x), (2, 6), (6, 2)),
    "prod": (lambda x: lt.prod(x, 0), (3, 4)),
    "softmax": (lt.softmax, (3, 4)),
    "matrix_norm": (lambda a: lt.matrix_norm(pattern, a, 2), (5,)),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_are_one_graph(name, dynamic):
    torch._dynamo.reset()
    function, *shapes = COMPILED[name]
    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    inputs = [numbers(*shape).requires_grad_() for shape in shapes]
    got, want = compiled(*inputs), function(*inputs)
    torch.testing.assert_close(got, want)
    for g, w in zip(*(torch.autograd.grad(y.square().sum(), inputs) for y in (got, want))):
        torch.testing.assert_close(g, w)


@pytest.mark.parametrize("frozen", ["ints", "floats"])
def test_frozen_arguments_of_a_compiled_function_may_change(frozen):
    torch._dynamo.reset()
    function = (lambda x, n: lt.slice(x, 0, n)) if frozen == "ints" else (lambda x, p: lt.pow(x, p))
    compiled, x = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager"), numbers(6)
    for value in (2, 3, 4) if frozen == "ints" else (1.5, 2.5, 3.5):
        torch.testing.assert_close(compiled(x, value), function(x, value))


def test_a_compiled_function_keeps_the_maps_that_it_made():
    torch._dynamo.reset()
    compiled = torch.compile(lambda c, x: lt.toeplitz_mm(c, c, x), fullgraph=True, backend="aot_eager")
    want = compiled(numbers(5), numbers(5))
    for n in range(2, 80):  # more than are kept beside it
        lt.toeplitz_mm(numbers(n), numbers(n), numbers(n))
    gc.collect()
    torch.testing.assert_close(compiled(numbers(5), numbers(5)), want)


def test_a_frozen_list_is_no_excuse_for_other_types():
    x = np.arange(4.0)
    assert lacuna.gather([1, 0], x).tolist() == [1, 0]
    for index in ([1.0, 0.0], [True, False], np.ma.array([1, 0], mask=[0, 1]), [[1, 0]]):
        with pytest.raises(lacuna.ArgumentError):
            lacuna.gather(index, x)
        with pytest.raises(lacuna.ArgumentError):
            lacuna.gather_mm(x[:2, None], np.ones((2, 1, 1)), index)
