# SPDX-License-Identifier: Apache-2.0
"""Patterns with blocks, and the formats in which values can be laid out, beside SciPy and torch."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from reference import FORMS, same

import lacuna
import lacuna.torch as lt

both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])


def bsr(seed=0, shape=(6, 8), blocks=(2, 4)):
    rng = np.random.default_rng(seed)
    matrix = sp.random_array(shape, density=0.2, rng=rng, format="bsr" if blocks == (1, 1) else "coo").tobsr(blocks)
    matrix.data[:] = rng.standard_normal(matrix.data.shape)
    return matrix


def blocked(matrix):
    return lacuna.Pattern.from_bsr(matrix.indptr, matrix.indices, matrix.shape, matrix.blocksize)


# -- blocks --------------------------------------------------------------------------------------------------------


def test_blocks_come_and_go_with_scipy():
    matrix = bsr()
    pattern = blocked(matrix)
    assert pattern.blocks == (2, 4) and pattern.shape == (6, 8) and pattern.nnz == len(matrix.indices)
    assert "blocks of 2 x 4" in repr(pattern)
    data = lacuna.remap(pattern.entries, matrix.data.ravel()).reshape(pattern.nnz, 2, 4)
    back = pattern.to_scipy(data)
    assert back.format == "bsr" and back.blocksize == (2, 4)
    np.testing.assert_array_equal(back.toarray(), matrix.toarray())


@pytest.mark.parametrize("blocks", [(2, 4), (1, 1)])
def test_blocks_come_from_scipy_with_their_values(blocks):
    matrix = bsr(3, blocks=blocks)
    matrix.indices, matrix.data = matrix.indices.copy(), matrix.data.copy()
    last = slice(*matrix.indptr[-2:])  # the columns of the last row fall
    matrix.indices[last], matrix.data[last] = matrix.indices[last][::-1].copy(), matrix.data[last][::-1].copy()
    pattern, values = lacuna.from_scipy(matrix)
    assert pattern.blocks == blocks and values.shape == (pattern.nnz, *(blocks if blocks != (1, 1) else ()))
    np.testing.assert_array_equal(pattern.to_scipy(values).toarray(), matrix.toarray())
    x = np.arange(8.0)
    np.testing.assert_allclose(lacuna.spmm(pattern, values, x), matrix.toarray() @ x)
    assert lacuna.Pattern.from_scipy(matrix).same(pattern)


def test_blocks_multiply_as_scipy_does():
    matrix, rng = bsr(1), np.random.default_rng(2)
    pattern = blocked(matrix)
    data = lacuna.remap(pattern.entries, matrix.data.ravel()).reshape(pattern.nnz, 2, 4)
    x = rng.standard_normal((8, 3))
    np.testing.assert_allclose(lacuna.spmm(pattern, data, x), matrix @ x, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(lacuna.spmm(pattern, data, x[:, 0]), matrix @ x[:, 0], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(lacuna.spmm(pattern, data, x[:6], "T"), matrix.T @ x[:6], rtol=1e-14, atol=1e-14)
    turned, map_ = pattern.transpose()
    moved = lacuna.remap(map_, data.ravel()).reshape(turned.nnz, *turned.blocks)
    np.testing.assert_array_equal(turned.to_scipy(moved).toarray(), matrix.toarray().T)


def test_repeated_blocks_sum():
    pattern = lacuna.Pattern.from_bsr([0, 3], [1, 0, 1], (2, 4), (2, 2))
    assert pattern.nnz == 2
    data = np.arange(12.0).reshape(3, 2, 2)
    values = lacuna.remap(pattern.entries, data.ravel()).reshape(2, 2, 2)
    np.testing.assert_array_equal(values, [data[1], data[0] + data[2]])


def test_ways_between_blocks_and_entries():
    matrix = sp.csr_array(bsr(3).toarray())
    pattern, values = lacuna.from_scipy(matrix)
    blocks, there = pattern.blocked((3, 2))
    assert blocks.blocks == (3, 2)
    filled = lacuna.remap(there, values)
    np.testing.assert_array_equal(
        blocks.to_scipy(filled.reshape(-1, 3, 2)).toarray(), matrix.toarray()
    )
    scalar, back = blocks.scalar()
    np.testing.assert_array_equal(scalar.to_scipy(lacuna.remap(back, filled)).toarray(), matrix.toarray())


def test_a_pattern_with_blocks_survives_a_pickle():
    pattern = blocked(bsr(4))
    again = pickle.loads(pickle.dumps(pattern))
    assert again.same(pattern) and again.blocks == (2, 4)
    assert not pattern.same(pattern.scalar()[0])


def test_what_takes_no_blocks_says_so():
    pattern = blocked(bsr(5, (4, 4), (2, 2)))
    values = np.ones((pattern.nnz, 2, 2))
    for attempt in (
        lambda: lacuna.logdet(pattern, values),
        lambda: lacuna.trisolve(pattern, values, np.ones(4)),
        lambda: lacuna.spgemm(pattern, values, pattern, values),
        lambda: lacuna.to_dense(pattern, values),
        lambda: pattern.tril(),
    ):
        with pytest.raises(lacuna.UnsupportedError, match="Pattern.scalar"):
            attempt()
    with pytest.raises(lacuna.ShapeError, match="do not divide"):
        pattern.scalar()[0].blocked((3, 3))
    with pytest.raises(lacuna.ArgumentError, match="need 3 offsets"):
        lacuna.Pattern.from_bsr([0, 1], [0], (4, 4), (2, 2))
    with pytest.raises(lacuna.ShapeError, match="blocks"):
        lacuna.spmm(pattern, np.ones(pattern.nnz * 4), np.ones((4, 2)))


def dense_blocks(pattern, a):
    """The dense matrix of block values, by index_add."""
    _, columns, rows = (torch.tensor(s.copy()) for s in pattern.structure())
    (br, bc), cols = pattern.blocks, pattern.shape[1]
    r = rows[:, None, None] * br + torch.arange(br)[:, None]
    c = columns[:, None, None] * bc + torch.arange(bc)
    flat = a.new_zeros(*a.shape[:-3], pattern.shape[0] * cols)
    flat = flat.index_add(-1, (r * cols + c).reshape(-1), a.reshape(*a.shape[:-3], -1))
    return flat.reshape(*a.shape[:-3], *pattern.shape)


@both
@pytest.mark.parametrize("form", FORMS)
def test_blocks_differentiate_in_torch(dtype, form):
    pattern = blocked(bsr(6, (4, 6), (2, 3)))
    a = torch.randn(pattern.nnz, 2, 3, dtype=dtype, requires_grad=True)
    op = FORMS[form](dense_blocks(pattern, a))
    x = torch.randn(op.shape[1], 2, dtype=dtype, requires_grad=True)
    f = lambda a, x: lt.spmm(pattern, a, x, form)  # noqa: E731
    same(f(a, x), op @ x)
    assert torch.autograd.gradcheck(f, (a, x), check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(f, (a, x), check_fwd_over_rev=True)


def test_sddmm_with_blocks_differentiates_in_torch():
    pattern = blocked(bsr(6, (4, 6), (2, 3)))
    u, v = (torch.randn(n, 2, dtype=torch.float64, requires_grad=True) for n in pattern.shape)
    f = lambda u, v: lt.sddmm(pattern, u, v)  # noqa: E731
    same(dense_blocks(pattern, f(u, v)), (u @ v.T) * dense_blocks(pattern, torch.ones_like(f(u, v))))
    assert torch.autograd.gradcheck(f, (u, v), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, (u, v), check_fwd_over_rev=True)


def test_blocks_under_vmap_and_compile():
    pattern = blocked(bsr(7, (4, 6), (2, 3)))
    a = torch.randn(5, pattern.nnz, 2, 3, dtype=torch.float64)
    x = torch.randn(6, 2, dtype=torch.float64)
    f = lambda a, x: lt.spmm(pattern, a, x)  # noqa: E731
    want = dense_blocks(pattern, a) @ x
    same(torch.func.vmap(f, (0, None))(a, x), want)
    same(torch.func.vmap(f, (1, None))(a.movedim(0, 1), x), want)
    same(f(a, x), want)
    loss = lambda a, x: f(a, x).square().sum()  # noqa: E731
    g, h = torch.func.grad(loss, (0, 1))(a[0], x), torch.func.vmap(torch.func.grad(loss), (0, None))(a, x)
    same(h[0], g[0])
    compiled = torch.compile(torch.func.grad(loss, (0, 1)), backend="aot_eager", fullgraph=True)(a[0], x)
    same(compiled[0], g[0]), same(compiled[1], g[1])


# -- layouts -------------------------------------------------------------------------------------------------------


def sparse(seed=0, shape=(9, 7), density=0.3):
    matrix = sp.random_array(shape, density=density, rng=np.random.default_rng(seed), format="csr")
    return (matrix, *lacuna.from_scipy(matrix))


def from_format(format):
    """The pattern that comes back from the index arrays of a format."""
    shape = format.pattern.shape
    if format.name == "ell":
        return lacuna.Pattern.from_ell(format.columns, shape)
    if format.name == "sell":
        return lacuna.Pattern.from_sell(format.offsets, format.columns, shape, format.width, format.rows)
    if format.name == "hyb":
        return lacuna.Pattern.from_hyb(format.columns, format.rows, shape, format.width)
    return lacuna.Pattern.from_dia(format.offsets, shape)


MAKERS = {
    "ell": lambda p: p.to_ell(), "sell": lambda p: p.to_sell(4, 5), "hyb": lambda p: p.to_hyb(),
    "hyb0": lambda p: p.to_hyb(0), "dia": lambda p: p.to_dia(),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_values_go_out_and_come_back(name):
    matrix, pattern, values = sparse(1)
    format = MAKERS[name](pattern)
    assert format.pattern is pattern and name.startswith(format.name) and format.name in repr(format)
    storage = lacuna.remap(format.map, values)
    assert storage.shape == (format.size,)
    np.testing.assert_array_equal(lacuna.remap(format.map, storage, op="T"), values)
    back = from_format(format)
    assert name == "dia" or back.same(pattern)
    np.testing.assert_array_equal(back.to_scipy(lacuna.remap(back.entries, storage)).toarray(), matrix.toarray())


def test_ell_has_the_rows_of_the_matrix():
    matrix, pattern, values = sparse(2)
    format = pattern.to_ell()
    storage = lacuna.remap(format.map, values).reshape(format.shape)
    dense = np.zeros(matrix.shape)
    for i, (columns, row) in enumerate(zip(format.columns, storage)):
        for column, number in zip(columns, row):
            if column >= 0:
                dense[i, column] = number
            else:
                assert number == 0
    np.testing.assert_array_equal(dense, matrix.toarray())


@pytest.mark.parametrize("shape", [(5, 5), (4, 7), (7, 4)])
def test_diagonals_are_those_of_scipy(shape):
    matrix, pattern, values = sparse(3, shape)
    format, dia = pattern.to_dia(), matrix.todia()
    np.testing.assert_array_equal(format.offsets, np.sort(dia.offsets))
    storage = lacuna.remap(format.map, values).reshape(format.shape)
    np.testing.assert_array_equal(sp.dia_array((storage, format.offsets), shape=shape).toarray(), matrix.toarray())
    back = lacuna.Pattern.from_dia(dia.offsets, shape, dia.data.shape[1])
    np.testing.assert_array_equal(
        back.to_scipy(lacuna.remap(back.entries, dia.data.ravel())).toarray(), matrix.toarray()
    )


@both
def test_sliced_ell_multiplies_and_differentiates(dtype):
    _, pattern, _ = sparse(4)
    format = pattern.to_sell(4, 9)
    a = torch.randn(pattern.nnz, dtype=dtype, requires_grad=True)
    x = torch.randn(7, 2, dtype=dtype, requires_grad=True)
    f = lambda a, x: lt.sell_mm(format, lt.remap(format.map, a), x)  # noqa: E731
    same(f(a, x), lt.spmm(pattern, a, x))
    same(f(a, x[:, 0]), lt.spmm(pattern, a, x[:, 0]))
    assert torch.autograd.gradcheck(f, (a, x), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, (a, x), check_fwd_over_rev=True)


def test_sliced_ell_under_vmap_and_compile():
    _, pattern, _ = sparse(5)
    format = pattern.to_sell()
    a, x = torch.randn(3, pattern.nnz, dtype=torch.float64), torch.randn(7, 2, dtype=torch.float64)
    f = lambda a, x: lt.sell_mm(format, lt.remap(format.map, a), x)  # noqa: E731
    same(torch.func.vmap(f, (0, None))(a, x), lt.spmm(pattern, a, x))
    same(torch.compile(f, backend="aot_eager", fullgraph=True)(a[0], x), lt.spmm(pattern, a[0], x))


def test_wrong_layouts_are_refused():
    P, refused = lacuna.Pattern, lacuna.ArgumentError
    for attempt in (
        lambda: P.from_ell(np.zeros((2, 2), int), (3, 3)),
        lambda: P.from_sell([0, 2], [0, 1], (4, 3), 2),
        lambda: P.from_sell([0, 2], [0], (2, 3), 2),
        lambda: P.from_hyb([0, 1], [0], (2, 3), 1),
        lambda: lacuna.sell_mm(sparse()[1].to_ell(), np.ones(1), np.ones((7, 1))),
        lambda: lacuna.Format(),
    ):
        with pytest.raises(refused):
            attempt()
    with pytest.raises(lacuna.PatternError, match="comes a second time"):
        P.from_dia([1, 1], (3, 3))
    with pytest.raises(lacuna.PatternError, match="columns"):
        P.from_ell(np.full((3, 1), 3), (3, 3))
