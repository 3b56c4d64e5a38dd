# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat: what is known to be wrong in the packages whose names it has, each as the sentence that holds here.
Faults that a test of test_compat_*.py or test_sparse_tensor_*.py already shows are not repeated."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from reference import same
from sparse_cases import check, check2, entries, given, grid, random

import lacuna
import lacuna.compat.numml.sparse as numml
import lacuna.compat.torch_sla as sla
import lacuna.compat.torchsparsegradutils as tsgu
from lacuna.compat.numml import krylov
from lacuna.compat.numml.sparse import SparseCSRTensor
from lacuna.compat.torch_sla import PreconditionerConfig, SparseTensor
from lacuna.compat.torchsparsegradutils import cupy, jax, utils

D, C = torch.float64, torch.complex128
LIKE, COMPLEX = torch.zeros(1, dtype=D), torch.zeros(1, dtype=C)
LARGE = 200_000  # rows: a dense matrix of as many has 320 GB


def scaled_grid(m=12):
    """The five-point matrix with coefficients from 1 to e^6."""
    d = sp.diags_array(np.exp(np.linspace(0, 3, m * m)))
    return (d @ grid(m) @ d).tocoo()


def left(matrix, x, b):
    """|b - A x| / |b| by SciPy."""
    return np.linalg.norm(b.numpy() - matrix @ x.numpy()) / np.linalg.norm(b.numpy())


def definite(n=6, like=LIKE):
    a = random(n, n, like=like)
    return a @ a.mH + n * torch.eye(n, dtype=like.dtype)


def duplicated(matrix):
    """Entries of which every one is given in two halves, in no order."""
    val, row, col, shape = entries(matrix)
    order = torch.randperm(2 * len(val), generator=torch.Generator().manual_seed(0))
    return torch.cat([val, val])[order] / 2, torch.cat([row, row])[order], torch.cat([col, col])[order], shape


def uncoalesced(dense):
    """A COO tensor with every entry in two halves, and its values, which are the leaf."""
    at = dense.nonzero().T
    values = (dense[tuple(at)] / 2).repeat(2).requires_grad_()
    return torch.sparse_coo_tensor(at.repeat(1, 2), values, dense.shape), values


# -- torch_sla: matrices ----------------------------------------------------------------------------------------------


def test_the_order_of_entries_does_not_matter_to_sums():
    _, (val, row, col, shape) = given()
    A, B = SparseTensor(val, row, col, shape), SparseTensor(val.flip(0), row.flip(0), col.flip(0), shape)
    same((A + B).to_dense(), 2 * A.to_dense()), same((A - B).to_dense(), torch.zeros(shape, dtype=D))


@pytest.mark.parametrize("reduce", ["max", "min", "prod", "mean", "sum"])
def test_reductions_and_norms_need_no_dense_matrix(reduce):
    A = SparseTensor.tridiagonal(LARGE, 4.0, -1.0)
    same(A.norm(1), torch.tensor(6.0, dtype=D)), same(A.norm(float("inf")), torch.tensor(6.0, dtype=D))
    want = {"max": 4.0, "min": -1.0, "prod": 4.0, "mean": 2 / 3, "sum": 2.0}[reduce]
    same(getattr(A, reduce)(axis=1)[1:-1], torch.full((LARGE - 2,), want, dtype=D))


@pytest.mark.parametrize("ord", ["fro", 1, 2, float("inf")])
def test_norms_of_a_batch_have_gradients(ord):
    case, (val, row, col, shape) = given("batched")
    leaf, twin = val.clone().requires_grad_(), val.clone().requires_grad_()
    got, want = SparseTensor(leaf, row, col, shape).norm(ord), torch.linalg.matrix_norm(case.dense(twin), ord)
    same(got, want, 1e-8)
    same(torch.autograd.grad(got.sum(), leaf), torch.autograd.grad(want.sum(), twin), 1e-6)


def test_blocks_need_not_be_complete():
    dense = torch.zeros(4, 4, dtype=D)
    dense[0, 0], dense[2, 3] = 1.0, 2.0
    blocks = SparseTensor.from_dense(dense).unflatten_blocks((2, 2))
    assert blocks.is_block and blocks.nnz == 2
    same(blocks.flatten_blocks().to_dense(), dense)


