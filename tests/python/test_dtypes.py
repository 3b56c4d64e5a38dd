# SPDX-License-Identifier: Apache-2.0
"""The rule of dtypes: what is computed in which, and what comes out, beside NumPy's and torch's own promotion."""

import itertools
import logging

import numpy as np
import pytest
import torch
from one_graph import counts_graphs

import lacuna
import lacuna.torch as lt

sp = pytest.importorskip("scipy.sparse")
DENSE = np.array([[4.0, 1, 0], [0, 3, 1], [1, 0, 2]])
pattern, exact = lacuna.from_scipy(sp.csr_array(DENSE))
INTS = ["bool", "int8", "uint8", "int16", "int32", "int64"]
FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]


def tolerance(dtype):
    name = str(dtype).split(".")[-1]
    return {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-5}.get(name, 1e-12)


@pytest.mark.parametrize("dtype", INTS + FLOATS)
@pytest.mark.parametrize("other", ["int64", "int8", *FLOATS])
def test_numpy_promotes_as_numpy_does(dtype, other):
    a, x = exact.astype(dtype), np.array([1, 0, 1]).astype(other)
    dense = DENSE.astype(dtype)
    expected = np.result_type(dtype, other)
    expected = np.dtype(float) if expected.kind in "biu" else expected
    for got, right in (
        (lacuna.spmm(pattern, a, x), dense.astype(expected) @ x.astype(expected)),
        (lacuna.mul(a[:3], x), a[:3].astype(expected) * x.astype(expected)),
        (lacuna.where(x != 0, a[:3], x), np.where(x != 0, a[:3], x)),
        (lacuna.concat([a, x]), np.concatenate([a, x])),
    ):
        assert got.dtype == expected
        np.testing.assert_allclose(got, right, rtol=tolerance(expected))
    if dtype != "bool":
        x = lacuna.solve(pattern, a, x)
        assert x.dtype == expected
        np.testing.assert_allclose(dense.astype(complex) @ x, np.array([1, 0, 1]), atol=4 * tolerance(expected))


def test_numpy_numbers_beside_arrays():
    for dtype, expected in (("int64", "float64"), ("float16", "float16"), ("float32", "float32"), ("bool", "float64")):
        x = np.array([1, 0, 1]).astype(dtype)
        where = lacuna.where(x, x, 0.5)
        for got, right in ((lacuna.scale(2.5, x), 2.5 * x), (lacuna.equal(x, 1), x == 1), (where, [1, 0.5, 1])):
            assert got.dtype == expected
            np.testing.assert_allclose(got, right)


def test_factors_and_systems_take_integers():
    values = exact.astype(int)
    factor = lacuna.Solver(pattern).factor(values)
    assert factor.dtype == np.float64
    np.testing.assert_allclose(DENSE @ factor.solve(np.arange(3)), np.arange(3), atol=1e-12)
    assert lacuna.Solver(pattern).factor(exact.astype(np.float16)).dtype == np.float32
    x = lacuna.solve_operator(lambda v: DENSE @ v, (), np.arange(3))
    np.testing.assert_allclose(DENSE @ x, np.arange(3), atol=1e-8)
    for dtype, to in ((int, np.float64), (bool, np.float64), (np.float32, np.float32)):
        assert lacuna.from_scipy(sp.csr_array(DENSE.astype(dtype)))[1].dtype == to


def test_kinds_that_a_function_takes_apart_stay_apart():
    a, b = exact.astype(np.complex64), np.ones(3, np.complex64)
    x = lacuna.lstsq(pattern, a, b, np.array(0.5))
    assert x.dtype == np.complex128
    stacked = np.vstack([DENSE, 0.5 * np.eye(3)])
    np.testing.assert_allclose(x, np.linalg.lstsq(stacked, np.append(b, np.zeros(3)))[0], rtol=1e-6)


OTHERS = [np.array(["a", "b"]), np.array([1, 2], np.longdouble), np.array(["2001-01-01"], "M8[D]")]


@pytest.mark.parametrize("given", OTHERS)
def test_other_dtypes_are_refused(given):
    for call in (lambda: lacuna.exp(given), lambda: lacuna.mul(given, np.ones(given.size))):
        with pytest.raises(lacuna.DtypeError, match="Lacuna computes in float32, float64, complex64 and complex128"):
            call()
    with pytest.raises(lacuna.DtypeError, match="takes real arrays"):
        lacuna.relu(np.ones(2, complex))


TORCH = [torch.bool, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]
TORCH += [torch.complex64, torch.complex128]


