# SPDX-License-Identifier: Apache-2.0
"""SparseTensorList against what each of its matrices does; torch's own functions of sparse tensors."""

import io

import pytest
import torch
from reference import same
from sparse_cases import GIVEN, Given, random

import lacuna
from lacuna.torch import SparseTensor, SparseTensorList

NAMES = ["square", "int32", "blocks"]


def listed(names=NAMES):
    return SparseTensorList([GIVEN[name].tensor() for name in names])


def test_a_list_is_its_matrices():
    parts = listed()
    assert len(parts) == 3 and [part.shape for part in parts] == parts.shapes == parts.block_sizes
    assert parts[1] is parts.tensors[1] and isinstance(parts[:2], SparseTensorList) and len(parts.to_list()) == 3
    assert parts.total_nnz == sum(part.nnz for part in parts) and parts.total_shape == (20, 20)
    assert parts.dtype == torch.float64 and parts.device == torch.device("cpu") and "3 matrices" in repr(parts)
    given = GIVEN["wide"]
    coo = [(given.values, given.rows, given.columns, given.shape)]
    same(SparseTensorList.from_coo_list(coo)[0].to_dense(), given.dense())
    same(SparseTensorList.from_torch_sparse_list([given.dense().to_sparse()])[0].to_dense(), given.dense())
    assert len(SparseTensorList([])) == 0 and SparseTensorList([]).total_shape == (0, 0)


def test_operators_and_methods_act_on_each():
    parts, twins = listed(), [GIVEN[name].dense() for name in NAMES]
    for got, expected in (((parts + parts), [2 * d for d in twins]), (parts * 3, [3 * d for d in twins]),
                          (-parts, [-d for d in twins]), (parts - parts * 0.5, [d / 2 for d in twins]),
                          (2 * parts, [2 * d for d in twins]), (parts.abs(), [d.abs() for d in twins])):  # fmt: skip
        assert isinstance(got, SparseTensorList)
        same([part.to_dense() for part in got], expected)
    same(parts.sum(), [d.sum() for d in twins])
    same(parts.det(), [torch.linalg.det(GIVEN[name].matrix()) for name in NAMES])
    same(parts.norm("fro"), [d.norm() for d in twins])
    assert parts.clamp(min=0)[0].values.min() >= 0 and [bool(s) for s in parts.is_symmetric()] == [False] * 3
    same([part.flatten_blocks().to_dense() for part in parts.T], [GIVEN[name].matrix().mT for name in NAMES])
    same([part.to_dense() for part in parts[:2].H], [d.mH for d in twins[:2]])


def test_products_and_solves_of_each():
    parts, right = listed(), [random(GIVEN[name].matrix().shape[0], like=GIVEN[name].values) for name in NAMES]
    twins = [GIVEN[name].matrix() for name in NAMES]
    same(parts @ right, [d @ b for d, b in zip(twins, right)])
    same(parts.solve(right), [torch.linalg.solve(d, b) for d, b in zip(twins, right)])
    assert isinstance(parts @ parts, SparseTensorList)
    with pytest.raises(lacuna.ShapeError, match="one for each"):
        parts.solve(right[:2])


def test_lists_have_the_methods_of_their_parts():
    """All but what needs an index of the parts, or makes sense of one matrix alone."""
    public = {name for name in dir(SparseTensor) if not name.startswith("_")}
    single = {name for name in public if isinstance(getattr(SparseTensor, name), property)}
    alone = set("eye diag tridiagonal of from_pattern from_dense from_scipy from_torch from_torch_sparse "
                "from_csr from_csc load save with_values solve_batch size dim numel backward sparse_dim expand "
                "unsqueeze squeeze index_select "
                "select_matrix is_complex is_floating_point is_coalesced inverse_on to_connected_components "
                "neg mv mm bmm diag_part to_torch_sparse eq ne lt le gt ge logical_and logical_or "
                "logical_xor".split())  # fmt: skip
    assert not {name for name in public - single - alone if not hasattr(SparseTensorList, name)}


