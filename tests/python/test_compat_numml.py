# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat.numml: the peer's calls over Lacuna, and what it gets wrong, right."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as scipy_sparse
import torch
from one_graph import ONE_GRAPH
from reference import same
from sparse_cases import GIVEN, check, check2, random

import lacuna
import lacuna.compat.numml as numml
import lacuna.compat.numml.sparse as sp
from lacuna.compat.numml import autograd, iterative, krylov, nn, utils
from lacuna.compat.numml.profiler import Profiler
from lacuna.compat.numml.sparse import SparseCSRTensor

D = torch.float64
GIVEN_SQUARE = GIVEN["square"]


def matrix(dense=None):
    return SparseCSRTensor(GIVEN_SQUARE.dense() if dense is None else dense)


def laplacian(n=16):
    return sp.eye(n, dtype=D) * 2 - sp.eye(n, k=1, dtype=D) - sp.eye(n, k=-1, dtype=D)


def test_every_way_to_make_one():
    dense = GIVEN_SQUARE.dense()
    scipy = scipy_sparse.csr_array(dense.numpy())
    ways = {
        "dense": SparseCSRTensor(dense), "coo": SparseCSRTensor(dense.to_sparse_coo()), "scipy": SparseCSRTensor(scipy),
        "triple": SparseCSRTensor((GIVEN_SQUARE.values, (GIVEN_SQUARE.rows, GIVEN_SQUARE.columns)), (5, 5)),
        "csr": SparseCSRTensor((scipy.data, scipy.indices, scipy.indptr), (5, 5)),
        "torch": SparseCSRTensor(tuple(map(torch.tensor, (scipy.data, scipy.indices, scipy.indptr))), (5, 5)),
    }  # fmt: skip
    for name, A in ways.items():
        same(A.to_dense(), dense), same(A @ torch.ones(5, dtype=D), dense.sum(1))
        assert A.dtype == D and A.shape == (5, 5) and A.nnz == len(A.data), name  # SciPy's are float32 there
        assert A.indices.dtype == torch.int64 and A.indptr.tolist() == scipy.indptr.tolist()
    assert matrix().to_scipy_csr().nnz == matrix().tocoo().nnz == scipy.nnz
    same(matrix().to_coo().to_dense(), dense)
    with pytest.raises(lacuna.ArgumentError, match="shape"):
        SparseCSRTensor((scipy.data, scipy.indices, scipy.indptr))
    with pytest.raises(lacuna.ArgumentError):
        SparseCSRTensor("matrix")


def test_columns_beyond_float32():
    """Indices go through float32 there: 20000001 becomes 20000000."""
    wide = scipy_sparse.csr_array((np.array([1.0]), ([0], [20000001])), shape=(1, 20000002))
    assert SparseCSRTensor(wide).indices.tolist() == [20000001]


def test_data_is_the_leaf():
    A = matrix()
    data = A.data.clone().requires_grad_()
    B = SparseCSRTensor((data, A.indices, A.indptr), A.shape)
    (B @ torch.ones(5, dtype=D)).pow(2).sum().backward()
    assert isinstance(B.grad, SparseCSRTensor) and B.grad.data is not None
    same(B.grad.data, data.grad)
    A.requires_grad = True
    assert A.requires_grad and A.copy().detach().requires_grad is False
    for back in (copy.deepcopy(matrix()), pickle.loads(pickle.dumps(matrix()))):
        same(back.to_dense(), matrix().to_dense())


def test_products():
    dense, other = GIVEN_SQUARE.dense(), random(5, 5, like=GIVEN_SQUARE.values)
    A, B = matrix(), matrix(torch.where(other > 0, other, torch.zeros_like(other)))
    wide = SparseCSRTensor(random(3, 5, like=dense))
    same((A @ B).to_dense(), dense @ B.to_dense()), same(A @ other, dense @ other)
    batch = random(4, 2, 5, 3, like=dense)
    same(A @ batch, dense @ batch), same(wide @ batch, wide.to_dense() @ batch)  # rectangular ones fail there
    same((A @ torch.tensor(2.0, dtype=D)).to_dense(), 2 * dense)
    same((A + B).to_dense(), dense + B.to_dense()), same((A - B).to_dense(), dense - B.to_dense())
    same((A * B).to_dense(), dense * B.to_dense())  # not there
    same((A - 1).data, A.data - 1)  # adds 1 there
    same((2 / A).data, 2 / A.data), same((A**2).data, A.data**2), same(abs(-A).data, A.data.abs())
    same(A.T.to_dense(), dense.T), same(A.transpose().to_dense(), dense.T), same(A.H.to_dense(), dense.T)


