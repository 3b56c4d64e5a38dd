# SPDX-License-Identifier: Apache-2.0
"""SparseTensor from and to torch's sparse layouts, dense tensors, SciPy, pictures; predicates of each matrix."""

import pytest
import scipy.sparse
import scipy.sparse.csgraph
import torch
from reference import same
from sparse_cases import GIVEN, Given, check, check2, differentiates, random

import lacuna
from lacuna.torch import SparseTensor
from lacuna.torch.sparse import stack

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")
LAYOUTS = {
    "coo": lambda a: a.to_sparse_coo(), "csr": lambda a: a.to_sparse_csr(), "csc": lambda a: a.to_sparse_csc(),
    "bsr": lambda a: a.to_sparse_bsr((2, 2)), "bsc": lambda a: a.to_sparse_bsc((2, 2)),
}  # fmt: skip


def dense_of(name, batch=()):
    """A dense matrix that each layout can hold, some of it zero."""
    torch.manual_seed(3)
    dense = torch.randn(*batch, 4, 6, dtype=torch.float64)
    dense[..., 0:2, 2:4] = 0
    dense[..., 3, 5] = 0 if name in ("coo", "csr", "csc") else dense[..., 3, 5]
    return dense


def in_layout(name, dense):
    options = {"blocksize": (2, 2)} if name.startswith("bs") else {}
    return dense.to_sparse(layout=getattr(torch, f"sparse_{name}"), **options)


def whole(a):
    return a.flatten_blocks().to_dense() if a.is_block else a.to_dense()


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)], ids=str)
def test_every_layout_comes_in_and_goes_out(name, batch):
    dense = dense_of(name, batch)
    given = in_layout(name, dense)
    a = SparseTensor.from_torch(given)
    assert a.batch_shape == batch and a.is_block == name.startswith("bs")
    same(whole(a), dense)
    if name != "coo" or not batch:
        assert a.values.data_ptr() == given.values().data_ptr() if name != "coo" else given._values().data_ptr()
    out = LAYOUTS[name](a)
    assert out.layout is given.layout and out.shape == dense.shape
    same(out.to_dense(), dense)
    if batch:
        assert out._nnz() * (1 if name == "coo" else 1) == given._nnz()


@pytest.mark.parametrize("name", LAYOUTS)
def test_gradients_have_the_layout_and_places_of_the_input(name):
    dense = dense_of(name)
    given = in_layout(name, dense).requires_grad_()
    x = random(6, 2, like=dense)
    loss = (SparseTensor.from_torch(given) @ x).pow(3).sum()
    if name in ("coo", "csr"):  # the layouts that torch accumulates in .grad
        loss.backward(retain_graph=True)
        same(given.grad.to_dense(), torch.autograd.grad(loss, given, retain_graph=True)[0].to_dense())
    (grad,) = torch.autograd.grad(loss, given)
    assert grad.layout is given.layout and grad._nnz() == given._nnz()
    twin = dense.clone().requires_grad_()
    (twin @ x).pow(3).sum().backward()
    stored = in_layout(name, torch.ones_like(dense) * (dense != 0)).to_dense()
    if name.startswith("bs"):
        stored = torch.kron(torch.tensor([[1.0, 0, 1], [1, 1, 1]], dtype=torch.float64), torch.ones(2, 2)).double()
    same(grad.to_dense(), twin.grad * stored)


def test_duplicates_of_a_torch_tensor_have_the_gradient_of_their_place_once():
    index = torch.tensor([[0, 0, 1], [1, 1, 0]])
    given = torch.sparse_coo_tensor(index, torch.tensor([1.0, 2, 3]), (2, 2)).requires_grad_()
    a = SparseTensor.from_torch(given)
    same(a.to_dense(), torch.tensor([[0.0, 3], [3, 0]]))
    (a @ torch.full((2,), 2.0)).sum().backward()
    same(given.grad.to_dense(), torch.tensor([[0.0, 2], [2, 0]]))