def test_components_of_a_batch_are_taken_apart():
    dense = torch.stack([torch.block_diag(s * torch.ones(2, 2), s * torch.ones(3, 3)) for s in (1.0, 2.0)])
    labels, count = SparseTensor.from_dense(dense).connected_components()
    assert count == 2 and labels.reshape(-1, 5)[0].tolist() == [0, 0, 1, 1, 1]
    for part, size in zip(SparseTensor.from_dense(dense).to_connected_components(), (2, 3)):
        same(part.to_dense(), torch.stack([torch.ones(size, size), 2 * torch.ones(size, size)]))


# -- torch_sla: solves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres", "lgmres", "qmr", "minres"])
def test_what_is_asked_for_is_reached(method):
    """SciPy's own tolerance of 1e-5 decides there."""
    matrix, b = grid(10), random(100, like=LIKE)
    assert left(matrix, sla.spsolve(*entries(matrix), b, backend="scipy", method=method, tol=1e-11), b) <= 1e-11


def test_a_restart_is_used():
    A, b = SparseTensor(*entries(grid(12))), random(144, like=LIKE)
    words = dict(method="gmres", preconditioner="none", rtol=1e-9, maxiter=2000, return_info=True)
    short, long = (sla.solve(A, b, restart=k, **words)[1] for k in (4, 60))
    assert short.converged and long.converged and short.iter_count > long.iter_count


def test_a_function_is_not_probed_column_by_column():
    matrix, b, calls = scaled_grid(30), random(900, like=LIKE), []
    A, diagonal = SparseTensor.from_scipy(matrix), torch.tensor(matrix.diagonal())

    def product(x):
        calls.append(1)
        return (A @ x) / diagonal

    x = sla.solve(product, b / diagonal, shape=(900, 900), method="gmres", rtol=1e-9)
    assert left(matrix, x, b) < 1e-5 and len(calls) < 900


def test_every_matrix_of_a_batch_is_judged_for_itself():
    """Symmetry and definiteness of the first decide there."""
    one = torch.eye(5, dtype=D)
    A = SparseTensor.from_dense(torch.stack([one, random(5, 5, like=LIKE) + 3 * one]))
    one, b = A.with_values(A.values[0]), random(2, 5, like=LIKE)
    same(one.solve_batch(A.values, b), torch.linalg.solve(A.to_dense(), b))
    same(A.solve(b), one.solve_batch(A.values, b))
    assert A.is_symmetric().tolist() == [True, False] and A.detect_matrix_type() == "general"


def test_a_batch_is_factored_once_forward_and_backward():
    """16 systems on one pattern take 32 factorisations there."""
    _, (val, row, col, shape) = given()
    values = torch.stack([val * (1 + k) for k in range(4)]).requires_grad_()
    A = SparseTensor(values, row, col, (4, *shape))
    before = A.solver(method="lu").report["factorisations"]
    A.solve(random(4, 5, like=val), method="lu").sum().backward()
    assert A.solver(method="lu").report["factorisations"] - before <= 4


def test_a_factorization_is_of_a_batch_and_differentiates_twice():
    _, (val, row, col, shape) = given("batched")
    inputs = val.clone().requires_grad_(), random(3, 5, like=val).requires_grad_()
    function = lambda v, b: SparseTensor(v, row, col, shape).lu().solve(b)  # noqa: E731
    assert check(function, inputs) and check2(function, inputs)


@pytest.mark.parametrize("method", ["cg", "minres", "lsqr", "lsmr", "bicgstab", "cholesky", "ldlt"])
def test_second_derivatives_are_right_by_every_method(method):
    """There: errors, 1 % off, 17 to 52 % off, or a matrix of rank one, by the method."""
    dense = definite(4)
    A, b = SparseTensor.from_dense(dense), random(4, like=LIKE)

    def function(half, b):  # symmetric, so that no difference leaves what CG and Cholesky may take
        whole = half.reshape(4, 4)
        return A.with_values(((whole + whole.T) / 2).flatten()).solve(b, method=method, tol=None if method in (
            "cholesky", "ldlt") else 1e-14)  # fmt: skip

    inputs = A.values.clone().requires_grad_(), b.requires_grad_()
    assert check(function, inputs, check_forward_ad=True) and check2(function, inputs)


