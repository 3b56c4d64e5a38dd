# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, shapes, parts and reductions of SparseTensor against dense twins, and their derivatives."""

import itertools
import operator

import numpy as np
import pytest
import torch
from one_graph import ONE_GRAPH
from reference import same
from sparse_cases import GIVEN, Given, differentiates, random

import lacuna
from lacuna.torch import SparseTensor
from lacuna.torch.sparse import stack

every = pytest.mark.parametrize("name", GIVEN)
REAL = [name for name in GIVEN if name != "complex"]


def places(given):
    """Where entries are stored, of the shape of the dense twin."""
    return given.dense(torch.ones_like(given.values)).real > 0


def other(given, seed=7):
    """Values on other places of the same shape."""
    at = len(given.batch)
    (m, n), count = given.shape[at : at + 2], 6
    generator = torch.Generator().manual_seed(seed)
    sides = [torch.randint(0, size, (count,), generator=generator).tolist() for size in (m, n)]
    return Given(*sides, (m, n), given.batch, given.block, dtype=given.values.dtype, seed=seed)


@every
def test_sums_and_products_on_one_structure(name):
    given = GIVEN[name]
    a, dense = given.tensor(), given.dense()
    b = given.tensor(given.values.flip(len(given.batch)))
    twin = b.to_dense()
    assert (a + b).structure is a.structure and (a - b).structure is a.structure and (2 * a).structure is a.structure
    same((a + b).to_dense(), dense + twin)
    same((a - b).to_dense(), dense - twin)
    same((a * b).to_dense(), dense * twin)
    same((-a).to_dense(), -dense)
    same((+a / 2 + a * 3).to_dense(), dense * 3.5)
    same((a / b).to_dense(), torch.where(places(given), dense / twin, torch.zeros_like(dense)))


@every
def test_sums_and_products_across_structures(name):
    p, q = GIVEN[name], other(GIVEN[name])
    a, b = p.tensor(), q.tensor()
    same((a + b).to_dense(), p.dense() + q.dense())
    same((a - b).to_dense(), p.dense() - q.dense())
    same((a * b).to_dense(), p.dense() * q.dense())
    assert (a + b).nnz == (places(p) | places(q)).reshape(*p.batch, *a.sparse_shape, -1).any(-1).reshape(
        -1, *a.sparse_shape
    )[0].sum()
    differentiates(lambda x, y: (p.tensor(x) + q.tensor(y)).values, p.values, q.values, second=False)
    differentiates(lambda x, y: (p.tensor(x) * q.tensor(y)).values, p.values, q.values)


def test_a_matrix_and_its_transpose():
    for name in ("square", "complex", "batched", "blocks"):
        given = GIVEN[name]
        a, dense = given.tensor(), given.matrix()
        same((a + a.T).flatten_blocks().to_dense(), dense + dense.mT)
        same((a - a.H).flatten_blocks().to_dense(), dense - dense.mH)
        assert a.T.T.structure is a.structure
        same((a.T.T + a).flatten_blocks().to_dense(), 2 * dense)