def test_matrices_of_a_batch_may_have_places_of_their_own():
    dense = torch.zeros(3, 4, 5, dtype=torch.float64)
    torch.manual_seed(0)
    for item in dense:  # as many in each, elsewhere in each
        item.view(-1)[torch.randperm(20)[:6]] = torch.randn(6, dtype=torch.float64)
    crow = torch.stack([item.to_sparse_csr().crow_indices() for item in dense])
    col = torch.stack([item.to_sparse_csr().col_indices() for item in dense])
    values = torch.stack([item.to_sparse_csr().values() for item in dense])
    compressed = torch.sparse_csr_tensor(crow, col, values, dense.shape)
    for given in (compressed, dense.to_sparse()):
        given = given.requires_grad_()
        a = SparseTensor.from_torch(given)
        same(a.to_dense(), dense)
        a.to_dense().pow(3).sum().backward()
        assert given.grad.layout is given.layout
        same(given.grad.to_dense(), 3 * dense**2)


def test_hybrid_tensors_have_dense_dimensions():
    values = torch.randn(3, 2, dtype=torch.float64)
    given = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 1]]), values, (2, 3, 2)).coalesce()
    a = SparseTensor.from_torch(given)
    assert a.shape == (2, 3, 2) and a.block_shape == (2,)
    same(a.to_dense(), given.to_dense())
    same(a.to_sparse_coo().to_dense(), given.to_dense())
    same(a.sum(1), given.to_dense().sum(1))
    same(SparseTensor.from_torch(a.to_sparse_csr()).to_dense(), given.to_dense())
    with pytest.raises(lacuna.ArgumentError, match="sparse dimensions"):
        SparseTensor.from_torch(torch.ones(3).to_sparse())
    with pytest.raises(lacuna.ArgumentError, match="from_dense"):
        SparseTensor.from_torch(torch.ones(3, 3))


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_goes_through_a_layout_differentiates_twice(name):
    """From values to torch's tensor and back, and from there through torch's own operations."""
    blocks = name.startswith("bs")
    given = Given([0, 1, 1, 0], [2, 0, 1, 2], (2, 3), block=(2, 2) if blocks else ())

    def there_and_back(values):
        return SparseTensor.from_torch(LAYOUTS[name](given.tensor(values))).values ** 2

    assert check(there_and_back, given.values.clone().requires_grad_())
    assert check2(there_and_back, given.values.clone().requires_grad_())
    values = given.values.clone().requires_grad_()
    LAYOUTS[name](given.tensor(values)).to_dense().pow(3).sum().backward()
    twin = given.values.clone().requires_grad_()
    given.matrix(twin).pow(3).sum().backward()
    same(values.grad, twin.grad)


def test_the_second_derivative_in_a_torch_tensor_is_that_of_differences():
    """Torch's own constructors lose it."""
    given = GIVEN["square"]
    b = random(5, like=given.values)

    def first(values):
        whole = given.tensor(values).to_sparse_csr()
        x = SparseTensor.from_torch(whole).solve(b)
        return torch.autograd.grad((x**3).sum(), values, create_graph=True)[0]

    assert check(first, given.values.clone().requires_grad_())


def test_the_order_of_a_coo_tensor_is_that_of_values():
    given = Given([2, 0, 1], [0, 1, 2], (3, 3))
    out = given.tensor().to_sparse_coo()
    assert not out.is_coalesced() and torch.equal(out._indices()[0], given.rows)
    same(out.to_dense(), given.dense())
    assert given.tensor().coalesce().to_sparse_coo().is_coalesced()
    same(GIVEN["square"].tensor().to_sparse_coo().to_dense(), GIVEN["square"].dense())
    assert given.tensor().to_torch_sparse().layout is torch.sparse_coo
    with pytest.raises(lacuna.ArgumentError, match="blocksize"):
        given.tensor().to_sparse_bsr()


# -- dense, SciPy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GIVEN)
def test_dense_there_and_back(name):
    given = GIVEN[name]
    dense = given.dense()
    a = SparseTensor.from_dense(dense, (len(given.batch), len(given.batch) + 1))
    assert a.shape == dense.shape and a.nnz == given.tensor().nnz
    same(a.to_dense(), dense)
    differentiates(lambda d: SparseTensor.from_dense(d, a.sparse_dim, threshold=1e-4).values, dense)
    differentiates(lambda values: given.tensor(values).to_dense(), given.values)
    if given.batch:
        same(given.tensor().to_dense(0), dense[0])