@pytest.mark.parametrize("method", ["lsqr", "lsmr"])
def test_least_squares_differentiate_twice(method):
    A, b = SparseTensor.from_dense(random(5, 3, like=LIKE)), random(5, like=LIKE)
    inputs = A.values.clone().requires_grad_(), b.requires_grad_()
    function = lambda v, b: A.with_values(v).solve(b, method=method, tol=1e-14)  # noqa: E731
    assert check(function, inputs) and check2(function, inputs)


@pytest.mark.parametrize("preconditioner", ["none", "jacobi"])
def test_complex_columns_by_cg(preconditioner):
    H, B = definite(like=COMPLEX), random(6, 3, like=COMPLEX)
    x = SparseTensor.from_dense(H).solve(B, method="cg", preconditioner=preconditioner, tol=1e-12)
    same(x, torch.linalg.solve(H, B), 1e-9)


def test_a_function_may_be_the_preconditioner():
    matrix, b = scaled_grid(), random(144, like=LIKE)
    d = matrix.diagonal()
    A = SparseTensor(*entries(matrix))
    x, info = sla.solve(A, b, method="cg", preconditioner=lambda x, op: x / d[:, None], rtol=1e-10, return_info=True)
    _, plain = sla.solve(A, b, method="cg", preconditioner="none", rtol=1e-10, maxiter=5000, return_info=True)
    assert left(matrix, x, b) <= 1e-10 and info.iter_count < plain.iter_count


def test_preconditioners_are_what_their_names_say():
    """SSOR is Jacobi there, and counts as many iterations; IC(0) and ILU(0) beat both here."""
    A, b = SparseTensor(*entries(scaled_grid(20))), random(400, like=LIKE)
    words = dict(method="cg", rtol=1e-9, maxiter=5000, return_info=True)
    counts = {p: sla.solve(A, b, preconditioner=p, **words)[1].iter_count for p in ("none", "jacobi", "ssor", "ic0",
              "ilu", "polynomial", "amg")}  # fmt: skip
    assert counts["jacobi"] < counts["none"] and counts["ssor"] < 0.75 * counts["jacobi"]
    assert max(counts[p] for p in ("ic0", "ilu", "polynomial", "amg")) < counts["jacobi"]


def test_the_numbers_of_a_preconditioner_are_used():
    A, b = SparseTensor(*entries(grid(16))), random(256, like=LIKE)
    words = dict(method="cg", rtol=1e-9, return_info=True)

    def count(*kind, **numbers):
        return sla.solve(A, b, preconditioner=PreconditionerConfig(*kind, **numbers), **words)[1].iter_count

    assert count("ssor", omega=1.0) != count("ssor", omega=1.8)
    assert count("block_jacobi", block_size=64) < count("block_jacobi", block_size=2)


@pytest.mark.parametrize("preconditioner", ["jacobi", "block_jacobi", "ssor", "ic0", "amg"])
def test_preconditioners_sum_entries_of_one_place(preconditioner):
    """Block Jacobi takes the last of them there."""
    b, words = random(144, like=LIKE), dict(method="cg", preconditioner=preconditioner, rtol=1e-9, return_info=True)
    once = sla.solve(SparseTensor(*entries(scaled_grid())), b, **words)
    twice = sla.solve(SparseTensor(*duplicated(scaled_grid())), b, **words)
    assert once[1].iter_count == twice[1].iter_count
    same(once[0], twice[0], 1e-6)


@pytest.mark.parametrize("words", [{"backend": "pyamg"}, {"method": "cg", "preconditioner": "amg"}])
def test_a_hierarchy_never_answers_for_another_matrix(words):
    """Matrices whose samples and sums agree share one there: a residual of 3.7."""
    val, row, col, shape = entries(scaled_grid())
    b, other = random(144, like=LIKE), entries(sp.coo_array(scaled_grid().toarray()[::-1, ::-1]))
    for parts in ((val, row, col, shape), (2 * val, row, col, shape), other, (val, row, col, shape)):
        matrix = sp.coo_array((parts[0].numpy(), (parts[1].numpy(), parts[2].numpy())), shape=shape)
        assert left(matrix, sla.spsolve(*parts, b, tol=1e-9, **words), b) <= 1e-9