@pytest.mark.parametrize("name", "expm1 log1p asin atan isnan rsqrt bfloat16 tril triu softmax".split())
def test_further_methods_act_on_each(name):
    cases = [Given([0, 1, 2], [0, 1, 2], (3, 3)), Given([0, 1], [1, 0], (2, 2))]
    made = getattr(SparseTensorList([case.tensor() for case in cases]), name)()
    assert type(made) is SparseTensorList
    for got, case in zip(made, cases):
        twin = getattr(case.tensor(), name)()
        assert got.structure.is_alike(twin.structure) and torch.equal(got.slots().isnan(), twin.slots().isnan())
        torch.testing.assert_close(got.slots(), twin.slots(), equal_nan=True)


def test_products_and_least_squares_of_pairs():
    cases = [GIVEN["square"], Given([0, 1, 2, 2], [0, 1, 0, 1], (3, 2))]
    listed = SparseTensorList([case.tensor() for case in cases])
    x = [random(case.dense().shape[1], like=case.values) for case in cases]
    b = [case.dense() @ one for case, one in zip(cases, x)]
    for got, twin in zip(listed.matmul(x), b):
        same(got, twin)
    for got, case, one in zip(listed.lstsq(b), cases, b):
        same(got, torch.linalg.pinv(case.dense()) @ one, 1e-8)


class Named(SparseTensorList):
    """A list of a class of its own."""