def test_from_dense_stores_what_any_matrix_of_a_batch_needs():
    dense = torch.zeros(2, 3, 3)
    dense[0, 0, 1], dense[1, 2, 0], dense[1, 1, 1] = 1.0, 5.0, -0.1
    a = SparseTensor.from_dense(dense)
    assert a.nnz == 3
    same(a.to_dense(), dense)
    assert SparseTensor.from_dense(dense, threshold=0.5).nnz == 2
    top = SparseTensor.from_dense(dense, top_k=1)
    assert top.nnz == 2 and sorted(top.row_indices.tolist()) == [0, 2]
    with pytest.raises(lacuna.ShapeError, match="top_k"):
        SparseTensor.from_dense(dense, top_k=10)


def test_from_dense_keeps_nan():
    dense = torch.tensor([[1, torch.nan], [0, 1]], dtype=torch.float64)
    a = SparseTensor.from_dense(dense)
    assert a.nnz == dense.to_sparse()._nnz() == 3
    torch.testing.assert_close(a.to_dense(), dense, equal_nan=True)
    assert SparseTensor.from_dense(dense[:, :, None, None].expand(2, 2, 3, 3), (0, 1)).nnz == 3


def test_scipy_there_and_back():
    given = GIVEN["square"]
    out = given.tensor().to_scipy()
    assert out.format == "csr" and abs(out.toarray() - given.dense().numpy()).max() < 1e-15
    blocks = GIVEN["oblong_blocks"]
    out = blocks.tensor().to_scipy()
    assert out.format == "bsr" and abs(out.toarray() - blocks.matrix().numpy()).max() < 1e-15
    same(SparseTensor.from_scipy(out).to_dense(), blocks.dense())
    assert SparseTensor.from_scipy(scipy.sparse.eye_array(3), dtype=torch.float32).dtype == torch.float32
    with pytest.raises(lacuna.ArgumentError, match="batch_index"):
        GIVEN["batched"].tensor().to_scipy()
    assert GIVEN["batched"].tensor().to_scipy(1).shape == (5, 5)
    assert given.tensor().numpy().shape == (5, 5)


def test_spy_draws_or_says_what_is_missing(tmp_path):
    try:
        import matplotlib

        matplotlib.use("Agg")
    except ImportError:
        with pytest.raises(ImportError, match="pip install matplotlib"):
            GIVEN["square"].tensor().spy()
        return
    axes = GIVEN["blocks"].tensor().spy(save_path=tmp_path / "spy.png", title="blocks")
    assert (tmp_path / "spy.png").exists() and axes.get_title() == "blocks"


# -- predicates -------------------------------------------------------------------------------------------------------


def test_symmetry_is_judged_of_each_matrix_and_of_sums():
    rows, columns = [0, 0, 1, 0, 1], [0, 1, 0, 1, 1]  # (0, 1) twice
    values = torch.tensor([[2.0, 0.5, 1, 0.5, 3], [2, 0.5, 1, 0.6, 3], [2, 0.5, 1 + 1e-7, 0.5, 3]], dtype=torch.float64)
    a = SparseTensor(values, rows, columns, (3, 2, 2))
    assert a.is_symmetric().tolist() == [True, False, False]
    assert a.is_symmetric(rtol=1e-5).tolist() == [True, False, True]
    assert a.is_symmetric(atol=1.0).all() and a[0].is_symmetric().shape == ()
    assert not SparseTensor(torch.ones(1), [0], [1], (2, 2)).is_symmetric()
    assert not GIVEN["wide"].tensor().is_symmetric()
    z = SparseTensor(torch.tensor([1 + 0j, 1j, -1j]), [0, 0, 1], [0, 1, 0], (2, 2))
    assert z.is_hermitian() and not z.is_symmetric()
    b = GIVEN["blocks"].tensor()
    assert (b + b.T).is_symmetric() and not b.is_symmetric()