@pytest.mark.parametrize("dtype, other", list(itertools.product(TORCH, TORCH)))
def test_torch_promotes_as_torch_does(dtype, other):
    a, x = torch.tensor(exact).to(dtype), torch.tensor([1, 0, 1]).to(other)
    expected = torch.promote_types(dtype, other)
    expected = expected if expected.is_floating_point or expected.is_complex else torch.get_default_dtype()
    wide = torch.complex128 if expected.is_complex else torch.float64
    dense = torch.tensor(DENSE).to(dtype).to(wide)
    got = lt.spmm(pattern, a, x)
    assert got.dtype == expected
    torch.testing.assert_close(got.to(wide), dense @ x.to(wide), rtol=tolerance(expected), atol=tolerance(expected))


def test_numbers_beside_tensors():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        assert lt.scale(2.5, torch.ones(3, dtype=dtype)).dtype == dtype
    assert lt.scale(2.5, torch.ones(3, dtype=torch.int64)).tolist() == [2.5] * 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("how", ["eager", "func", "compile"])
def test_gradients_of_halves_are_those_of_what_is_computed(dtype, how):
    a, x = torch.tensor(exact).to(dtype), torch.tensor([1.0, 2, 3]).to(dtype)

    def loss(a, x):
        return lt.solve(pattern, a, x).float().square().sum()

    if how == "eager":
        leaves = a.requires_grad_(), x.requires_grad_()
        got = torch.autograd.grad(loss(*leaves), leaves)
    else:
        grad = torch.func.grad(loss, (0, 1))
        got = (torch.compile(grad, backend="aot_eager", fullgraph=True) if how == "compile" else grad)(a, x)
    wide = [t.detach().double().requires_grad_() for t in (a, x)]
    dense = torch.zeros(9, dtype=torch.float64)
    dense = dense.index_add(0, torch.tensor(np.flatnonzero(DENSE)), wide[0]).reshape(3, 3)
    expected = torch.autograd.grad((torch.linalg.inv(dense) @ wide[1]).square().sum(), wide)
    for g, e in zip(got, expected):
        assert g.dtype == dtype
        torch.testing.assert_close(g.double(), e, rtol=10 * tolerance(dtype), atol=10 * tolerance(dtype))


def test_mixed_gradients_have_the_dtypes_of_their_inputs():
    a, x = torch.tensor(exact).float().requires_grad_(), torch.ones(3, dtype=torch.float64, requires_grad=True)
    y = lt.spmm(pattern, a, x)
    assert y.dtype == torch.float64
    ga, gx = torch.autograd.grad(y.sum(), (a, x))
    assert ga.dtype == torch.float32 and gx.dtype == torch.float64
    torch.testing.assert_close(gx, torch.tensor(DENSE.sum(0)))


def test_autocast_computes_and_stays_in_single_precision():
    weight, x = torch.randn(3, 3, requires_grad=True), torch.ones(3, 2)
    a = torch.tensor(exact).float().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = weight @ x
        assert h.dtype == torch.bfloat16
        y = lt.solve(pattern, a, h)
        assert y.dtype == torch.float32
        assert lt.spmm(pattern, a.bfloat16(), h).dtype == torch.float32
        assert lt.spmm(pattern, a.double(), h).dtype == torch.float64
    ga, gw = torch.autograd.grad(y.sum(), (a, weight))
    assert ga.dtype == gw.dtype == torch.float32
    expected = np.linalg.solve(DENSE, h.detach().float().numpy())
    np.testing.assert_allclose(y.detach(), expected, rtol=1e-5, atol=1e-6)


def test_torch_dtypes_that_nobody_promotes_are_refused():
    with pytest.raises(lacuna.DtypeError, match="float8"):
        lt.spmm(pattern, torch.tensor(exact).to(torch.float8_e5m2), torch.ones(3))
    with pytest.raises(lacuna.DtypeError, match="takes real arrays"):
        lt.relu(torch.ones(2, dtype=torch.complex64))


@counts_graphs
@pytest.mark.parametrize("dtypes", [(torch.float16, torch.float16), (torch.float32, torch.float64)])
def test_compilers_write_of_no_errors(dtypes, monkeypatch):
    """What is promoted is no error, and torch's compiler writes of each that it sees."""
    written, handler = [], logging.Handler()
    handler.emit = written.append
    log = logging.getLogger("torch._subclasses.fake_tensor")
    monkeypatch.setattr(log, "handlers", [handler])
    values, b = (torch.ones(2).to(dtype) for dtype in dtypes)
    solve = lambda values, b: lt.SparseTensor(values, [0, 1], [0, 1], (2, 2)).solve(b)  # noqa: E731
    torch._dynamo.reset()
    made = torch.compile(solve, fullgraph=True, backend="aot_eager")(values, b)
    assert made.dtype is torch.promote_types(*dtypes) and not written