def test_subclasses_stay_and_are_trees_and_load():
    a = GIVEN["square"].tensor()
    listed = Named([a, a.T])
    for made in (listed * 2, listed.exp(), -listed, listed @ listed, listed[:1], listed.T, listed + 1):
        assert type(made) is Named
    leaves, spec = torch.utils._pytree.tree_flatten(listed)
    assert len(leaves) == 2 and leaves[0] is a.values
    assert type(torch.utils._pytree.tree_unflatten(leaves, spec)) is Named
    file = io.BytesIO()
    torch.save(listed, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert type(loaded) is Named
    same(loaded[1].to_dense(), a.T.to_dense())


def test_block_diagonals_there_and_back():
    names = ["wide", "square", "blocks"]
    values = [GIVEN[name].values.clone().requires_grad_() for name in names]
    parts = SparseTensorList([GIVEN[name].tensor(v) for name, v in zip(names, values)])
    whole = parts.to_block_diagonal()
    same(whole.to_dense(), torch.block_diag(*[GIVEN[name].matrix() for name in names]))
    whole.to_dense().pow(3).sum().backward()
    twins = [GIVEN[name].values.clone().requires_grad_() for name in names]
    sum(GIVEN[name].matrix(v).pow(3).sum() for name, v in zip(names, twins)).backward()
    same([v.grad for v in values], [v.grad for v in twins])
    back = SparseTensorList.from_block_diagonal(whole, [GIVEN[name].matrix().shape for name in names])
    same([part.to_dense() for part in back], [GIVEN[name].matrix() for name in names])
    with pytest.raises(lacuna.ShapeError, match="add up"):
        SparseTensorList.from_block_diagonal(whole, [(2, 2)])
    with pytest.raises(lacuna.ShapeError, match="batch"):
        listed(["batched"]).to_block_diagonal()


def test_lists_are_trees_and_pickles():
    parts = listed(["square", "wide"])
    doubled = torch.utils._pytree.tree_map(lambda t: 2 * t, parts)
    same([part.to_dense() for part in doubled], [2 * part.to_dense() for part in parts])
    stream = io.BytesIO()
    torch.save(parts, stream)
    stream.seek(0)
    same([part.to_dense() for part in torch.load(stream)], [part.to_dense() for part in parts])


def test_torchs_functions_take_sparse_tensors():
    given = GIVEN["square"]
    a, dense, x = given.tensor(), given.dense(), random(5, 2, like=given.values)
    same(torch.matmul(a, x), dense @ x)
    same(torch.mm(a, x), dense @ x)
    same(torch.matmul(x.T, a), x.T @ dense)
    same(torch.mv(a, x[:, 0]), dense @ x[:, 0])
    same(torch.add(a, a).to_dense(), 2 * dense)
    same(torch.sub(dense, a), torch.zeros_like(dense))
    same(torch.mul(dense, a).to_dense(), dense * dense)
    same(torch.exp(a).to_dense(), a.exp().to_dense())
    same(torch.sum(a), dense.sum())
    same(torch.abs(a).to_dense(), dense.abs())
    same(torch.trace(a), dense.trace())
    same(torch.neg(a).to_dense(), -dense)
    for name in ("square", "batched", "blocks", "complex"):
        same(torch.norm(GIVEN[name].tensor()), torch.norm(GIVEN[name].dense()))
    with pytest.raises(lacuna.ArgumentError, match="of all its numbers"):
        torch.norm(a, p=1)
    assert torch.equal(a, a) and torch.equal(torch.gt(torch.tensor(0), a).values, (a < 0).values)
    with pytest.raises(TypeError, match="takes no sparse tensors; A.to_dense"):
        torch.fft.fft(a)
    with pytest.raises(lacuna.ArgumentError, match="first argument"):
        torch.pow(dense, a)


def test_other_classes_of_tensors_have_their_turn():
    class Foreign(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return "foreign" if function is torch.dist else NotImplemented

    class Plain(torch.Tensor):
        pass

    a, dense = GIVEN["square"].tensor(), GIVEN["square"].dense()
    foreign = dense.as_subclass(Foreign)
    assert torch.dist(a, foreign) == torch.dist(foreign, a) == "foreign"
    with pytest.raises(TypeError):
        torch.cdist(a, foreign)
    for other in (dense, dense.as_subclass(Plain), torch.nn.Parameter(dense)):
        with pytest.raises(TypeError, match="torch's dist takes no sparse tensors; A.to_dense"):
            torch.dist(a, other)


def test_norms_by_torch_linalg():
    for name in ("square", "batched", "complex"):
        a, dense = GIVEN[name].tensor(), GIVEN[name].dense()
        same(torch.linalg.norm(a), torch.linalg.norm(dense))
        for ord in ("fro", 1, 2, float("inf")):
            same(torch.linalg.matrix_norm(a, ord), torch.linalg.matrix_norm(dense, ord))
            same(torch.linalg.norm(a, ord, dim=(-2, -1)), torch.linalg.norm(dense, ord, dim=(-2, -1)))
    same(torch.linalg.norm(GIVEN["square"].tensor(), 1), torch.linalg.norm(GIVEN["square"].dense(), 1))
    for refused in (lambda a: torch.linalg.norm(a, dim=(-1, -2)), lambda a: torch.linalg.matrix_norm(a, keepdim=True)):
        with pytest.raises(lacuna.ArgumentError, match="of each matrix"):
            refused(GIVEN["square"].tensor())
    with pytest.raises(lacuna.ShapeError, match="A.norm"):
        torch.linalg.norm(GIVEN["batched"].tensor(), 1)


@pytest.mark.parametrize("call", [
    lambda a, x: torch.add(a, a, alpha=2), lambda a, x: torch.sub(x, a, alpha=2),
    lambda a, x: torch.div(a, 2.0, rounding_mode="floor"), lambda a, x: torch.mv(a, x[0], out=x[1]),
    lambda a, x: torch.add(a, x, out=x), lambda a, x: x.add_(a), lambda a, x: x.mul_(a), lambda a, x: torch.relu_(a),
    lambda a, x: torch.matmul(input=a, other=x), lambda a, x: torch.exp(a, out=x),
])  # fmt: skip
def test_what_torchs_functions_ask_beyond_operators_is_refused(call):
    a, x = GIVEN["square"].tensor(), torch.ones(5, 5, dtype=torch.float64)
    values = a.values.clone()
    with pytest.raises((TypeError, lacuna.ArgumentError)):
        call(a, x)
    assert torch.equal(x, torch.ones_like(x)) and torch.equal(a.values, values)


def test_sparse_tensors_of_no_entries_and_no_rows():
    empty = SparseTensor(torch.zeros(0, dtype=torch.float64), [], [], (3, 4))
    x = torch.ones(4, dtype=torch.float64)
    same(empty @ x, torch.zeros(3, dtype=torch.float64))
    same(empty.to_dense(), torch.zeros(3, 4, dtype=torch.float64))
    same((empty + SparseTensor.eye(3, 4)).to_dense(), torch.eye(3, 4, dtype=torch.float64))
    same(empty.sum(0), torch.zeros(4, dtype=torch.float64))
    same(empty.prod(1, include_zeros=False), torch.ones(3, dtype=torch.float64))
    same(empty.T.to_dense(), torch.zeros(4, 3, dtype=torch.float64))
    nothing = SparseTensor(torch.zeros(0, dtype=torch.float64), [], [], (0, 0))
    assert nothing.to_dense().shape == (0, 0) and nothing.nnz == 0
    same(SparseTensor.from_dense(torch.zeros(2, 2)).to_dense(), torch.zeros(2, 2))