# -- torch_sla: determinants, files -----------------------------------------------------------------------------------


def test_a_condition_number_is_of_the_whole_spectrum():
    """Of its six largest singular values there: 1.05."""
    A = SparseTensor.diag(torch.arange(1.0, 101, dtype=D))
    same(A.condition_number(ord=1), torch.tensor(100.0, dtype=D))


def test_determinants_that_no_number_holds_have_logarithms_and_signs():
    for size in (1e-3, 1e3):
        A = SparseTensor.diag(torch.full((501,), -size, dtype=D))
        sign, size_of = A.slogdet()
        assert sign == -1
        same(size_of, torch.tensor(501 * np.log(size), dtype=D))
        same(A.logdet(), size_of)


@pytest.mark.parametrize("name", ["square", "batched", "complex"])
def test_determinants_differentiate_twice(name):
    _, (val, row, col, shape) = given(name)
    function = lambda v: SparseTensor(v, row, col, shape).det()  # noqa: E731
    assert check(function, val.clone().requires_grad_()) and check2(function, val.clone().requires_grad_())


@pytest.mark.parametrize("method", ["auto", "lu", "cholesky"])
@pytest.mark.parametrize("m", [4, 20])
def test_logarithms_of_determinants_have_gradients_by_every_method(method, m):
    """None there, or a stochastic one from 256 rows on."""
    val, row, col, shape = entries(grid(m))
    leaf = val.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(SparseTensor(leaf, row, col, shape).logdet(method=method), leaf)
    inverse = np.linalg.inv(grid(m).toarray())
    if method != "cholesky":  # which reads one triangle: its gradient lies there
        same(gradient, torch.tensor(inverse.T[row, col]), 1e-8)
    both = SparseTensor(gradient, row, col, shape)
    same((both + both.T).to_dense(), torch.tensor((inverse + inverse.T) * (grid(m).toarray() != 0)), 1e-8)


def test_the_gradient_of_a_determinant_costs_about_a_determinant():
    """A solve for each column there: 17 s against 0.05 s of 16384 rows."""
    val, row, col, shape = entries(grid(128))
    leaf = val.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(SparseTensor(leaf, row, col, shape).logdet(), leaf)
    b = torch.zeros(shape[0], dtype=D)
    b[5000] = 1.0
    column = sp.linalg.spsolve(grid(128).tocsc(), b.numpy())
    at = (row == 5000).nonzero()[:, 0]
    same(gradient[at], torch.tensor(column[col[at]]), 1e-8)


def test_low_precision_is_solved():
    for dtype in (torch.float16, torch.bfloat16):
        dense = torch.tensor([[4.0, 1], [2, 8]]).to(dtype)
        x = SparseTensor.from_dense(dense).solve(torch.tensor([6.0, 10]).to(dtype))
        assert x.dtype == dtype
        same(x.double(), torch.linalg.solve(dense.double(), torch.tensor([6.0, 10], dtype=D)), 1e-2)


# -- torchsparsegradutils ---------------------------------------------------------------------------------------------

MEMORY = """
import resource, torch, lacuna.compat.torchsparsegradutils as tsgu
n, k, p = 20000, 20, 128
row, col = torch.arange(n).repeat_interleave(k), torch.randint(n, (n * k,))
A = torch.sparse_coo_tensor(torch.stack([row, col]), torch.randn(n * k), (n, n)).coalesce().to_sparse_csr()
B = torch.randn(n, p, requires_grad=True)
A.requires_grad_()
tsgu.sparse_mm(A, torch.randn(n, 1)).sum().backward()  # what is made once
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tsgu.sparse_mm(A, B).backward(torch.ones(n, p))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_gradients_of_a_product_need_no_rows_for_each_entry():
    """Two of nnz x p and their product there: 600 MB of this, whose operands and gradients have 40."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 100


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_in_low_precision_have_gradients(dtype):
    dense, B = random(5, 4, like=LIKE).to(dtype), random(4, 3, like=LIKE).to(dtype)
    A = dense.to_sparse_csr().requires_grad_()
    tsgu.sparse_mm(A, B).sum().backward()
    assert A.grad.dtype == dtype
    same(A.grad.to_dense().double(), B.double().sum(1).expand(5, 4), 2e-2)


