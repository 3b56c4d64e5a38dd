# SPDX-License-Identifier: Apache-2.0
"""Parts of arrays, rows along indices, reductions over axes and dense products, beside NumPy, SciPy and torch."""

import numpy as np
import pytest

import lacuna

special = pytest.importorskip("scipy.special")
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
AXES = [None, 0, -1, (0, 2), (1, 2), ()]
rng = np.random.default_rng(5)


def numbers(shape, dtype=np.float64):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def close(got, expected):
    eps = np.finfo(got.dtype).eps
    assert got.shape == expected.shape and got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=50 * eps, atol=50 * eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_are_those_of_numpy(dtype):
    x = numbers((4, 7, 3), dtype)
    for begin, end, step in [(1, 5, 1), (None, None, 2), (-4, -1, 1), (5, 2, 1), (3, 100, 3), (-100, 2, 1)]:
        np.testing.assert_array_equal(lacuna.slice(x, 1, begin, end, step), x[:, begin:end:step])
    np.testing.assert_array_equal(lacuna.slice(x, -1, 1), x[..., 1:])
    np.testing.assert_array_equal(lacuna.slice(x, 0, step=3), x[::3])


def test_slices_that_are_not_there_are_refused():
    with pytest.raises(lacuna.ShapeError, match="axis 2"):
        lacuna.slice(np.ones((2, 3)), 2, 0, 1)
    with pytest.raises(lacuna.ArgumentError, match="step is 0"):
        lacuna.slice(np.ones(3), 0, 0, 1, 0)
    with pytest.raises(lacuna.ShapeError, match="from 0 to 4 of an axis of 3"):
        lacuna.apply("slice", np.ones(3), ints=(0, 0, 4, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_takes_many(axis, dtype):
    parts = [numbers((3, 2, 4), dtype) for _ in range(5)]
    np.testing.assert_array_equal(lacuna.concat(parts, axis), np.concatenate(parts, axis))
    np.testing.assert_array_equal(lacuna.concat(parts[:1], axis), parts[0])
    with pytest.raises(lacuna.ArgumentError, match="at least one"):
        lacuna.concat([])


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_gathered_and_scattered(dtype):
    index, x = np.array([3, 0, 3, -1, 1]), numbers((2, 4, 3), dtype)
    expected = np.where((index < 0)[:, None], 0, x[:, index])
    np.testing.assert_array_equal(lacuna.gather(index, x), expected)
    np.testing.assert_array_equal(lacuna.gather(lacuna.Map(index, 4), x), expected)
    np.testing.assert_array_equal(lacuna.gather(index, x[0, :, 0]), expected[0, :, 0])
    y, back = numbers((2, 5, 3), dtype), np.zeros((2, 4, 3), dtype)
    np.add.at(back, (slice(None), index[index >= 0]), y[:, index >= 0])
    close(lacuna.scatter_add(index, y, 4), back)
    with pytest.raises(lacuna.ArgumentError, match="how many rows"):
        lacuna.scatter_add(index, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul_is_that_of_numpy(dtype):
    turned = {"N": lambda m: m, "T": lambda m: m.mT, "conjugated": np.conj, "H": lambda m: m.mT.conj()}
    for op_x in turned:
        for op_y in turned:
            x = numbers((90, 70) if op_x in ("N", "conjugated") else (70, 90), dtype)
            y = numbers((3, 70, 80) if op_y in ("N", "conjugated") else (3, 80, 70), dtype)
            got, expected = lacuna.matmul(x, y, op_x, op_y), turned[op_x](x) @ turned[op_y](y)
            np.testing.assert_allclose(got, expected, rtol=0, atol=2000 * np.finfo(dtype).eps)


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_those_of_numpy(axes, keepdims):
    how = {"axis": axes, "keepdims": keepdims}
    for dtype in DTYPES:
        x = numbers((3, 4, 5), dtype)
        close(lacuna.sum(x, axes, keepdims), x.sum(**how))
        close(lacuna.mean(x, axes, keepdims), x.mean(**how))
        close(lacuna.prod(x, axes, keepdims), x.prod(**how))
        wide = numbers((2, 5, 70), dtype)
        close(lacuna.cumsum(wide, 1), wide.cumsum(1))
        close(lacuna.cumsum(x, 0, backwards=True), x[::-1].cumsum(0)[::-1])
        close(lacuna.norm(x, axes, keepdims), np.sqrt((abs(x) ** 2).sum(**how)))
        close(lacuna.norm(x, axes, keepdims, ord=1), abs(x).sum(**how))
        close(lacuna.norm(x, axes, keepdims, ord=np.inf), abs(x).max(**how))
    for dtype in DTYPES[:2]:
        x = numbers((3, 4, 5), dtype)
        close(lacuna.max(x, axes, keepdims), x.max(**how))
        close(lacuna.min(x, axes, keepdims), x.min(**how))
        if axes != ():  # SciPy takes no axes for all
            close(lacuna.logsumexp(x, axes, keepdims), special.logsumexp(x, **how).astype(dtype))
            close(lacuna.softmax(x, axes), special.softmax(x, axis=axes))
            close(lacuna.log_softmax(x, axes), special.log_softmax(x, axis=axes))


def test_reductions_at_their_edges():
    inf = np.inf
    assert lacuna.prod(np.ones((0,))) == 1 and np.isnan(lacuna.mean(np.ones((0,)))) and lacuna.norm(np.ones(0)) == 0
    assert lacuna.logsumexp(np.array([-inf, -inf])) == -inf and lacuna.logsumexp(np.array([1000.0, inf])) == inf
    assert np.isclose(lacuna.norm(np.array([3e200, 4e200])), 5e200) and np.isnan(lacuna.max(np.array([1, np.nan, 2])))
    with pytest.raises(lacuna.ShapeError, match="axis 1 is empty"):
        lacuna.max(np.ones((2, 0)), 1)
    with pytest.raises(lacuna.DtypeError, match="takes real arrays"):
        lacuna.softmax(np.ones(2, complex))
    with pytest.raises(lacuna.ArgumentError, match="ord is 3"):
        lacuna.norm(np.ones(2), ord=3)
    with pytest.raises(lacuna.ShapeError, match="comes twice"):
        lacuna.max(np.ones((2, 2)), (1, -1))


@pytest.mark.parametrize("order", ["forward", "backward"])
def test_torch_gradients(order):
    torch = pytest.importorskip("torch")
    import lacuna.torch as lt

    torch.manual_seed(3)
    rows = lacuna.Map([2, 0, 2, -1], 3)
    x, y = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    z = torch.randn(2, 4, 3, dtype=torch.complex128, requires_grad=True)
    w = torch.randn(3, 4, dtype=torch.complex128, requires_grad=True)
    for function, twin, point in (
        (lambda v: lt.slice(v, 1, 0, 4, 2), lambda v: v[:, 0:4:2], (x,)),
        (lambda v, u: lt.concat([v, u, v], 0), lambda v, u: torch.cat([v, u, v], 0), (x, y)),
        (lambda v: lt.gather(rows, v), lambda v: v[[2, 0, 2, 0]] * torch.tensor([[1], [1], [1], [0]]), (w,)),
        (lambda v: lt.scatter_add(lacuna.Map([1, 0, 1], 2), v), lambda v: torch.stack([v[1], v[0] + v[2]]), (w,)),
        (lambda v, u: lt.matmul(v, u, "H", "T"), lambda v, u: v.mH @ u.mT, (z, w[:, :4])),
        (lambda v: lt.prod(v, 1), lambda v: v.prod(1), (x,)),
        (lambda v: lt.cumsum(v, 0), lambda v: v.cumsum(0), (w,)),
        (lambda v: lt.mean(v, 0), lambda v: v.mean(0), (w,)),
        (lambda v: lt.max(v, 1), lambda v: v.amax(1), (x,)),
        (lambda v: lt.min(v, 0, True), lambda v: v.amin(0, True), (x,)),
        (lambda v: lt.norm(v, (0, 2)), lambda v: torch.linalg.vector_norm(v, dim=(0, 2)), (z,)),
        (lambda v: lt.logsumexp(v, 1), lambda v: v.logsumexp(1), (x,)),
        (lambda v: lt.softmax(v, 0), lambda v: v.softmax(0), (x,)),
        (lambda v: lt.log_softmax(v, 1), lambda v: v.log_softmax(1), (x,)),
    ):
        torch.testing.assert_close(function(*point), twin(*point))
        if order == "forward":
            assert torch.autograd.gradcheck(function, point, check_forward_ad=True)
        else:
            assert torch.autograd.gradgradcheck(function, point)


def test_torch_maps_and_compiles_movement():
    torch = pytest.importorskip("torch")
    import lacuna.torch as lt

    x = torch.randn(5, 3, 4, dtype=torch.float64)
    y = torch.randn(3, 2, dtype=torch.float64)

    def function(v):
        parts = lt.concat([lt.slice(v, 1, 1, 3), y], 1)
        return lt.softmax(lt.matmul(parts, parts, "T"), 0) * lt.max(v)

    def twin(v):
        parts = torch.cat([v[:, 1:3], y], 1)
        return (parts.mT @ parts).softmax(0) * v.amax()

    torch.testing.assert_close(torch.func.vmap(function)(x), torch.stack([twin(v) for v in x]))
    v = x[0].clone().requires_grad_()
    got, expected = torch.compile(function, fullgraph=True, backend="aot_eager")(v), twin(v)
    torch.testing.assert_close(got, expected)
    bar = torch.randn_like(expected)
    torch.testing.assert_close(torch.autograd.grad(got, v, bar), torch.autograd.grad(expected, v, bar))