def test_parts_and_sums():
    wide = SparseCSRTensor(random(3, 5, like=torch.zeros(1, dtype=D)))
    dense = wide.to_dense()
    same(wide.diagonal(), dense.diagonal()), same(wide.row_sum(), dense.sum(1)), same(wide.sum(), dense.sum())
    same(SparseCSRTensor(dense.T).diagonal(), dense.T.diagonal())  # as many as rows there
    same(matrix().trace(), GIVEN_SQUARE.dense().trace())
    A = matrix()
    shape, data, indices, indptr = sp.unpack_csr(A)
    same(sp.repack_csr(shape, data, indices, indptr).to_dense(), A.to_dense())
    at = sp.diagonal_idx(A)
    same(torch.where(at < 0, torch.zeros(5, dtype=D), A.data[at]), A.to_dense().diagonal())
    same(A.to_dense()[sp.row_indices(A), A.indices], A.data)
    x, y = torch.tensor([1.0, 0, 2], dtype=D), torch.tensor([0.0, 3, 4, 0], dtype=D)
    outer = sp.spouter(x, y)
    same(outer.to_dense(), torch.outer(x, y))
    assert outer.nnz == 4 and isinstance(outer, SparseCSRTensor)
    same(sp.diag(x, k=1).to_dense(), torch.diag(x, 1)), same(sp.eye(3, k=-1).to_dense(), torch.diag(torch.ones(2), -1))


@pytest.mark.parametrize("k", [-1, 0, 1])
def test_triangles_keep_dtype_and_gradients(k):
    """Gradients below 1 become 0 there."""
    A = matrix()
    for name in ("tril", "triu"):
        data = A.data.clone().requires_grad_()
        part = getattr(A.with_values(data), name)(k)
        assert part.dtype == D
        same(part.to_dense(), getattr(GIVEN_SQUARE.dense(), name)(k))
        (part.data * 0.125).sum().backward()
        assert set(data.grad.unique().tolist()) <= {0.0, 0.125} and data.grad.sum() > 0


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_solves_have_gradients_only_where_they_read(lower, unit):
    A, b = matrix(), random(5, like=GIVEN_SQUARE.values)
    twin = GIVEN_SQUARE.dense().requires_grad_()
    part = twin.tril(-1 if unit else 0) if lower else twin.triu(1 if unit else 0)
    want = torch.linalg.solve(part + torch.eye(5, dtype=D) if unit else part, b)
    data = A.data.clone().requires_grad_()
    got = sp.linalg.spsolve_triangular(A.with_values(data), b, lower, unit)
    same(got, want), got.sum().backward(), want.sum().backward()
    same(A.with_values(data.grad).to_dense(), torch.where(A.to_dense() != 0, twin.grad, torch.zeros_like(twin)))
    same(A.solve_triangular(not lower, unit, b), want)


def test_solves_pivot():
    """No pivots there: inf for the first, [0, 1] for the second."""
    for dense in ([[0.0, 1], [1, 0]], [[1e-20, 1], [1, 1]]):
        dense = torch.tensor(dense, dtype=D)
        b = dense @ torch.ones(2, dtype=D)
        same(sp.linalg.spsolve(SparseCSRTensor(dense), b), torch.ones(2, dtype=D))
        same(sp.splu_solve(sp.splu(SparseCSRTensor(dense)), b), torch.ones(2, dtype=D))


def test_derivatives_of_every_order():
    """None has a second derivative, a forward mode or vmap there."""
    A, b = matrix(), random(5, like=GIVEN_SQUARE.values)
    inputs = A.data.clone().requires_grad_(), b.clone().requires_grad_()
    for function in (lambda v, b: A.with_values(v) @ b, lambda v, b: sp.spsolve(A.with_values(v), b),
                     lambda v, b: sp.splu_solve(sp.splu(A.with_values(v)), b),
                     lambda v, b: (A.with_values(v) @ A.with_values(v).T).data,
                     lambda v, b: sp.spsolve_triangular(A.with_values(v), b)):  # fmt: skip
        assert check(function, inputs, check_forward_ad=True) and check2(function, inputs)
    bs = random(3, 5, like=b)
    same(torch.func.vmap(lambda b: sp.spsolve(A, b))(bs), torch.linalg.solve(A.to_dense(), bs.T).T)
    compiled = torch.compile(lambda v, b: sp.spsolve(A.with_values(v), b), fullgraph=ONE_GRAPH, backend="aot_eager")
    same(compiled(A.data, b), torch.linalg.solve(A.to_dense(), b))


def test_conjugate_gradients():
    A, b = laplacian(), torch.linspace(-1, 1, 16, dtype=D)
    want = torch.linalg.solve(A.to_dense(), b)
    x, history = krylov.conjugate_gradient(A, b, rtol=1e-10)
    same(x, want, 1e-7)
    same(history[0], torch.linalg.vector_norm(b))
    assert history[-1] <= 1e-9 * history[0] and history.ndim == 1
    operator = sp.LinearOperator(A.shape, lambda x: A @ x, lambda x: A @ x)
    half = sp.LinearOperator(A.shape, lambda x: x / 2, lambda x: x / 2)
    same(krylov.conjugate_gradient(operator, b, M=half, rtol=1e-10)[0], want, 1e-7)
    same(krylov.conjugate_gradient(A, b, x=want + 0.01, rtol=1e-10)[0], want, 1e-7)
    few, history = krylov.conjugate_gradient(A, b, iterations=3)
    assert len(history) <= 5 and torch.linalg.vector_norm(b - A @ few) < torch.linalg.vector_norm(b) * 10
    shifted = A - sp.eye(16, dtype=D)
    same(krylov.conjugate_residual(shifted, b, rtol=1e-11)[0], torch.linalg.solve(shifted.to_dense(), b), 1e-6)