def test_triangular_solves_differentiate_twice():
    lower = (random(5, 5, like=LIKE) + 4 * torch.eye(5, dtype=D)).tril()
    at = lower.nonzero(as_tuple=True)
    for transpose in (False, True):

        def function(values, b, transpose=transpose):
            A = lacuna.torch.SparseTensor(values, *at, (5, 5))
            return tsgu.sparse_triangular_solve(A, b, upper=False, transpose=transpose)

        inputs = lower[at].clone().requires_grad_(), random(5, 2, like=LIKE).requires_grad_()
        assert check(function, inputs) and check2(function, inputs)


def test_what_a_solver_tells_beside_its_solution_passes():
    A, b = definite().to_sparse_csr(), random(6, like=LIKE)
    x = tsgu.sparse_generic_solve(A, b, solve=utils.linear_cg, tol=1e-11, return_info=True)
    same(x, torch.linalg.solve(definite(), b), 1e-8)


def test_second_derivatives_that_torchs_constructors_lose_are_said():
    """Terms of a Hessian are lost without a word there."""
    dense, b = definite(3), random(3, like=LIKE)
    values = dense.flatten().requires_grad_()
    made = torch.sparse_coo_tensor(dense.nonzero().T, values, (3, 3))
    for A in (made, made.coalesce()):
        with pytest.warns(lacuna.LacunaWarning, match="differentiable once"):
            torch.autograd.grad(tsgu.sparse_generic_solve(A, b).pow(2).sum(), values, create_graph=True)


@pytest.mark.parametrize("solve", [utils.linear_cg, utils.minres, utils.bicgstab], ids=["cg", "minres", "bicgstab"])
def test_a_tolerance_reaches_every_solver(solve):
    """`tol` raises there, as in the first lines of its introduction."""
    matrix, b = grid(10), random(100, like=LIKE)
    A = torch.tensor(matrix.toarray()).to_sparse_csr()
    assert left(matrix, tsgu.sparse_generic_solve(A, b, solve=solve, tol=1e-10), b) <= 1e-10


@pytest.mark.parametrize("function", [tsgu.sparse_generic_lstsq, tsgu.sparse_generic_solve, cupy.sparse_solve_c4t,
                                      tsgu.sparse_mm, jax.sparse_solve_j4t])  # fmt: skip
def test_tensors_that_are_not_coalesced_have_gradients(function):
    dense, b = random(5, 5, like=LIKE) + 4 * torch.eye(5, dtype=D), random(5, 2, like=LIKE)
    A, values = uncoalesced(dense)
    twin = dense.clone().requires_grad_()
    function(A, b).pow(2).sum().backward()
    (twin @ b if function is tsgu.sparse_mm else torch.linalg.solve(twin, b)).pow(2).sum().backward()
    same(values.grad, twin.grad.flatten().repeat(2), 1e-8)


def test_columns_have_gradients_of_logsumexp():
    dense = torch.where(random(5, 4, like=LIKE) > 0, random(5, 4, like=LIKE, seed=2), 0.0)
    A, twin = dense.to_sparse_csc().requires_grad_(), dense.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(tsgu.sparse_logsumexp(A, 1).sum(), A)  # torch keeps none with a leaf of columns
    twin.logsumexp(1).sum().backward()
    assert gradient.layout is torch.sparse_csc
    same(gradient.to_dense(), twin.grad * (dense != 0))


def test_logsumexp_of_infinite_numbers():
    dense = torch.tensor([[torch.inf, 1.0, 0], [-torch.inf, 2.0, 0]], dtype=D)
    for dim in (0, 1):
        assert torch.equal(tsgu.sparse_logsumexp(dense.to_sparse_csr(), dim), dense.logsumexp(dim))


