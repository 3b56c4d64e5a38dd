# SPDX-License-Identifier: Apache-2.0
"""SparseTensor from and to torch's sparse layouts, dense tensors, SciPy, pictures; predicates of each matrix."""

import sys

import pytest
import scipy.sparse
import scipy.sparse.csgraph
import torch
from reference import same
from sparse_cases import GIVEN, Given, check, check2, differentiates, random

import lacuna
import lacuna.compat.torch_sla as sla
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


# -- torch.func -------------------------------------------------------------------------------------------------------

FUNC = torch.func


def systems(count=3):
    """Matrices that are not symmetric, of different places, and right-hand sides."""
    torch.manual_seed(5)
    dense = 4 * torch.eye(4, dtype=torch.float64) + torch.randn(count, 4, 4, dtype=torch.float64)
    dense = dense * (torch.rand(count, 4, 4) < 0.7) + 4 * torch.eye(4, dtype=torch.float64)
    return dense, torch.randn(count, 4, dtype=torch.float64)


def solved(a, b):
    return SparseTensor.of(a).flatten_blocks().solve(b) ** 3


def twin_solved(a, b):
    return torch.linalg.solve(a, b) ** 3


TRANSFORMS = {
    "vmap": lambda f, xs: FUNC.vmap(f)(xs),
    "grad": lambda f, xs: FUNC.grad(lambda x: f(x).sum())(xs[0]),
    "vjp": lambda f, xs: FUNC.vjp(f, xs[0])[1](xs[1])[0],
    "jvp": lambda f, xs: FUNC.jvp(f, (xs[0],), (xs[1],)),
    "jacrev": lambda f, xs: FUNC.jacrev(f)(xs[0]),
    "jacfwd": lambda f, xs: FUNC.jacfwd(f)(xs[0]),
    "hessian": lambda f, xs: FUNC.hessian(lambda x: f(x).sum())(xs[0]),
    "vmap_grad": lambda f, xs: FUNC.vmap(FUNC.grad(lambda x: f(x).sum()))(xs),
}


