# SPDX-License-Identifier: Apache-2.0
"""Operators that work number by number, beside NumPy and torch: values, two orders of derivatives, compile."""

import numpy as np
import pytest
import torch

import lacuna
import lacuna.torch as lt

rng = np.random.default_rng(3)
HOLOMORPHIC = ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "sign", "square", "reciprocal")
REALS_ALONE = ("relu", "softplus", "expm1", "log1p", "heaviside")
TWINS = {
    "sign": torch.sgn, "relu": torch.relu, "softplus": torch.nn.functional.softplus, "sigmoid": torch.sigmoid,
    "heaviside": lambda x: torch.heaviside(x, torch.zeros((), dtype=x.dtype)),
}  # fmt: skip
both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])


def right(*shape, dtype=torch.float64):
    """Real parts between 1 and 2, away from every kink, pole and cut."""
    t = torch.rand(*shape, dtype=dtype) + 1
    return t.requires_grad_()


def check(function, *point):
    assert torch.autograd.gradcheck(function, point, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, point, check_fwd_over_rev=True)


@pytest.mark.parametrize("name", HOLOMORPHIC)
@both
def test_functions_of_all_numbers(name, dtype):
    x = right(3, 2, dtype=dtype)
    torch.testing.assert_close(getattr(lt, name)(x), TWINS.get(name, getattr(torch, name, None))(x))
    check(getattr(lt, name), x)


@pytest.mark.parametrize("name", REALS_ALONE)
def test_functions_of_reals(name):
    x = torch.cat([right(3), -0.4 * right(3)]).detach().requires_grad_()
    torch.testing.assert_close(getattr(lt, name)(x), TWINS.get(name, getattr(torch, name, None))(x))
    check(getattr(lt, name), x)
    with pytest.raises(lacuna.DtypeError, match="takes real arrays"):
        getattr(lt, name)(x.to(torch.complex128))


@both
def test_functions_of_two_arrays(dtype):
    x, y = right(2, 3, 1, dtype=dtype), right(3, 2, dtype=dtype)
    torch.testing.assert_close(lt.div(x, y), x / y)
    torch.testing.assert_close(lt.pow(x, y), x**y)
    check(lt.div, x, y)
    check(lt.pow, x, y)
    check(lt.div_or_zero, x, y)
    check(lambda v: lt.pow(v, -2.5), x)


@pytest.mark.parametrize("name", ["abs", "real", "imag"])
def test_results_of_a_real_dtype(name):
    x = right(3, 2, dtype=torch.complex128)
    y = getattr(lt, name)(x)
    assert y.dtype == torch.float64
    torch.testing.assert_close(y, getattr(torch, name)(x))
    check(getattr(lt, name), x)
    check(getattr(lt, name), right(3))
    got = torch.compile(getattr(lt, name), fullgraph=True, backend="aot_eager")(x)
    torch.testing.assert_close(got, y)


def test_cast_changes_the_dtype_and_takes_gradients_back():
    x = right(3, 2)
    check(lambda v: lt.cast(v, torch.complex128), x)
    z = lt.cast(right(3, dtype=torch.complex64), torch.complex128)
    assert z.dtype == torch.complex128
    y = lt.cast(x, torch.float32)
    assert y.dtype == torch.float32 and lt.cast(y, torch.float32) is y
    y.sum().backward()
    assert x.grad.dtype == torch.float64 and (x.grad == 1).all()
    with pytest.raises(lacuna.DtypeError, match="real, imag, abs"):
        lt.cast(z, torch.float64)
    with pytest.raises(lacuna.DtypeError, match="float32"):
        lt.cast(x, torch.int64)
    a = rng.standard_normal(4)
    assert lacuna.cast(a, "float32").dtype == np.float32 and lacuna.cast(a, np.complex64).dtype == np.complex64
    mapped = torch.func.vmap(lambda v: lt.cast(v, torch.complex64))(x.detach())
    assert mapped.dtype == torch.complex64 and mapped.shape == (3, 2)