def test_conjugate_gradients_take_complex_matrices_and_refuse_what_is_not_definite():
    H, b = definite(like=COMPLEX), random(6, like=COMPLEX)
    same(utils.linear_cg(H, b, tolerance=1e-11), torch.linalg.solve(H, b), 1e-8)
    same(utils.linear_cg(H.real * 1e-300, b.real * 1e-300, tolerance=1e-11), torch.linalg.solve(H.real, b.real), 1e-8)
    for wrong in (torch.diag(torch.tensor([1.0, -1], dtype=D)), torch.full((2, 2), torch.nan, dtype=D)):
        with pytest.raises(lacuna.LacunaError):
            utils.linear_cg(wrong, torch.tensor([1.0, 2], dtype=D))
    with pytest.raises((lacuna.LacunaError, RuntimeError)):
        utils.linear_cg(definite(), torch.ones(5, dtype=D))


def test_minimal_residuals_and_bicgstab_end_by_the_residual():
    """By the size of an update there, 4e-5 of it for 1e-4 by luck; and without a word at the cap."""
    matrix, b = grid(40), random(1600, like=LIKE)
    A = torch.sparse_coo_tensor(torch.tensor(np.stack([matrix.row, matrix.col])), torch.tensor(matrix.data))
    for solve, tight, most in (
        (utils.minres, utils.MINRESSettings(minres_tolerance=1e-9), utils.MINRESSettings(max_cg_iterations=5)),
        (utils.bicgstab, utils.BICGSTABSettings(reltol=1e-9), utils.BICGSTABSettings(matvec_max=10)),
    ):
        assert left(matrix, solve(A, b, settings=tight), b) <= 1e-9
        with pytest.raises(lacuna.ConvergenceError):
            solve(A, b, settings=most)


