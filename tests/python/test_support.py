# SPDX-License-Identifier: Apache-2.0
"""Every function of lacuna.torch in every dtype, two orders, vmap and compile. What passes is in docs/support.md."""

import numpy as np
import pytest
import torch
from reference import same
from test_functions import CASES as COMPOSED
from test_functions import A, MAP, N, P, S, SYMMETRIC, T, TALL, X, numbers
from torch.utils._pytree import tree_flatten, tree_unflatten

import lacuna
import lacuna.torch as lt
from lacuna import _numpy, _operators

V, W = X[:, 0], X[:, 1]
BAND, FIRST = 9 * (np.arange(3) == 1)[:, None], 9 * (np.arange(N) == 0)  # what makes them diagonally dominant
POSITIVE = np.abs(X) + 0.5
SELL = TALL.to_sell(slice=2)
FULL = lacuna.Map([0, 2, 2, 0, 3, 1], 4)  # an empty group has an infinite maximum
EXACT = torch.tensor(N**0.5 * np.eye(N))  # probes that leave nothing to chance; a tensor is frozen here
ONE = "abs conj cos exp expm1 heaviside imag magnitude real relu sigmoid sign sin softplus softmax tanh".split()
TWO = "add sub mul equal not_equal less less_equal greater greater_equal dot".split()
REDUCTIONS = "sum max min logsumexp cumsum".split()
CASES = COMPOSED | {
    **{name: lambda f: f(X) for name in ONE}, **{name: lambda f: f(POSITIVE) for name in ("log", "log1p", "sqrt")},
    **{name: lambda f: f(X, X[::-1].copy()) for name in TWO}, **{name: lambda f: f(X, 0) for name in REDUCTIONS},
    "div": lambda f: f(X, POSITIVE), "div_or_zero": lambda f: f(X, POSITIVE), "pow": lambda f: f(POSITIVE, X),
    "compare": lambda f: f(X, POSITIVE, "lt"), "where": lambda f: f(X > 0, X, POSITIVE),
    "select": lambda f: f(X > 0, X), "clamp": lambda f: f(X, -10.0, 10.0), "scale": lambda f: f(-2.5, X),
    "cast": lambda f: f(X, torch.complex128), "slice": lambda f: f(X, 0, 1, 5, 2), "reshape": lambda f: f(X, (9, 2)),
    "gather": lambda f: f([3, 0, -1], X), "scatter_add": lambda f: f([3, 0, -1, 0, 1, 2], X, 4),
    "matmul": lambda f: f(X, X, "T", "N"), "gather_mm": lambda f: f(X, numbers(2, 3, 4), [0, 1, 1, 0, 1, 0]),
    "segment_mm": lambda f: f(X, numbers(2, 3, 4), [4, 2]), "gather_outer": lambda f: f(MAP, X, X),
    "spmm": lambda f: f(P, A, X, "H"), "sddmm": lambda f: f(P, X, X), "solve": lambda f: f(P, A, X, "T"),
    "sampled_spgemm": lambda f: f(SYMMETRIC, P, A, P, A, "N", "T"), "remap": lambda f: f(MAP, V),
    "sell_mm": lambda f: f(SELL, numbers(SELL.size), X[:3]), "selected_inverse": lambda f: f(P, A),
    "lu_values": lambda f: f(SYMMETRIC, S), "lu_values_adjoint": lambda f: f(SYMMETRIC, S, S),
    "segment_sum": lambda f: f(MAP, V), "segment_dot": lambda f: f(MAP, V, W),
    "segment_scale": lambda f: f(MAP, V[:4], W),
    **{f"segment_{name}": lambda f: f(FULL, V) for name in ("max", "min", "logsumexp", "softmax", "ties")},
    "sparse_bidir_logsumexp": lambda f: f(TALL, T), "logdet_estimate": lambda f: f(SYMMETRIC, S, EXACT),
    "sparse_min": lambda f: f(P, A, 0, True, False), "probes": lambda f: f(X, 4, 2, 1),
    "banded_outer": lambda f: f((1, 1), X, X), "banded_solve": lambda f: f((1, 1), numbers(3, N) + BAND, X),
    "circulant_mm": lambda f: f(V, X), "circulant_outer": lambda f: f(X, X),
    "circulant_solve": lambda f: f(V + FIRST, X),
}  # fmt: skip
DTYPES = {"f32": torch.float32, "f64": torch.float64, "c64": torch.complex64, "c128": torch.complex128}
OF_REALS = {  # they refuse complex numbers, which have no order
    *"clamp expm1 heaviside less less_equal greater greater_equal compare log1p log_softmax logsumexp max min".split(),
    *"relu segment_logsumexp segment_max segment_min segment_softmax segment_ties softmax softplus".split(),
    *"sparse_bidir_logsumexp sparse_logsumexp sparse_max sparse_min sparse_softmax".split(),
}
each = pytest.mark.parametrize("name", sorted(CASES))