def test_choices_take_masks_and_numbers():
    x, y = torch.randn(4, 3, dtype=torch.float64, requires_grad=True), right(3)
    torch.testing.assert_close(lt.where(x > 0, x, y), torch.where(x > 0, x, y))
    torch.testing.assert_close(lt.where(lt.greater(x, 0.5), x, 2), torch.where(x > 0.5, x, 2.0))
    torch.testing.assert_close(lt.select(x > 0, x, keep="zero"), torch.where(x > 0, 0, x))
    torch.testing.assert_close(lt.clamp(x, -0.5), x.clamp(min=-0.5))
    mask = x.detach() > 0
    check(lambda u, v: lt.where(mask, u, v), x, y)
    check(lambda u: lt.clamp(u, -10, 10), x)
    a = rng.standard_normal((4, 3))
    np.testing.assert_array_equal(lacuna.where(a > 0, a, 0), np.maximum(a, 0))
    np.testing.assert_array_equal(lacuna.clamp(a, high=0.25), np.minimum(a, 0.25))
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        np.testing.assert_array_equal(getattr(lacuna, name)(a, a.round()), getattr(np, name)(a, a.round()))
    with pytest.raises(lacuna.DtypeError, match="no order"):
        lacuna.less(a + 0j, a + 0j)


def test_what_is_not_chosen_does_not_leak():
    x = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
    (bar,) = torch.autograd.grad(lt.where(x > 1, lt.div(torch.ones_like(x), x), 0).sum(), x)
    assert not bar.isnan()[[0, 2]].any() and bar[2] == -0.25
    (bar,) = torch.autograd.grad(lt.div_or_zero(torch.ones_like(x), x).sum(), x)
    torch.testing.assert_close(bar, torch.tensor([-1, 0, -0.25], dtype=torch.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_values_beside_numpy(dtype):
    x = rng.random(50) + 1
    x = (x + 1j * rng.random(50) if np.dtype(dtype).kind == "c" else x).astype(dtype)
    for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "square", "reciprocal"):
        expected = getattr(np, name)(x)
        got = getattr(lacuna, name)(x)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(lacuna.pow(x, 3), x**3, rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(lacuna.neg(x), -x)


def test_a_formula_compiles_with_its_gradient():
    def formula(f, x, y):
        return f.sum(f.where(f.greater(x, y), f.pow(x, 3), f.sigmoid(f.div(x, y))))

    torch._dynamo.reset()
    x, y = right(5), right(5)
    loss = torch.compile(lambda u, v: formula(lt, u, v), fullgraph=True, backend="aot_eager")(x, y)
    expected = torch.where(x > y, x**3, torch.sigmoid(x / y)).sum()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(torch.autograd.grad(loss, (x, y)), torch.autograd.grad(expected, (x, y)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_numbers_go_with_arrays_as_in_numpy(dtype):
    x = np.arange(1, 7).reshape(2, 3).astype(dtype)
    for front, make in ((lacuna, np.asarray), (lt, torch.tensor)):
        for name, ours in (("mul", np.multiply), ("add", np.add), ("sub", np.subtract), ("div", np.divide)):
            for pair in ((x, 2), (3.5, x), (x, np.float64(0.5)), (np.int32(4), x)):
                got = getattr(front, name)(*[make(p) if isinstance(p, np.ndarray) else p for p in pair])
                assert np.asarray(got).dtype == dtype
                np.testing.assert_allclose(got, ours(*pair).astype(dtype), rtol=1e-6)
    if np.dtype(dtype).kind == "c":
        np.testing.assert_allclose(lacuna.mul(x, 2j), 2j * x, rtol=1e-6)


def test_a_number_has_no_derivative_and_the_array_has_its_own():
    x = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    lt.div(3, x).sum().backward()
    torch.testing.assert_close(x.grad, -3 / x.detach() ** 2)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_dot_takes_vectors(dtype):
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal((2, 5)) + 1j * rng.standard_normal((2, 5))).astype(dtype)
    np.testing.assert_allclose(lacuna.dot(x, y), np.vdot(x, y), rtol=1e-14)
    u, v = (torch.tensor(z, requires_grad=True) for z in (x, y))
    np.testing.assert_allclose(lt.dot(u, v).detach(), np.vdot(x, y), rtol=1e-14)
    assert torch.autograd.gradcheck(lt.dot, (u, v))