@pytest.mark.parametrize("requires_grad", [False, True], ids=["frozen", "leaf"])
@pytest.mark.parametrize("batch", [False, True], ids=["one", "batch"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_functions_that_close_over_a_torch_tensor_transform(name, batch, requires_grad):
    dense, xs = systems()
    dense = dense if batch else dense[0]
    if batch and name != "coo":
        dense = torch.stack([dense[0], 2 * dense[0], -dense[0]])  # torch wants as many entries in each
    given = in_layout(name, dense).requires_grad_(requires_grad)
    of = lambda f, a: lambda x: f(a, x.expand(3, 4)[..., None]).sum((0, 2)) if batch else f(a, x)  # noqa: E731
    for transform in TRANSFORMS.values():
        same(transform(of(solved, given), xs), transform(of(twin_solved, dense), xs))
    if requires_grad:  # the graph around the transform has the tensor's gradient
        first = lambda a, f: FUNC.grad(lambda x: of(f, a)(x).sum())(xs[0]).pow(2).sum()  # noqa: E731
        (grad,) = torch.autograd.grad(first(given, solved), given)
        twin = dense.clone().requires_grad_()
        (expected,) = torch.autograd.grad(first(twin, twin_solved), twin)
        stored = in_layout(name, dense).to_dense() != 0 if name in ("coo", "csr", "csc") else 1.0
        assert grad.layout is given.layout
        same(grad.to_dense() * stored, expected * stored)


def test_gradients_of_coo_tensors_within_transforms():
    """COO is the layout that transforms can be given."""
    dense, xs = systems()
    stored, any_stored = dense[0] != 0, (dense != 0).any(0)
    loss, other = (lambda f: lambda a: f(a, xs[0]).sum())(solved), (lambda f: lambda a: f(a, xs[0]).sum())(twin_solved)
    one, batch = dense[0].to_sparse(), dense.to_sparse()
    grad = FUNC.grad(loss)(one)
    assert grad.layout is torch.sparse_coo and grad._nnz() == one._nnz()
    same(grad.to_dense(), FUNC.grad(other)(dense[0]) * stored)
    twice = FUNC.grad(lambda a: FUNC.grad(loss)(a).to_dense().pow(2).sum())(one)
    same(twice.to_dense(), FUNC.grad(lambda a: (FUNC.grad(other)(a) * stored).pow(2).sum())(dense[0]) * stored)
    same(FUNC.vjp(lambda a: solved(a, xs[0]), one)[1](xs[1])[0].to_dense(),
         FUNC.vjp(lambda a: twin_solved(a, xs[0]), dense[0])[1](xs[1])[0] * stored)  # fmt: skip
    twice_given = torch.sparse_coo_tensor(one._indices().repeat(1, 2), one._values().repeat(2) / 2, one.shape)
    same(FUNC.grad(loss)(twice_given).to_dense(), grad.to_dense())
    for dims in (0, 1, 2):
        moved = dense.movedim(0, dims).to_sparse()
        same(FUNC.vmap(solved, (dims, 0))(moved, xs), FUNC.vmap(twin_solved)(dense, xs))
    same(FUNC.vmap(FUNC.grad(loss))(batch).to_dense(), FUNC.vmap(FUNC.grad(other))(dense) * any_stored)
    total = FUNC.grad(lambda a: FUNC.vmap(loss)(a).sum())(batch)
    same(total.to_dense(), FUNC.grad(lambda a: FUNC.vmap(other)(a).sum())(dense) * any_stored)
    batched = lambda f: lambda a: f(a, xs[..., None]).sum()  # noqa: E731
    got = FUNC.grad(batched(solved))(batch)  # a batch keeps the places of each matrix
    assert got._nnz() == batch._nnz()
    same(got.to_dense(), FUNC.grad(batched(twin_solved))(dense) * (dense != 0))


def test_coo_tensors_that_are_made_within_transforms():
    a, x = GIVEN["square"].tensor(), random(5, like=GIVEN["square"].values)
    through = lambda v: solved(a.with_values(v).to_sparse_coo(), x)  # noqa: E731
    straight = lambda v: a.with_values(v).solve(x) ** 3  # noqa: E731
    values = torch.stack([a.values, 2 * a.values])
    for name in ("vmap", "grad", "jacrev", "vmap_grad"):
        same(TRANSFORMS[name](through, values), TRANSFORMS[name](straight, values))
    same(FUNC.jacrev(FUNC.jacrev(through))(a.values), FUNC.jacrev(FUNC.jacrev(straight))(a.values))
    dense = FUNC.vmap(lambda v: a.with_values(v).to_sparse_coo())(values)
    assert dense.layout is torch.sparse_coo
    same(dense.to_dense(), a.with_values(values).to_dense())


def test_what_torch_cannot_express_says_the_way_out():
    a = GIVEN["square"].tensor()
    for name in ("csr", "csc", "bsr", "bsc"):
        whole = a if name in ("csr", "csc") else GIVEN["blocks"].tensor()
        for transform in (FUNC.grad, FUNC.vmap, FUNC.jacrev):
            with pytest.raises(lacuna.UnsupportedError, match="stay with the SparseTensor or its values"):
                make = lambda v: getattr(whole.with_values(v), f"to_sparse_{name}")().sum()  # noqa: E731
                transform(make)(whole.values[None] if transform is FUNC.vmap else whole.values)
    with pytest.raises(lacuna.UnsupportedError, match="has no tangent"):
        FUNC.jvp(lambda v: a.with_values(v).to_sparse_coo(), (a.values,), (a.values,))
    grad = FUNC.grad(lambda a: a.solve(random(5, like=a.values)).sum())(a)  # the way out
    assert grad.to_sparse_csr().layout is torch.sparse_csr


class Layer(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x):
        return SparseTensor.of(self.weight).flatten_blocks().solve(x)


@pytest.mark.parametrize("name", LAYOUTS)
def test_functional_calls_with_sparse_parameters(name):
    dense, xs = systems()
    layer, given = Layer(in_layout(name, dense[0])), in_layout(name, dense[1])
    call = lambda w, x: FUNC.functional_call(layer, {"weight": w}, x)  # noqa: E731
    same(call(given, xs[0]), torch.linalg.solve(dense[1], xs[0]))
    same(FUNC.vmap(lambda x: call(given, x))(xs), FUNC.vmap(lambda x: torch.linalg.solve(dense[1], x))(xs))
    same(FUNC.jacrev(lambda x: call(given, x))(xs[0]), torch.linalg.inv(dense[1]))
    if name == "coo":
        grad = FUNC.grad(lambda w: call(w, xs[0]).sum())(given)
        expected = FUNC.grad(lambda w: torch.linalg.solve(w, xs[0]).sum())(dense[1])
        same(grad.to_dense(), expected * (dense[1] != 0))


@pytest.mark.parametrize("name", ["grad", "vmap", "jvp", "jacrev", "hessian"])
def test_dense_tensors_within_transforms(name):
    dense, xs = systems()
    union = (dense != 0).any(0)
    got = TRANSFORMS[name](lambda a: solved(SparseTensor.from_dense(a), xs[0]), dense)
    expected = TRANSFORMS[name](lambda a: twin_solved(a, xs[0]), dense)
    if name == "jvp":
        same(got[0], expected[0])
        at = dense[0] != 0
        same(got[1], FUNC.jvp(lambda a: twin_solved(a, xs[0]), (dense[0],), (dense[1] * at,))[1])
    elif name == "hessian":
        at = (dense[0] != 0).double()
        same(got, expected * at * at[..., None, None])
    else:
        same(got, expected if name == "vmap" else expected * (dense[0] != 0))
    assert SparseTensor.from_dense(dense).nnz == union.sum()


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


def test_spy_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # as if it were not installed
    with pytest.raises(ImportError, match="pip install matplotlib"):
        GIVEN["square"].tensor().spy()


@pytest.fixture
def pyplot():
    pytest.importorskip("matplotlib", reason="matplotlib is not here").use("Agg")
    import matplotlib.pyplot

    yield matplotlib.pyplot
    matplotlib.pyplot.close("all")


def test_spy_draws_each_entry_at_its_place(pyplot, tmp_path):
    a = GIVEN["batched"].tensor()
    axes = a.spy(1, cmap="gray")
    (points,) = axes.collections
    drawn = {tuple(place): number for place, number in zip(points.get_offsets().tolist(), points.get_array())}
    dense = a.to_dense()[1].abs()
    assert len(drawn) == a.pattern.nnz and axes.yaxis_inverted() and points.get_cmap().name == "gray"
    assert all(number == pytest.approx(dense[int(row), int(column)].item()) for (column, row), number in drawn.items())
    assert axes.get_title() == f"5 x 5, nnz={a.pattern.nnz}" and len(axes.figure.axes) == 2  # one is the colour bar
    own = pyplot.subplots()[1]
    assert GIVEN["complex"].tensor().spy(ax=own, show_colorbar=False) is own and len(own.figure.axes) == 1
    GIVEN["blocks"].tensor().spy(save_path=tmp_path / "spy.png", title="blocks", dpi=40)
    assert pyplot.imread(tmp_path / "spy.png").ndim == 3 and pyplot.gca().figure.axes[0].get_title() == "blocks"


def test_spy_with_the_words_of_torch_sla(pyplot):
    axes = sla.SparseTensor.of(GIVEN["square"].tensor()).spy(figsize=(3, 2), grid_color="red", show_colorbar=False)
    assert axes.figure.get_size_inches().tolist() == [3, 2]
    assert {line.get_color() for line in axes.get_xgridlines()} == {"red"}


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