def test_conjugate_gradients_differentiate():
    A, b = laplacian(6), random(6, like=torch.zeros(1, dtype=D))
    data = A.data.clone().requires_grad_()
    krylov.conjugate_gradient(A.with_values(data), b, rtol=1e-13)[0].sum().backward()
    twin = A.to_dense().requires_grad_()
    torch.linalg.solve(twin, b).sum().backward()
    same(A.with_values(data.grad).to_dense(), torch.where(A.to_dense() != 0, twin.grad, torch.zeros_like(twin)), 1e-8)


def test_layers():
    generator = torch.Generator().manual_seed(0)
    edges = (torch.rand(7, 7, generator=generator) < 0.4).double()
    adjacency = ((edges + edges.T) > 0).double().fill_diagonal_(0)
    A, X = SparseCSRTensor(adjacency), torch.randn(7, 3, dtype=D, generator=generator)
    whole = adjacency + torch.eye(7, dtype=D)
    d = torch.diag(whole.sum(1) ** -0.5)
    S = d @ whole @ d
    gcn, tag = nn.GCNConv(3, 4).double(), nn.TAGConv(3, 4, k=3).double()
    same(gcn(A, X), S @ X @ gcn.weights + gcn.bias)
    same(tag(A, X), sum(torch.linalg.matrix_power(S, k + 1) @ X @ tag.weights[k] for k in range(3)) + tag.bias)
    plain = nn.GCNConv(1, 2, normalize=False).double()
    same(plain(A, X[:, 0]), adjacency @ X[:, :1] @ plain.weights + plain.bias)
    model = nn.Sequential(gcn, nn.SeqWrapper(torch.nn.ReLU()), nn.GCNConv(4, 1).double())
    model(A, X).sum().backward()
    assert model(A, X).shape == (7,) and all(p.grad is not None for p in model.parameters())
    vector = nn.model_to_vector(model)
    nn.vector_to_model(model, 2 * vector)
    same(nn.model_to_vector(model), 2 * vector)
    leaf = vector.clone().requires_grad_()

    def loss(weights):
        nn.vector_to_model(model, weights)
        return model(A, X).pow(2).sum()

    (gradient,) = torch.autograd.grad(loss(leaf), leaf)
    same(gradient, utils.fd(lambda w: loss(w.requires_grad_()), vector, 1e-6), 1e-6)
    nn.vector_to_model(model, vector)  # parameters again
    same(nn.model_to_vector(model), vector)
    assert all(isinstance(p, torch.nn.Parameter) for p in model.parameters())


def test_products_with_jacobians_and_differences():
    A, b = matrix(), random(5, like=GIVEN_SQUARE.values)
    A.requires_grad = True
    v = random(5, like=b, seed=3)
    by_matrix, by_vector, by_number = autograd.vjp(lambda A, x, s: s * (A @ x), (A, b.requires_grad_(), 2.0), v)
    same(
        by_matrix.to_dense(), torch.where(A.to_dense() != 0, 2 * torch.outer(v, b), torch.zeros(5, 5, dtype=D)).detach()
    )
    same(by_vector, 2 * A.to_dense().detach().T @ v)
    assert by_number is None
    same(autograd.vjp_single(lambda A, x: A @ x, (A, b), 1, v), A.to_dense().detach().T @ v)
    f = lambda A: (A @ b.detach()).pow(3).sum()  # noqa: E731
    same(utils.sp_fd(f, A.detach(), 1e-5).data, utils.sp_grad(f, A).data, 1e-6)
    g = lambda x: x.pow(3).sum()  # noqa: E731
    same(utils.fd(g, b.detach(), 1e-5), utils.grad(g, b), 1e-6)


def test_blocks_of_code_are_timed(capsys):
    with Profiler("outer") as outer, Profiler("inner"):
        pass
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("]")[0] for line in lines] == ["[outer", "  [inner"] and outer.running_time > 0
    with pytest.raises(ZeroDivisionError), Profiler("outer"):  # what is raised within is not kept
        1 / 0
    assert "[outer]" in capsys.readouterr().out


def test_names_to_come_are_there():
    for call in (iterative.FixedPointIteration, iterative.fp_wrapper):
        with pytest.raises(NotImplementedError, match="fixed points"):
            call()
    assert numml.sparse is sp