class Call:
    """The function of lacuna.torch that a case calls, as a function of the tensors that it takes alone."""

    def __init__(self, name):
        CASES[name](self._take)
        self.name = name

    def _take(self, *arguments, **named):
        self.leaves, self.tree = tree_flatten((arguments, named))
        kinds = [leaf.dtype.kind if isinstance(leaf, np.ndarray) else "" for leaf in self.leaves]
        self.places = [i for i, kind in enumerate(kinds) if kind == "f"]
        self.leaves = [torch.tensor(leaf) if kind == "b" else leaf for leaf, kind in zip(self.leaves, kinds)]

    def inputs(self, dtype=torch.float64):
        """Complex ones have an imaginary part that is a third of other numbers."""
        made = []
        for x in (self.leaves[i] for i in self.places):
            numbers = x + 0.3j * np.flip(x) if dtype.is_complex else x
            made.append(torch.tensor(numbers).to(dtype).requires_grad_())
        return made

    def __call__(self, *tensors):
        leaves = [one.to(tensors[0].dtype) if one is EXACT else one for one in self.leaves]
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        arguments, named = tree_unflatten(leaves, self.tree)
        result = getattr(lt, self.name)(*arguments, **named)
        return result[0] if self.name == "logdet_estimate" else result  # its standard error has no derivative


def parts(result):
    return result if isinstance(result, tuple) else (result,)


def gradient(result, inputs):
    """Of the sum of the squares of all results, by all inputs."""
    loss = sum((part * part.conj()).real.sum() for part in parts(result))
    return torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True) if loss.requires_grad else ()


def test_every_function_has_a_case():
    assert set(CASES) == set(_operators.of(_numpy, "lacuna")) - {"apply"}


@each
@pytest.mark.parametrize("dtype", ["f64", "c128"])
def test_derivatives(name, dtype, record_property):
    call = Call(name)
    if name in OF_REALS and dtype == "c128":
        with pytest.raises(lacuna.DtypeError):
            call(*call.inputs(DTYPES[dtype]))
        return
    point, order = call.inputs(DTYPES[dtype]), 0
    if any(part.requires_grad for part in parts(call(*point))):
        assert torch.autograd.gradcheck(call, point, check_forward_ad=True, fast_mode=True)
        order = 1
    if order and name == "matrix_norm":
        with pytest.raises(lacuna.OrderError):
            torch.autograd.gradgradcheck(call, point, fast_mode=True)
    elif order:
        assert torch.autograd.gradgradcheck(call, point, fast_mode=True)
        order = 2
    record_property("count", f"function={name} dtype={dtype} order={order}")


@each
@pytest.mark.parametrize("dtype", ["f32", "c64"])
def test_single_precision(name, dtype, record_property):
    """Beside double precision, on the same numbers."""
    call, double = Call(name), {"f32": "f64", "c64": "c128"}[dtype]
    if name in OF_REALS and dtype == "c64":
        with pytest.raises(lacuna.DtypeError):
            call(*call.inputs(DTYPES[dtype]))
        return
    found = []
    for of in (dtype, double):
        point = call.inputs(DTYPES[of])
        result = call(*point)
        found.append([part.detach() for part in (*parts(result), *gradient(result, point))])
    for single, expected in zip(*found):
        torch.testing.assert_close(single.to(expected.dtype), expected, rtol=1e-3, atol=1e-3)
    record_property("count", f"function={name} dtype={dtype} order=1")


@each
def test_vmap(name, record_property):
    call = Call(name)
    batch = [torch.stack([x, 1.25 * x, 1.5 * x]).detach() for x in call.inputs()]
    mapped, single = torch.func.vmap(call)(*batch), [parts(call(*[x[i] for x in batch])) for i in range(3)]
    for got, expected in zip(parts(mapped), zip(*single), strict=True):
        same(got, torch.stack(expected))
    record_property("count", f"function={name} vmap=1")


@each
def test_compile(name, record_property):
    torch._dynamo.reset()
    call = Call(name)
    point = call.inputs()
    compiled = torch.compile(lambda *tensors: call(*tensors), fullgraph=True, backend="aot_eager")
    got, expected = compiled(*point), call(*point)
    same(got, expected)
    same(gradient(got, point), gradient(expected, point))
    record_property("count", f"function={name} compile=1")