def test_numbers_act_on_stored_entries_once():
    given = GIVEN["square"]  # two entries of one place
    a, dense, stored = given.tensor(), given.dense(), places(GIVEN["square"])
    zero = torch.zeros_like(dense)
    for got, twin in ((a + 1, dense + 1), (1 - a, 1 - dense), (2 / a, 2 / dense), (a // 0.5, dense // 0.5),
                      (a % 0.7, dense % 0.7), (a**2, dense**2), (abs(a), dense.abs()),
                      (a.exp(), dense.exp())):  # fmt: skip
        same(got.to_dense(), torch.where(stored, twin, zero))
    same((np.float64(2) * a - a * np.float32(1)).to_dense(), dense)
    scale = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    same((a * scale).to_dense(), dense * 3)
    (grad,) = torch.autograd.grad((a * scale).to_dense().pow(2).sum(), scale)
    same(grad, 6 * dense.pow(2).sum())


@pytest.mark.parametrize("function", [
    "abs sqrt square exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asin acos atan sigmoid relu sign floor "
    "ceil round trunc reciprocal rsqrt erf isnan isinf isfinite logical_not"
][0].split())  # fmt: skip
def test_functions_act_on_the_sum_of_entries_of_a_place(function):
    given = Given([0, 1, 0, 2], [1, 1, 1, 0], (3, 3))
    values = torch.tensor([0.2, 0.3, 0.4, 0.7], dtype=torch.float64)
    got = getattr(given.tensor(values), function)().to_dense()
    twin = getattr(torch, function)(given.dense(values))
    assert got.dtype == twin.dtype
    same(got.double(), torch.where(places(given), twin, torch.zeros_like(twin)).double())


def test_clamp_pow_and_softmax():
    given = GIVEN["square"]
    a, dense, stored = given.tensor(), given.dense(), places(given)
    same(a.clamp(-0.1, 0.5).to_dense(), torch.where(stored, dense.clamp(-0.1, 0.5), torch.zeros_like(dense)))
    same(a.pow(3).to_dense(), dense**3)
    masked = torch.where(stored, dense, torch.full_like(dense, -torch.inf))
    same(a.softmax(-1).to_dense(), masked.softmax(-1))
    same(a.softmax(0).to_dense(), masked.softmax(0))
    differentiates(lambda values: given.tensor(values).exp().values, given.values)


def test_comparisons_are_of_entries():
    given = GIVEN["square"]
    a, dense, stored = given.tensor(), given.dense(), places(given)
    assert (a > 0).dtype == torch.bool
    for got, expected in (
        (a > 0, (dense > 0) & stored), (a == a, stored), (a != a.T, (dense != dense.T) & (stored | stored.T)),
        (a <= a * 2, (dense <= 2 * dense) & stored), ((a > 0).logical_or(a < 0), stored),
    ):  # fmt: skip
        assert torch.equal(got.to_dense(), expected)
    assert a.equal(a.coalesce()) and not a.equal(a * 2) and a.allclose(a + a * 1e-12) and not a.allclose(2 * a)
    with pytest.raises(lacuna.ArgumentError, match="neither true nor false"):
        bool(a == a)
    assert len({a, a}) == 1  # hashed by identity


def twice(values):
    """Two entries of one place."""
    return Given([0, 0], [0, 0], (1, 1)).tensor(torch.tensor(values, dtype=torch.float64))


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"])
@pytest.mark.parametrize("values", [((1, 2), (2, 1)), ((1, -1), (3, 4)), ((1, 2), (0, 4))])
def test_comparisons_are_of_the_sum_of_entries_of_a_place(name, values):
    a, b = (twice(v) for v in values)
    expected = getattr(torch, name)(*[torch.tensor([[float(sum(v))]]) for v in values])
    assert torch.equal(getattr(a, name)(b).to_dense(), expected)


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("case", ["square", "batched", "blocks"])
def test_comparisons_with_dense_tensors_are_at_stored_places(name, case):
    given = GIVEN[case]
    a, dense, stored, of = given.tensor(), given.dense(), places(given), getattr(operator, name)
    for twin in (dense, dense.roll(1, 0), dense[:1]):
        assert torch.equal(of(a, twin).to_dense(), of(dense, twin) & stored)
        assert torch.equal(of(twin, a).to_dense(), of(twin, dense) & stored)
    assert a.__eq__("one") is NotImplemented


def test_torchs_sparse_operands():
    given = GIVEN["square"]
    a, dense, stored = given.tensor(), given.dense(), places(given)
    for other in (a.to_sparse_csr(), a.to_sparse_coo()):
        assert torch.equal((a == other).to_dense(), stored)
        same((a / other).to_dense(), stored.double())
        assert a.allclose(other)


@pytest.mark.parametrize("near", [1e-12, 1e-5, 1e-4, 2])
def test_allclose_is_of_each_number(near):
    diagonal = torch.tensor([1e6, 1, 1e-9, torch.inf], dtype=torch.float64)
    other = diagonal * torch.tensor([1, 1 + near, 1, 1])
    a, b = SparseTensor.diag(diagonal), SparseTensor.diag(other)
    assert a.allclose(b) == torch.allclose(a, b) == torch.allclose(a.to_dense(), b.to_dense())
    few = b.tril(-1) + SparseTensor.eye(4)  # stores other places
    assert few.allclose(few + b.triu(1)) and not few.allclose(b)
    nan = a * torch.nan
    assert not nan.allclose(nan) and nan.allclose(nan, equal_nan=True)


@pytest.mark.parametrize("name", ["square", "batched", "blocks"])
def test_dense_operands(name):
    given = GIVEN[name]
    a, dense = given.tensor(), given.dense()
    for shape in (given.shape, given.shape[-2 - len(given.block) :], (1,) * len(given.shape)):
        d = random(*shape, like=dense)
        same((a * d).to_dense(), dense * d)
        same((d * a).to_dense(), dense * d)
        same(a + d, dense + d)
        same(d - a, d - dense)
        same((a / d).to_dense(), dense / d)
    row = random(5, like=dense)
    if not given.block:
        same((a * row).to_dense(), dense * row)
        same((a * row[:, None]).to_dense(), dense * row[:, None])
        differentiates(lambda values, d: (given.tensor(values) * d).values, given.values, row)
    with pytest.raises(lacuna.ShapeError, match="broadcast"):
        a * torch.ones(4, 4)


def test_gradients_in_a_row_of_factors_are_not_dense():
    n = 40_000  # a dense matrix of which would not fit
    a = SparseTensor.tridiagonal(n)
    factors = torch.arange(1.0, n + 1, dtype=torch.float64).requires_grad_()
    (a * factors).sum().backward()
    expected = torch.zeros(n, dtype=torch.float64)
    expected[0] = expected[-1] = 1.0
    same(factors.grad, expected)


def test_operands_that_do_not_fit_are_said():
    a = GIVEN["square"].tensor()
    with pytest.raises(lacuna.ShapeError, match="shapes"):
        a + GIVEN["wide"].tensor()
    with pytest.raises(lacuna.ArgumentError, match="not stored"):
        a / SparseTensor.eye(5)
    with pytest.raises(TypeError):
        a + "one"


# -- shapes and parts -------------------------------------------------------------------------------------------------


@every
def test_transposes_conjugates_and_triangles(name):
    given = GIVEN[name]
    a, matrix = given.tensor(), given.matrix()
    same(a.T.flatten_blocks().to_dense(), matrix.mT)
    same(a.H.flatten_blocks().to_dense(), matrix.mH)
    same(a.conj().to_dense(), given.dense().conj())
    assert a.T.shape == a.mT.shape == a.t().shape == a.transpose(*a.sparse_dim).shape
    same(a.T.row_indices, a.col_indices)
    same(a.diagonal(), matrix.diagonal(dim1=-2, dim2=-1))
    same(a.trace(), matrix.diagonal(dim1=-2, dim2=-1).sum(-1))
    if not given.block:
        same(a.tril(-1).to_dense(), matrix.tril(-1))
        same(a.triu(1).to_dense(), matrix.triu(1))
        assert a.T.values is a.values
    same(a.coalesce().to_dense(), given.dense())
    once = a.coalesce()
    assert once.is_coalesced() and not a.is_coalesced() and once.coalesce().structure == once.structure
    with pytest.raises(lacuna.ShapeError):
        a.transpose(0, 0)


def test_blocks_come_apart_and_together():
    given = GIVEN["batched_blocks"]
    a = given.tensor()
    flat = a.flatten_blocks()
    assert flat.shape == (2, 10, 10) and not flat.is_block
    same(flat.to_dense(), given.matrix())
    back = flat.unflatten_blocks((2, 2))
    assert back.shape == a.shape
    same(back.to_dense(), given.dense())
    same(flat.unflatten_blocks((5, 2)).flatten_blocks().to_dense(), given.matrix())
    differentiates(lambda values: given.tensor(values).flatten_blocks().values, given.values, second=False)


@every
def test_parts(name):
    given = GIVEN[name]
    a, dense, lead = given.tensor(), given.dense(), (slice(None),) * len(given.batch)
    rows, columns = torch.tensor([3, 0, 3]), [1, -1]
    for index in ((slice(1, 3), slice(0, 4)), (slice(None), slice(2, None)), (slice(None, None, 2), slice(None))):
        same(a[(*lead, *index)].to_dense(), dense[(*lead, *index)])
    same(a[(*lead, rows)].to_dense(), dense[(*lead, rows)])
    same(a[(..., rows, columns)].to_dense(), dense[(*lead, rows)][(*lead, slice(None), columns)])
    same(a[(*lead, 2)], dense[(*lead, 2)])
    same(a[(*lead, slice(None), -1)], dense[(*lead, slice(None), -1)])
    same(a[(*lead, 2, 3)], dense[(*lead, 2, 3)])
    same(a[(*lead, rows, 3)], dense[(*lead, rows, 3)])
    same(a[(*lead, torch.arange(a.sparse_shape[0]) > 1)].to_dense(), dense[(*lead, slice(2, None))])
    same(a.index_select(len(given.batch), rows).to_dense(), dense.index_select(len(given.batch), rows))
    differentiates(lambda values: given.tensor(values)[(..., rows, columns)].values, given.values, second=False)


def test_parts_of_a_batch():
    given = GIVEN["batches"]
    a, dense = given.tensor(), given.dense()
    same(a[1].to_dense(), dense[1])
    same(a[1, 0:2].to_dense(), dense[1, 0:2])
    same(a[:, -1, 2:4].to_dense(), dense[:, -1, 2:4])
    same(a[1, 2].to_dense(), dense[1, 2])
    same(a.select_matrix(4).to_dense(), dense[1, 1])
    assert len(a) == 2 and [part.shape for part in a] == [(3, 5, 5)] * 2
    same(a[0, 0].expand(4).to_dense(), dense[0, 0].expand(4, 5, 5))
    same(a[0, 0].unsqueeze().to_dense(), dense[0, :1])
    same(a[0, 0].unsqueeze().squeeze().to_dense(), dense[0, 0])
    same(stack([a[0, 0], a[1, 1]]).to_dense(), torch.stack([dense[0, 0], dense[1, 1]]))
    for wrong, error in ((lambda: a[2], IndexError), (lambda: a[0, 0, 9], IndexError), (lambda: a[None], ValueError),
                         (lambda: a[0, 0, 0, 0, 0], IndexError), (lambda: a[0, 0, [0, 9]], IndexError),
                         (lambda: a[..., torch.tensor([-6])], IndexError), (lambda: a.squeeze(3), ValueError),
                         (lambda: stack([a[0], GIVEN["wide"].tensor()]), ValueError)):  # fmt: skip
        with pytest.raises(error):
            wrong()


@pytest.mark.parametrize("wrong", [
    lambda a: a.index_select(2, torch.tensor([1])), lambda a: a.index_select(-3, [0]),
    lambda a: torch.transpose(a, 0, 3), lambda a: a.transpose(-3, 0),
])  # fmt: skip
def test_dimensions_that_are_not_there_are_said(wrong):
    with pytest.raises(lacuna.ShapeError, match="of a tensor with 2"):
        wrong(GIVEN["square"].tensor())


@pytest.mark.parametrize("name", ["square", "batched", "blocks"])
def test_no_dimensions_are_all_of_them(name):
    given = GIVEN[name]
    for function in ("sum", "mean", "amax", "amin"):
        same(getattr(given.tensor(), function)(dim=()), getattr(given.dense(), function)(dim=()))
        same(getattr(given.tensor(), function)(()), getattr(torch, function)(given.dense(), ()))


def test_lists_of_rows_and_columns_give_a_submatrix():
    given = GIVEN["square"]
    same(given.tensor()[[0, 3], [0, 4]].to_dense(), given.dense()[[0, 3]][:, [0, 4]])


def test_rows_are_made_one_by_one(monkeypatch):
    made, take = [], SparseTensor.__getitem__
    monkeypatch.setattr(SparseTensor, "__getitem__", lambda self, i: made.append(i) or take(self, i))
    rows = iter(GIVEN["square"].tensor())
    assert made == []
    same(next(rows), GIVEN["square"].dense()[0])
    assert made == [0]
    same(torch.stack(list(rows)), GIVEN["square"].dense()[1:])


def test_tensors_with_the_same_entries_stack():
    x = GIVEN["square"].dense()
    made = stack([SparseTensor.from_dense(x), SparseTensor.from_dense(2 * x)])
    same(made.to_dense(), torch.stack([x, 2 * x]))
    at, turned = torch.arange(3), torch.tensor([2, 0, 1])
    values = torch.tensor([1.0, 2, 3], dtype=torch.float64)
    parts = [SparseTensor(values, at, at, (3, 3)), SparseTensor(values, turned, turned, (3, 3))]
    for order in (parts, parts[::-1]):  # the same places in two orders
        same(stack(order).to_dense(), torch.stack([part.to_dense() for part in order]))


def test_a_gradient_must_have_the_entries():
    at = torch.arange(3)
    values = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    a = SparseTensor(values, at.flip(0), at.flip(0), (3, 3))
    bar = torch.tensor([1.0, 2, 3], dtype=torch.float64)
    with pytest.raises(lacuna.ArgumentError, match="another order"):
        (a * 1).backward(SparseTensor(bar, at, at, (3, 3)))
    (a * 1).backward(a.with_values(bar))
    same(values.grad, bar)


# -- reductions -------------------------------------------------------------------------------------------------------


def dims_of(given):
    count = len(given.shape)
    return [None, *itertools.chain(*[itertools.combinations(range(count), k) for k in (1, 2, 3, count)])]


def reduced(dense, function, dims, keepdim):
    """A reduction of a dense tensor over some of its dimensions."""
    dims = tuple(range(dense.ndim)) if dims is None else dims
    if function != "prod":
        return getattr(torch, {"max": "amax", "min": "amin"}.get(function, function))(dense, dims, keepdim=keepdim)
    for dim in sorted(dims, reverse=True):
        dense = dense.prod(dim, keepdim=keepdim)
    return dense


def plain(made):
    return made.to_dense() if isinstance(made, SparseTensor) else made


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("function", ["sum", "mean", "prod", "max", "min"])
def test_reductions_of_the_whole_matrix(name, function):
    given = GIVEN[name]
    a, dense = given.tensor(), given.dense()
    for dims, keepdim in itertools.product(dims_of(given), (False, True)):
        same(plain(getattr(a, function)(dims, keepdim)), reduced(dense, function, dims, keepdim))


@pytest.mark.parametrize("name", ["square", "wide", "batched", "blocks"])
@pytest.mark.parametrize("function", ["mean", "prod", "max", "min"])
def test_reductions_of_stored_places(name, function):
    empty = {"mean": torch.nan, "prod": 1.0, "max": -torch.inf, "min": torch.inf}[function]
    given = GIVEN[name]
    a, dense, stored = given.tensor(), given.dense(), places(given)
    at = len(given.batch)
    for dims in (None, (at,), (at + 1,), (at, at + 1)):
        if function == "mean":
            total, count = reduced(dense, "sum", dims, True), reduced(stored.double(), "sum", dims, True)
            twin = total / count
        else:
            twin = reduced(torch.where(stored, dense, torch.full_like(dense, empty)), function, dims, True)
        got = getattr(a, function)(dims, True, include_zeros=False)
        assert torch.equal(got.isnan(), twin.isnan())
        same(got.nan_to_num(), twin.nan_to_num())


@pytest.mark.parametrize("function", ["sum", "mean", "prod", "max", "min"])
def test_reductions_differentiate(function):
    for name, dims in (("batched", 1), ("wide", 0), ("blocks", 0), ("square", None)):
        given = GIVEN[name]
        for more in ({}, {"include_zeros": False}) if function != "sum" else ({},):
            reduce = lambda values: getattr(given.tensor(values), function)(dims, **more)  # noqa: E731
            differentiates(reduce, given.values, second=function == "prod")


def test_products_of_lines_with_zeros_have_exact_derivatives():
    values = torch.tensor([0.0, 2, 3, 0, 0, 5], dtype=torch.float64)
    given = Given([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], (2, 3))
    same(given.tensor(values).prod(1), torch.zeros(2, dtype=torch.float64))
    differentiates(lambda v: given.tensor(v).prod(1), values)
    differentiates(lambda v: given.tensor(v).prod(0), values)


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("ord", ["fro", 1, float("inf"), 2])
def test_norms_of_duplicated_and_batched_entries(name, ord):
    given = GIVEN[name]
    twin = torch.linalg.matrix_norm(given.matrix(), ord)
    same(given.tensor().norm(ord), twin, 1e-6 if ord == 2 else 1e-12)
    differentiates(lambda values: given.tensor(values).norm(ord), given.values, second=False)


def test_logsumexp_and_counts():
    given = GIVEN["batched_wide"]
    same(given.tensor().logsumexp(-1), given.dense().logsumexp(-1))
    same(given.tensor().logsumexp(1, keepdim=True), given.dense().logsumexp(1, keepdim=True))
    assert given.tensor().count_nonzero() == (given.dense() != 0).sum()
    for wrong in (lambda a: a.logsumexp(0), lambda a: a.sum(3), lambda a: a.logsumexp((1, 2))):
        with pytest.raises(ValueError):
            wrong(given.tensor())


@pytest.mark.parametrize("dim", [-2, -1, 0, 1])
def test_matrices_are_joined(dim):
    given = GIVEN["square"]
    join = lambda *values: torch.cat([given.tensor(one) for one in values], dim).to_dense()  # noqa: E731
    same(join(given.values, given.values), torch.cat([given.dense()] * 2, dim))
    differentiates(join, given.values, given.values.flip(0))


def test_matrices_of_different_sizes_are_joined_and_what_does_not_fit_is_refused():
    wide, x = GIVEN["wide"].tensor(), torch.eye(3, dtype=torch.float64)
    tall = SparseTensor.from_dense(torch.ones(2, wide.shape[1], dtype=torch.float64))
    same(torch.concat([wide, tall]).to_dense(), torch.cat([wide.to_dense(), tall.to_dense()]))
    assert torch.stack([wide, wide]).shape == (2, *wide.shape) and wide.numel() == wide.to_dense().numel()
    assert wide.is_sparse
    for wrong, words in ((lambda: torch.cat([wide, x]), "of sparse and other tensors"),
                         (lambda: torch.cat([wide, wide], 2), "dim is 2"),
                         (lambda: torch.stack([wide, wide], 1), "dim is 1")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            wrong()
    with pytest.raises(ValueError):
        torch.cat([wide, tall], -1)


def test_joined_matrices_are_one_pattern_and_carry_every_dtype():
    crow, col = torch.tensor([0, 1, 2, 3]), torch.tensor([0, 2, 1])
    a = SparseTensor.from_csr(torch.tensor([1, 2, 2**60]), crow, col, (3, 3))
    made = torch.cat([a, a], 1)
    assert made.pattern is torch.cat([a, a], 1).pattern
    assert torch.equal(made.to_dense(), torch.cat([a.to_dense()] * 2, 1))
    with pytest.raises(ValueError, match="dim is 0"):
        torch.cat([a.double(), GIVEN["blocks"].tensor()])


def test_joined_matrices_compile_by_inductor():
    crow, col = torch.tensor([0, 1, 2, 3]), torch.tensor([0, 2, 1], dtype=torch.int32)  # of two types
    join = lambda a: torch.cat([SparseTensor.from_csr(a, crow, col, (3, 3))] * 2, -1) @ torch.ones(6)  # noqa: E731
    values = torch.tensor([1.0, 2.0, 3.0])
    compiled = torch.compile(join, fullgraph=ONE_GRAPH)
    same(compiled(values), join(values))
    same(compiled(2 * values), 2 * join(values))


def test_more_of_torchs_functions():
    given = GIVEN["square"]
    a, dense = given.tensor(), given.matrix()
    x, bias = random(2, 3, 5, like=dense), random(5, like=dense)
    same(torch.linalg.det(a), torch.linalg.det(dense))
    same(torch.linalg.slogdet(a)[1], torch.linalg.slogdet(dense)[1])
    same(torch.sparse.mm(a, x[0].mT), dense @ x[0].mT)
    same(torch.nn.functional.linear(x, a, bias), torch.nn.functional.linear(x, dense, bias))
    same(torch.nn.functional.softmax(a, 1).to_dense(), a.softmax(1).to_dense())
    with pytest.raises(lacuna.ArgumentError, match="as its weight alone"):
        torch.nn.functional.linear(a, dense)