@pytest.mark.parametrize("size, is_hermitian", [(1e-20, True), (5e-16, True), (1e-14, False), (1.0, False)])
@pytest.mark.parametrize("scale", [1.0, 1e8])
def test_solvers_and_predicates_judge_alike(size, is_hermitian, scale):
    """Entries that are small relative to the root of a_ii a_jj do not count, whatever their signs are."""
    dense = torch.tensor([[scale, size], [-size, 1 / scale]], dtype=torch.float64)
    a = SparseTensor.from_dense(dense)
    assert a.is_hermitian() == a.is_symmetric() == a.is_positive_definite() == is_hermitian
    assert a.detect_matrix_type() == ("spd" if is_hermitian else "general")
    assert not a.is_symmetric(rtol=1e-12) and a.is_symmetric(rtol=2) and a.is_symmetric(atol=2 * size)
    assert stack([a, a]).is_hermitian().tolist() == [is_hermitian] * 2


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool, torch.float16, torch.float32])
def test_symmetry_of_every_dtype(dtype):
    for dense in (torch.tensor([[1, 1], [1, 1]]), torch.tensor([[1, 1], [0, 1]]), torch.tensor([[1, 3], [5, 1]])):
        dense = dense.to(dtype)
        a = SparseTensor(dense.flatten(), [0, 0, 1, 1], [0, 1, 0, 1], (2, 2))
        assert a.is_symmetric() == a.is_hermitian() == torch.equal(dense, dense.T)
        assert a.is_symmetric(atol=2)
    huge = torch.tensor([[0, 2**53 + 1], [2**53, 0]])
    assert not SparseTensor.from_dense(huge).is_symmetric() and SparseTensor.from_dense(huge + huge.T).is_symmetric()


def test_definiteness_is_judged_by_a_factorisation():
    n = 6
    line = SparseTensor.tridiagonal(n)
    plane = line.kron(SparseTensor.eye(n)) + SparseTensor.eye(n).kron(line)
    assert plane.is_positive_definite()  # no row is strictly dominant
    assert not (plane - 3.0 * SparseTensor.eye(n * n)).is_positive_definite()
    shifts = torch.tensor([0.0, -1.0, 2.0], dtype=torch.float64)
    batch = line.with_values(torch.stack([(line + s * SparseTensor.eye(n)).slots() for s in shifts])[:, _order(line)])
    assert batch.is_positive_definite().tolist() == [True, False, True]
    assert not GIVEN["square"].tensor().is_positive_definite()  # not symmetric
    assert not GIVEN["wide"].tensor().is_positive_definite()
    assert plane.detect_matrix_type() == "spd" and (-plane).detect_matrix_type() == "hermitian"
    assert (plane.to(torch.complex128) * 1j).detect_matrix_type() == "symmetric"
    assert GIVEN["batched"].tensor().detect_matrix_type() == "general"


def _order(tensor):
    """Slots in the order of the caller's entries."""
    return torch.from_numpy(tensor.structure.entries.target)


def test_components_are_those_of_scipy():
    for seed in range(20):
        torch.manual_seed(seed)
        rows, columns = torch.randint(0, 12, (2, 8))
        a = SparseTensor(torch.randn(3, 8, dtype=torch.float64), rows, columns, (3, 12, 12))
        labels, count = a.connected_components()
        expected = scipy.sparse.csgraph.connected_components(a.to_scipy(0), directed=False)
        assert count == expected[0] and labels.tolist() == expected[1].tolist()
        assert a.has_isolated_components() == (count > 1)
        parts, dense = a.to_connected_components(), a.to_dense()
        assert len(parts) == count
        for label, part in enumerate(parts):
            at = labels == label
            same(part.to_dense(), dense[:, at][:, :, at])
    with pytest.raises(lacuna.ShapeError, match="square"):
        GIVEN["wide"].tensor().connected_components()


def test_nature():
    assert SparseTensor.tridiagonal(5).nature["lower"] == 1