def test_bicgstab_starts_where_it_is_told():
    dense, b = random(6, 6, like=LIKE) + 4 * torch.eye(6, dtype=D), random(6, like=LIKE)
    want, calls = torch.linalg.solve(dense, b), []
    x = utils.bicgstab(lambda x: (calls.append(1), dense @ x)[1], b, initial_guess=want)
    same(x, want)
    assert len(calls) <= 6  # of which four look whether the function is one that can be solved with


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_absolute_tolerances_of_solvers_are_not_those_of_gradients(scale):
    """40 to 100 % wrong there, without a word."""
    dense = torch.tensor([[4.0, 1, 0], [0, 3, 1], [1, 0, 2]], dtype=torch.float64)
    b, small = (torch.ones(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    options = {"solve": utils.bicgstab, "settings": utils.BICGSTABSettings(abstol=1e-6, reltol=1e-13)}
    weights = torch.tensor([scale, 1.0], dtype=torch.float64)  # one column of each size
    x = tsgu.sparse_generic_solve(dense.to_sparse_coo(), b, **options)
    (x * weights).sum().backward()
    (torch.linalg.solve(dense, small) * weights).sum().backward()
    same(b.grad / weights, small.grad / weights, 1e-5)


def test_lsmr_is_not_cut_short():
    """Its cap of min(m, n) steps leaves a fifth of the residual of this there, with no flag."""
    A = SparseTensor.tridiagonal(200, 2.0, -1.0)
    b = random(200, like=LIKE)
    same(utils.lsmr(A.to_csr(), b)[0], torch.linalg.solve(A.to_dense(), b), 1e-8)


# -- numml ------------------------------------------------------------------------------------------------------------


def test_complex_matrices_have_conjugates():
    dense, x = random(4, 3, like=COMPLEX), random(4, like=COMPLEX)
    A = SparseCSRTensor(dense)
    same(A.H @ x, dense.mH @ x), same(A.conj().to_dense(), dense.conj()), same(A.T @ x, dense.T @ x)


def test_double_precision_is_summed_in_double_precision():
    """In float on CUDA there."""
    A = SparseCSRTensor(torch.tensor([[1e9, 1.0, -1e9]], dtype=D))
    same(A @ torch.ones(3, dtype=D), torch.ones(1, dtype=D))
    same(A @ torch.ones(3, 2, dtype=D), torch.ones(1, 2, dtype=D))


def test_empty_rows_of_a_sparse_product():
    """A zero in the next row's place on CUDA there; gradients are lost where the last rows are empty."""
    left_dense, right_dense = (random(4, 4, like=LIKE, seed=s) for s in (1, 2))
    left_dense[1] = left_dense[3] = right_dense[2] = right_dense[3] = 0
    A, B = SparseCSRTensor(left_dense), SparseCSRTensor(right_dense)
    a, b = A.data.clone().requires_grad_(), B.data.clone().requires_grad_()
    made, weights = A.with_values(a) @ B.with_values(b), random(4, 4, like=LIKE, seed=3)
    same(made.to_dense(), left_dense @ right_dense)
    (made.to_dense() * weights).sum().backward()
    same(A.with_values(a.grad).to_dense(), (weights @ right_dense.T) * (left_dense != 0))
    same(B.with_values(b.grad).to_dense(), (left_dense.T @ weights) * (right_dense != 0))


@pytest.mark.parametrize("upper", [True, False])
def test_a_diagonal_of_ones_need_not_be_stored(upper):
    """A row without a stored diagonal never ends on CUDA there."""
    part = random(6, 6, like=LIKE).triu(1) if upper else random(6, 6, like=LIKE).tril(-1)
    b = random(6, like=LIKE)
    same(SparseCSRTensor(part).solve_triangular(upper, True, b), torch.linalg.solve(part + torch.eye(6, dtype=D), b))
    with pytest.raises(lacuna.SingularError):
        SparseCSRTensor(part).solve_triangular(upper, False, b)


@pytest.mark.parametrize("upper", [True, False])
def test_long_triangular_systems_end(upper):
    """From 221,000 rows on, blocks wait for each other for ever there."""
    n = 300_000
    at, off = torch.arange(n), torch.arange(n - 1)
    sides = (off, off + 1) if upper else (off + 1, off)
    values = torch.cat([torch.full((n,), 2.0, dtype=D), torch.ones(n - 1, dtype=D)]).requires_grad_()
    A = SparseCSRTensor((values, (torch.cat([at, sides[0]]), torch.cat([at, sides[1]]))), (n, n))
    x = A.solve_triangular(upper, False, A.detach() @ torch.ones(n, dtype=D))
    same(x, torch.ones(n, dtype=D)), x.sum().backward()
    assert torch.isfinite(values.grad).all() and values.grad.abs().min() > 0


def test_transposes_are_found_in_linear_time():
    A = SparseCSRTensor(SparseTensor.tridiagonal(LARGE, 4.0, -1.0).to_csr())
    B = A.with_values(torch.arange(A.nnz, dtype=D))
    same(B.T @ torch.ones(LARGE, dtype=D), torch.ones(LARGE, dtype=D) @ B)


def test_iterations_stop_and_say_so_at_numbers_that_are_none():
    A = SparseCSRTensor(torch.tensor([[torch.nan, 0], [0, 1.0]], dtype=D))
    with pytest.raises(lacuna.LacunaError):
        krylov.conjugate_gradient(A, torch.ones(2, dtype=D))


def test_solves_take_columns():
    dense, B = random(5, 5, like=LIKE) + 3 * torch.eye(5, dtype=D), random(5, 3, like=LIKE)
    A = SparseCSRTensor(dense)
    for x in (numml.spsolve(A, B), numml.splu_solve(numml.splu(A), B)):
        same(x, torch.linalg.solve(dense, B))
    same(numml.spsolve_triangular(A, B), torch.linalg.solve(dense.tril(), B))


def test_what_does_not_fit_is_refused():
    matrix = torch.eye(2, dtype=D).to_sparse_coo()
    for dim in (7, -3, (0, 0)):
        with pytest.raises(lacuna.ShapeError, match="sparse_logsumexp"):
            tsgu.sparse_logsumexp(matrix, dim)
    with pytest.raises(lacuna.ArgumentError, match="the solver returned a NoneType"):
        tsgu.sparse_generic_solve(matrix, torch.ones(2, dtype=D), solve=lambda A, B: None)
    with pytest.raises(lacuna.ShapeError, match="1 matrices and 2 right-hand sides"):
        sla.spsolve_batch_coo_different_layout([matrix], [torch.ones(2, dtype=D)] * 2)
