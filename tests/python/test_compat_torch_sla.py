# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat.torch_sla: the peer's calls over Lacuna, and what it gets wrong, right."""

import copy
import io
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from reference import same
from sparse_cases import GIVEN, check, check2, random

import lacuna
import lacuna.compat.torch_sla as sla
from lacuna.compat.torch_sla import DetConfig, PreconditionerConfig, SolverConfig, SparseTensor, SparseTensorList

D = torch.float64


def grid(m=8, scale=1.0):
    """The five-point matrix, by SciPy."""
    line = sp.diags_array([-np.ones(m - 1), 2 * np.ones(m), -np.ones(m - 1)], offsets=[-1, 0, 1])
    return (scale * (sp.kron(line, sp.eye(m)) + sp.kron(sp.eye(m), line))).tocoo()


def entries(matrix):
    return (torch.tensor(matrix.data), torch.tensor(matrix.row).long(), torch.tensor(matrix.col).long(), matrix.shape)


def given(name="square"):
    case = GIVEN[name]
    return case, (case.values, case.rows, case.columns, case.shape)


# -- what the peer's readers do ---------------------------------------------------------------------------------------


def test_a_dense_matrix_is_solved_with_words_of_backends():
    dense = torch.tensor([[4.0, -1, 0], [-1, 4, -1], [0, -1, 4]], dtype=D)
    A, b = SparseTensor.from_dense(dense), torch.tensor([1.0, 2, 3], dtype=D)
    for words in ({}, {"backend": "scipy", "method": "lu"}, {"backend": "pytorch", "method": "cg"},
                  {"backend": "cudss", "method": "cholesky"}, {"backend": "pyamg"}, {"backend": "eigen"}):  # fmt: skip
        same(A.solve(b, **words), torch.linalg.solve(dense, b), 1e-9)


def test_values_that_ask_for_gradients_after_the_matrix_was_made():
    case, (val, row, col, shape) = given()
    A, val, b = SparseTensor(val, row, col, shape), val.requires_grad_(True), random(5, like=val).requires_grad_(True)
    A.solve(b).sum().backward()
    dense_val, dense_b = val.detach().clone().requires_grad_(), b.detach().clone().requires_grad_()
    torch.linalg.solve(case.dense(dense_val), dense_b).sum().backward()
    same(val.grad, dense_val.grad), same(b.grad, dense_b.grad)
    val.grad = None
    val.requires_grad_(False)


def test_batches_of_vectors_of_columns_and_many_right_hand_sides():
    case, (val, row, col, shape) = given("batched")
    A, b = SparseTensor(val, row, col, shape), random(3, 5, like=val)
    same(A.solve(b), torch.linalg.solve(case.dense(), b))
    columns = random(3, 5, 4, like=val)  # the peer returns [B, N] here
    same(A.solve(columns), torch.linalg.solve(case.dense(), columns))
    one, b = SparseTensor(val[0], row, col, shape[1:]), random(5, 5, like=val)
    same(one.solve(b), torch.linalg.solve(case.dense()[0], b))
    same(one.solve_batch(val, random(3, 5, like=val), method="lu"),
         torch.linalg.solve(case.dense(), random(3, 5, like=val)))  # fmt: skip


def test_files_of_both_formats(tmp_path):
    case, parts = given("batched")
    A = SparseTensor(*parts)
    A.save(tmp_path / "matrix.safetensors", {"by": "test"})
    back = SparseTensor.load(tmp_path / "matrix.safetensors", device="cpu")
    assert type(back) is SparseTensor and back.shape == A.shape  # the peer loses the batch
    same(sla.load_sparse(tmp_path / "matrix.safetensors").to_dense(), case.dense())
    single = SparseTensor(parts[0][0], *parts[1:3], parts[3][1:])
    sla.save_mtx(single, tmp_path / "matrix.mtx", comment="a line")
    same(sla.load_mtx(tmp_path / "matrix.mtx", dtype=D).to_dense(), case.dense()[0])
    symmetric = SparseTensor.from_scipy(grid(3))
    sla.save_mtx(symmetric, tmp_path / "s.mtx", symmetry="symmetric")  # the peer doubles the off-diagonals
    same(sla.load_mtx(tmp_path / "s.mtx").to_dense(), torch.tensor(grid(3).toarray()))
    info = sla.load_mtx_info(tmp_path / "s.mtx")
    assert info["shape"] == (9, 9) and info["symmetry"] == "symmetric" and info["field"] == "real"
    assert info["nnz"] == sp.tril(grid(3)).nnz
    sla.save_mtx(symmetric, tmp_path / "p.mtx", field="pattern")
    assert sla.load_mtx_info(tmp_path / "p.mtx")["field"] == "pattern"
    with pytest.raises(lacuna.FileError):
        sla.load_mtx_info(tmp_path / "none.mtx")


def test_files_of_the_peer_are_read(tmp_path):
    """Theirs hold values, row_indices, col_indices and shape, and no more."""
    case, (val, row, col, shape) = given()
    parts = dict(values=val, row_indices=row, col_indices=col, shape=torch.tensor(shape))
    lacuna.save_safetensors(tmp_path / "theirs.safetensors", {name: part.numpy() for name, part in parts.items()})
    A = sla.load_sparse(tmp_path / "theirs.safetensors")
    same(A.to_dense(), case.dense()), same(A.values, val)


def test_matrix_operations():
    case, parts = given()
    A, x = SparseTensor(*parts), random(5, like=parts[0])
    dense = case.dense()
    same(A.norm("fro"), torch.linalg.matrix_norm(dense)), same(A.det(), torch.linalg.det(dense))
    same(A @ x, dense @ x), same(A.lu().solve(x), torch.linalg.solve(dense, x))
    same(A.T().to_dense(), dense.T), same(A.T.to_dense(), dense.T), same(A.H().to_dense(), dense.T)
    same((A.T() @ A).T().to_dense(), dense.T @ dense)
    same(A.cpu().det(), torch.linalg.det(dense))
    assert type(A.T()) is SparseTensor and type(A @ A) is SparseTensor and type(A + A.T) is SparseTensor


def test_backends_are_shown(capsys):
    sla.show_backends()
    assert "scipy" in capsys.readouterr().out
    assert "pytorch" in sla.get_available_backends() and sla.is_scipy_available() and sla.is_pyamg_available()
    assert sla.is_cudss_available() == torch.cuda.is_available()
    assert sla.get_backend_methods("cudss") == ["lu", "cholesky", "ldlt"] and sla.get_default_method("scipy") == "lu"
    assert sla.select_backend(torch.device("cpu")) == "scipy" and sla.select_method("cudss", is_spd=True) == "cholesky"
    assert sla.auto_select_method(10, 10, D, False) == ("scipy", "lu")
    assert sla.get_available_gpu_memory() >= 0


@pytest.mark.parametrize("name", ["eigsh", "eigs", "svd", "nonlinear_solve", "save_distributed"])
def test_what_is_to_come_says_so(name):
    with pytest.raises(NotImplementedError, match=name):
        getattr(SparseTensor.eye(3), name)(6)


def test_names_to_come_are_there():
    for call in (sla.nonlinear_solve, sla.adjoint_solve, sla.vi_solve, sla.DSparseTensor, sla.DSparseTensor.partition,
                 sla.partition_simple, sla.load_dsparse, lambda: SparseTensor.eye(2).condition_number()):  # fmt: skip
        with pytest.raises(NotImplementedError):
            call()


# -- functions --------------------------------------------------------------------------------------------------------

METHODS = ["auto", "lu", "umfpack", "bicgstab", "gmres", "lgmres", "fgmres", "cgs", "qmr", "lsqr", "lsmr", "amg"]


@pytest.mark.parametrize("method", METHODS)
def test_spsolve_of_a_matrix_that_is_not_symmetric(method):
    case, parts = given()
    b = random(5, like=parts[0])
    same(sla.spsolve(*parts, b, method=method, tol=1e-12), torch.linalg.solve(case.dense(), b), 1e-8)


@pytest.mark.parametrize("preconditioner", ["none", "jacobi", "ssor", "block_jacobi", "polynomial", "ic0", "ilu", "asm",
                                            "amg", "auto"])  # fmt: skip
def test_every_preconditioner_with_many_columns(preconditioner):
    """The peer's CG with Jacobi crashes on many right-hand sides; its polynomial diverges where coefficients vary."""
    scaled = grid(6)
    d = sp.diags_array(np.exp(np.linspace(0, 3, 36)))
    matrix = (d @ scaled @ d).tocoo()
    b = random(36, 3, like=torch.zeros(1, dtype=D))
    x = sla.spsolve(*entries(matrix), b, method="cg", backend="pytorch", preconditioner=preconditioner, tol=1e-11)
    assert np.linalg.norm(matrix @ x.numpy() - b.numpy()) <= 1e-9 * np.linalg.norm(b)


def test_words_that_are_not_in_the_tables():
    A, b = SparseTensor.eye(3), torch.ones(3, dtype=D)
    for words in ({"method": "no"}, {"backend": "no"}, {"method": "cg", "preconditioner": "no"}):
        with pytest.raises(ValueError, match="must be one of"):
            A.solve(b, **words)
    with pytest.raises(ValueError, match="must be one of"):
        A.logdet(method="no")


def test_torch_tensors_and_their_gradients():
    case, parts = given()
    dense, b = case.dense(), random(5, like=parts[0])
    for A, solve in ((dense.to_sparse_coo(), sla.spsolve_coo), (dense.to_sparse_csr(), sla.spsolve_csr)):
        A.requires_grad_()
        solve(A, b, method="gmres", tol=1e-13).pow(2).sum().backward()
        twin = dense.clone().requires_grad_()
        torch.linalg.solve(twin, b).pow(2).sum().backward()
        assert A.grad.layout == A.layout
        same(A.grad.to_dense(), twin.grad * (dense != 0), 1e-8)


def test_entries_that_are_given_twice_count_twice():
    """A COO tensor that is not coalesced; norms, predicates and solves of duplicates."""
    A = torch.sparse_coo_tensor([[0, 0, 1], [0, 0, 1]], torch.tensor([1.0, 1, 4], dtype=D), (2, 2))
    same(sla.spsolve_coo(A, torch.ones(2, dtype=D)), torch.tensor([0.5, 0.25], dtype=D))
    S = SparseTensor(torch.tensor([3.0, 1, 1, 2, 5]), torch.tensor([0, 0, 0, 1, 1]), torch.tensor([0, 1, 1, 0, 1]), (2, 2))
    assert S.is_symmetric() and S.is_positive_definite() and S.detect_matrix_type() == "spd"
    same(S.norm("fro"), torch.tensor(math.sqrt(9 + 4 + 4 + 25)), 1e-6)


def test_batched_functions():
    case, (val, row, col, shape) = given("batched")
    b, want = random(3, 5, like=val), torch.linalg.solve(case.dense(), random(3, 5, like=val))
    same(sla.spsolve_batch_same_layout(val, row, col, shape[1:], b), want)
    same(sla.spsolve_batch_same_layout(val, row, col, shape[1:], b, method="gmres"), want, 1e-7)
    same(sla.ParallelBatchSolver(row, col, shape[1:], method="lu").solve(val, b), want)
    pieces = [(v, row, col, shape[1:]) for v in val]
    same(torch.stack(sla.spsolve_batch_different_layout(pieces, list(b))), want)
    template = torch.sparse_coo_tensor(torch.stack([row, col]), val[0], shape[1:])
    same(sla.spsolve_batch_coo_same_layout(template, val, b), want)
    tensors = [torch.sparse_coo_tensor(torch.stack([row, col]), v, shape[1:]) for v in val]
    same(torch.stack(sla.spsolve_batch_coo_different_layout(tensors, list(b))), want)


def test_batched_complex_systems_by_cg():
    """The peer's lacks conjugates."""
    z = random(3, 6, 6, like=torch.zeros(1, dtype=torch.complex128))
    H = z @ z.mH + 6 * torch.eye(6)
    A, b = SparseTensor.from_dense(H), random(3, 6, like=H)
    same(A.solve(b, method="cg", tol=1e-12), torch.linalg.solve(H, b), 1e-9)


def test_solve_takes_whatever_holds_a_matrix():
    case, parts = given()
    dense, b = case.dense(), random(5, like=parts[0])
    want = torch.linalg.solve(dense, b)
    for A in (SparseTensor(*parts), lacuna.torch.SparseTensor(*parts), parts, sp.csr_array(dense.numpy()), dense,
              dense.to_sparse_csr()):  # fmt: skip
        same(sla.solve(A, b), want)
    same(sla.solve(lambda x: dense @ x, b, shape=(5, 5), rtol=1e-12), want, 1e-8)
    batched = GIVEN["batched"]
    same(sla.solve(SparseTensor(batched.values, batched.rows, batched.columns, batched.shape), random(3, 5, like=b)),
         torch.linalg.solve(batched.dense(), random(3, 5, like=b)))  # fmt: skip
    with pytest.raises(lacuna.ArgumentError):
        sla.solve("matrix", b)


def test_options_of_solve_are_used():
    """The peer drops rtol, x0 and restart, and reports no iterations."""
    matrix = grid(20)
    A, b = SparseTensor(*entries(matrix)), torch.ones(400, dtype=D)
    loose, tight = (sla.solve(A, b, method="cg", preconditioner="none", rtol=r, return_info=True)[1] for r in (1e-2, 1e-9))
    assert 0 < loose.iter_count < tight.iter_count and tight.residual <= 1e-9 < loose.residual <= 1e-2
    assert tight.method == "cg" and tight.converged and tight.backend == "lacuna"
    x = torch.tensor(sp.linalg.spsolve(matrix.tocsc(), b.numpy()))
    again = sla.solve(A, b, method="cg", preconditioner="none", rtol=1e-9, x0=x, return_info=True)[1]
    assert again.iter_count == 0
    _, info = sla.solve(A, b, method="cg", preconditioner="none", rtol=1e-12, maxiter=3, return_info=True)
    assert not info.converged and info.iter_count == 3
    with pytest.raises(lacuna.ConvergenceError):
        sla.solve(A, b, method="cg", preconditioner="none", rtol=1e-12, maxiter=3)


def test_no_option_is_dropped(capsys):
    case, parts = given()
    A, b, dense = SparseTensor(*parts), random(5, like=parts[0]), case.dense()
    want = torch.linalg.solve(dense, b)
    x, info = A.solve(b, method="lsqr", tol=1e-12, return_info=True, x0=want)
    assert info.method == "lsqr" and info.iter_count <= 1
    same(x, want, 1e-8)
    same(sla.solve(lambda x: dense @ x, b, x0=want + 0.1, rtol=1e-12), want, 1e-8)
    sla.solve(A, b, method="gmres", preconditioner="none", verbose=True)
    assert "residual" in capsys.readouterr().out
    with pytest.raises(NotImplementedError, match="return_info"):
        sla.solve(lambda x: dense @ x, b, return_info=True)
    with pytest.raises(NotImplementedError, match="x0"):
        SparseTensor.from_dense(dense[:, :3]).solve(b, method="lsmr", x0=want[:3])
    with pytest.raises(lacuna.ArgumentError, match="shape"):
        sla.solve(lambda x: dense @ x, b, shape=(4, 4))


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres", "minres"])
@pytest.mark.parametrize("size", [1e-13, 1e-300, 3e-7])
def test_small_right_hand_sides_are_solved_as_well(method, size):
    """Below its absolute tolerance the peer returns x = 0 without a word."""
    matrix = grid(6)
    b = size * torch.ones(36, dtype=D)
    x = SparseTensor(*entries(matrix)).solve(b, method=method, tol=1e-8)
    same(x / size, torch.tensor(sp.linalg.spsolve(matrix.tocsc(), np.ones(36))), 1e-6)


def test_singular_matrices_are_errors():
    A = SparseTensor.from_dense(torch.tensor([[1.0, 1], [1, 1]], dtype=D))
    with pytest.raises(lacuna.SingularError):
        A.solve(torch.tensor([1.0, 2], dtype=D))


# -- derivatives ------------------------------------------------------------------------------------------------------

CASES = ["square", "int32", "batched", "complex"]


@pytest.mark.parametrize("method", ["auto", "gmres"])
@pytest.mark.parametrize("name", CASES)
def test_spsolve_differentiates_twice(name, method):
    case, (val, row, col, shape) = given(name)
    b = random(*case.batch, 5, like=val)
    tol = None if method == "auto" else 1e-14
    function = lambda v, b: SparseTensor(v, row, col, shape).solve(b, method=method, tol=tol)  # noqa: E731
    inputs = val.clone().requires_grad_(), b.clone().requires_grad_()
    assert check(function, inputs, check_forward_ad=True) and check2(function, inputs)


def test_gradients_of_small_cotangents():
    case, parts = given()
    val, b = parts[0].clone().requires_grad_(), random(5, like=parts[0])
    for scale in (1.0, 1e-12, 1e-200):
        (gradient,) = torch.autograd.grad(sla.spsolve(val, *parts[1:], b, method="bicgstab", tol=1e-12).sum() * scale, val)
        twin = val.detach().clone().requires_grad_()
        (want,) = torch.autograd.grad(torch.linalg.solve(case.dense(twin), b).sum(), twin)
        same(gradient / scale, want, 1e-8)


def test_complex_symmetric_gradients():
    """The peer's LDL^T adjoint solves with A where conj(A) is meant."""
    dense = torch.tensor([[3 + 1j, 1j, 0], [1j, 4, 2 - 1j], [0, 2 - 1j, 5]], dtype=torch.complex128)
    A, b = SparseTensor.from_dense(dense), random(3, like=dense)
    val = A.values.clone().requires_grad_()
    assert check(lambda v: A.with_values(v).solve(b, method="auto", matrix_type="symmetric"), val)


@pytest.mark.parametrize("method", ["lsqr", "lsmr"])
def test_least_squares_has_the_whole_gradient(method):
    """The peer's misses the term of the residual."""
    dense = random(8, 4, like=torch.zeros(1, dtype=D))
    A, b = SparseTensor.from_dense(dense), random(8, like=dense)
    val = A.values.clone().requires_grad_()
    function = lambda v: A.with_values(v).solve(b, method=method, tol=1e-13)  # noqa: E731
    same(function(val), torch.linalg.lstsq(dense, b[:, None]).solution[:, 0], 1e-8)
    assert check(function, val, rtol=1e-4)


def test_a_factorization_is_differentiable():
    """The peer's detaches b."""
    case, (val, row, col, shape) = given()
    b = random(5, like=val)
    inputs = val.clone().requires_grad_(), b.clone().requires_grad_()
    assert check(lambda v, b: SparseTensor(v, row, col, shape).lu().solve(b), inputs)
    same(SparseTensor(val, row, col, shape).lu().solve(b, op="T"), torch.linalg.solve(case.dense().T, b))


def test_vmap_forward_mode_and_compile():
    case, (val, row, col, shape) = given()
    vals, bs = torch.stack([val, 2 * val]), random(2, 5, like=val)
    solve = lambda v, b: sla.spsolve(v, row, col, shape, b)  # noqa: E731
    want = torch.linalg.solve(case.dense(), bs[0]), torch.linalg.solve(2 * case.dense(), bs[1])
    same(torch.func.vmap(solve)(vals, bs), torch.stack(want))
    dense = lambda v: torch.linalg.solve(case.dense(v), bs[0])  # noqa: E731
    same(torch.func.jacfwd(lambda v: solve(v, bs[0]))(val), torch.func.jacfwd(dense)(val))
    same(torch.func.hessian(lambda v: solve(v, bs[0]).sum())(val), torch.func.hessian(lambda v: dense(v).sum())(val), 1e-8)


def test_compiled_as_one_graph():
    case, (val, row, col, shape) = given()
    b, val = random(5, like=val), val.clone().requires_grad_()

    def function(v, b):
        A = SparseTensor(v, row, col, shape)
        return sla.spsolve(v, row, col, shape, b) + A @ b + A.solve(b, method="lu")

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    same(compiled(val, b), function(val, b))
    same(torch.autograd.grad(compiled(val, b).sum(), val)[0], torch.autograd.grad(function(val, b).sum(), val)[0])


# -- determinants, reductions, predicates -----------------------------------------------------------------------------


def test_signs_and_sizes_of_determinants():
    """The peer's sign ignores the order of columns; its logdet overflows, and has no gradient."""
    for m in (3, 5, 20):
        assert SparseTensor.from_scipy(grid(m, 0.3)).det() > 0
    for seed in range(20):
        dense = random(8, 8, like=torch.zeros(1, dtype=D), seed=seed)
        same(SparseTensor.from_dense(dense).det(), torch.linalg.det(dense), 1e-9)
    A = SparseTensor.tridiagonal(2000, 4.0, -1.0)
    want = torch.tensor(np.linalg.slogdet(A.to_dense().numpy())[1])
    for words in ({}, {"method": "lu"}, {"method": "cholesky"}):
        same(A.logdet(**words), want, 1e-10)
    with DetConfig(method="hutchinson", num_probes=50):
        assert abs(A.logdet() - want) < 0.02 * want
    small = SparseTensor.diag(torch.full((4,), 1e-4, dtype=D, requires_grad=True))
    (gradient,) = torch.autograd.grad(small.det(), small.values)
    same(gradient / 1e-12, torch.ones(4, dtype=D))


def test_logdet_differentiates_twice():
    _, (val, row, col, shape) = given()
    function = lambda v: SparseTensor(v, row, col, shape).logdet()  # noqa: E731
    assert check(function, val.clone().requires_grad_()) and check2(function, val.clone().requires_grad_())


def test_reductions_are_of_stored_values():
    case, parts = given("batched")
    A = SparseTensor(*parts).coalesce()
    dense = case.dense()
    stored = torch.zeros(5, 5, dtype=torch.bool)
    stored[case.rows, case.columns] = True
    same(A.sum(axis=-1), dense.sum(-1)), same(A.sum(axis=1, keepdim=True), dense.sum(1, keepdim=True))
    same(A.mean(axis=-1), dense.sum(-1) / stored.sum(-1))  # the peer divides by the count of all
    same(A.mean(axis=(1, 2)), dense.sum((1, 2)) / stored.sum())
    same(A.max(axis=-1), dense.masked_fill(~stored, -torch.inf).amax(-1))  # the peer counts zeros here
    same(A.min(axis=1), dense.masked_fill(~stored, torch.inf).amin(1))
    same(A.prod(axis=-1), dense.masked_fill(~stored, 1).prod(-1))


def test_norms_have_gradients_and_see_duplicates():
    case, parts = given()
    for ord in ("fro", 1, 2):
        val = parts[0].clone().requires_grad_()
        A = SparseTensor(val, *parts[1:])
        same(A.norm(ord), torch.linalg.matrix_norm(case.dense(), ord), 1e-8)
        twin = parts[0].clone().requires_grad_()
        (want,) = torch.autograd.grad(torch.linalg.matrix_norm(case.dense(twin), ord), twin)
        same(torch.autograd.grad(A.norm(ord), val)[0], want, 1e-6)


def test_predicates_tell_the_truth():
    """The peer calls Poisson's matrix indefinite, and an asymmetry of 1e-7 symmetric; it remembers what was before."""
    A = SparseTensor.from_scipy(grid(10))
    assert A.is_positive_definite() and A.is_positive_definite("gershgorin") and A.detect_matrix_type() == "spd"
    skew = SparseTensor.from_dense(torch.tensor([[2.0, 1], [1 + 1e-7, 2]], dtype=D))
    assert not skew.is_symmetric() and skew.is_symmetric(atol=1e-6) and skew.detect_matrix_type() == "general"
    assert not SparseTensor.from_dense(torch.diag(torch.tensor([1.0, -1]))).is_positive_definite()
    B = SparseTensor(torch.ones(1), torch.tensor([0]), torch.tensor([0]), (1, 1))
    assert B.is_positive_definite()
    B.values.neg_()
    assert not B.is_positive_definite()
    same(SparseTensor.eye(3).condition_number(ord=1), torch.tensor(1.0, dtype=D))


def test_indices_are_checked_and_batches_take_all_patterns():
    with pytest.raises(lacuna.LacunaError):
        SparseTensor(torch.ones(1), torch.tensor([5]), torch.tensor([0]), (2, 2))
    dense = torch.stack([torch.diag(torch.ones(3)), torch.ones(3, 3)])  # the peer takes the places of item 0
    same(SparseTensor.from_dense(dense).to_dense(), dense)
    A, B = SparseTensor.eye(3), SparseTensor.diag(torch.ones(2, dtype=D), offset=1)
    same((A + B).to_dense(), A.to_dense() + B.to_dense())  # the peer refuses other patterns
    assert ((A == A).values).all() and (A + 1).values.eq(2).all()


def test_conversions():
    case, parts = given("batched")
    A = SparseTensor(*parts)
    same(A.to_dense(batch_idx=(1,)), case.dense()[1]), same(A.to_csr((2,)).to_dense(), case.dense()[2])
    same(A.to_torch_sparse((0,)).to_dense(), case.dense()[0])
    two = SparseTensor.from_dense(torch.block_diag(torch.ones(2, 2), torch.ones(3, 3)).double())
    labels, count = two.connected_components()
    assert count == 2 and labels.tolist() == [0, 0, 1, 1, 1]
    assert isinstance(two.to_connected_components(), SparseTensorList)


# -- scopes -----------------------------------------------------------------------------------------------------------


def test_scopes_of_options():
    A, b = SparseTensor.from_scipy(grid(8)), torch.ones(64, dtype=D)
    with SolverConfig(method="cg", rtol=1e-3, return_info=True, preconditioner="none"):
        _, outer = A.solve(b)
        with SolverConfig(rtol=1e-9):
            _, inner = sla.solve(A, b)
            _, call = sla.solve(A, b, rtol=1e-2)
        _, after = A.solve(b)
    assert outer.method == inner.method == "cg" and isinstance(A.solve(b), torch.Tensor)
    assert call.iter_count < outer.iter_count == after.iter_count < inner.iter_count

    @SolverConfig(return_info=True, method="gmres")
    def inside():
        return A.solve(b)[1]

    assert inside().method.endswith("gmres") and inside.__name__ == "inside"
    with pytest.raises(RuntimeError), SolverConfig(method="no"):
        raise RuntimeError
    same(A @ A.solve(b), b)


def test_presets():
    A, b = SparseTensor.from_scipy(grid(8)), torch.ones(64, dtype=D)
    assert SolverConfig.spd().cpu().direct().method == "cholesky" and SolverConfig.general().gpu().direct().method == "lu"
    assert SolverConfig.spd().iterative().method == "cg" and SolverConfig.indefinite().iterative().method == "minres"
    assert SolverConfig.convection_diffusion().iterative().method == "gmres"
    assert SolverConfig.auto(A).matrix_type == "spd" and SolverConfig.spd().replace(atol=1.0).atol == 1.0
    for preset in (SolverConfig.spd(), SolverConfig.spd().direct(), SolverConfig.spd().iterative().high_accuracy(),
                   SolverConfig.auto(A).iterative(), SolverConfig.convection_diffusion()):  # fmt: skip
        with preset:
            same(A @ sla.solve(A, b), b, 1e-8)
    for config in (PreconditionerConfig("ssor", omega=1.2), PreconditionerConfig("block_jacobi", block_size=4),
                   PreconditionerConfig("amg", amg_strength=0.1, amg_coarsening="smoothed_aggregation"),
                   PreconditionerConfig.from_string("none")):  # fmt: skip
        same(A @ sla.solve(A, b, method="cg", preconditioner=config), b, 1e-8)


def test_the_cache_never_answers_for_another_matrix():
    """Values that are permuted or change sign collide in the peer's."""
    matrix = grid(5)
    val, row, col, shape = entries(matrix)
    b = torch.ones(25, dtype=D)
    for values in (val, val.flip(0), -val, val[torch.randperm(len(val), generator=torch.Generator().manual_seed(0))]):
        dense = torch.zeros(shape, dtype=D).index_put((row, col), values, accumulate=True)
        if torch.linalg.cond(dense) < 1e8:
            same(sla.spsolve(values, row, col, shape, b), torch.linalg.solve(dense, b), 1e-6)
    assert sla.SOLVER_CACHE.stats()["size"] >= 1
    sla.SOLVER_CACHE.clear()
    assert sla.SOLVER_CACHE.stats()["size"] == 0


# -- lists, copies, problems ------------------------------------------------------------------------------------------


def test_lists():
    parts = [entries(grid(2)), entries(grid(3))]
    tensors = SparseTensorList.from_coo_list(parts)
    bs = [torch.ones(4, dtype=D), torch.ones(9, dtype=D)]
    xs = tensors.solve(bs, method="cg")
    whole = tensors.to_block_diagonal()
    assert type(whole) is SparseTensor and tensors.block_sizes == [(4, 4), (9, 9)] and tensors.total_shape == (13, 13)
    same(whole.solve(torch.cat(bs)), torch.cat(xs), 1e-8)
    back = SparseTensorList.from_block_diagonal(whole, tensors.block_sizes)
    same(back[1].to_dense(), torch.tensor(grid(3).toarray()))
    assert len(tensors) == 2 and all(tensors.is_symmetric()) and (tensors * 2)[0].to_dense()[0, 0] == 8
    assert [tuple(y.shape) for y in tensors @ bs] == [(4,), (9,)]


def test_copies_pickles_and_trees():
    _, parts = given()
    A = SparseTensor(*parts)
    for back in (copy.deepcopy(A), pickle.loads(pickle.dumps(A)), torch.utils._pytree.tree_map(lambda t: t, A)):
        assert type(back) is SparseTensor
        same(back.to_dense(), A.to_dense())
    file = io.BytesIO()
    torch.save(A, file)
    file.seek(0)
    assert type(torch.load(file)) is SparseTensor




def test_problems():
    from lacuna.compat.torch_sla import datasets

    line, plane = datasets.laplacian_1d(6), datasets.laplacian_2d(4)
    same(torch.linalg.eigvalsh(line.to_dense()), datasets.laplacian_1d_eigenvalues(6), 1e-12)
    same(torch.linalg.eigvalsh(plane.to_dense()), datasets.laplacian_2d_eigenvalues(4), 1e-12)
    same(plane.to_dense(), torch.tensor(grid(4).toarray()))
    for name, sizes in (("poisson_2d", (8, 16)), ("poisson_3d", (5, 10))):
        errors = []
        for m in sizes:
            problem = datasets.get(name, m=m)
            x = sla.spsolve(*problem.coo(), problem.rhs)
            errors.append((x - problem.exact).abs().max())
        assert errors[1] < 0.4 * errors[0]  # second order
    assert datasets.helmholtz_1d(20).tensor().is_symmetric() and not datasets.helmholtz_1d(20).tensor().is_hermitian()
    wind = datasets.advection_diffusion_2d(5, peclet=2.0)
    assert not wind.tensor().is_symmetric() and wind.nnz() == len(wind.val)
    same(wind.matvec(torch.ones(25, dtype=D)), wind.to_dense().sum(1))
    assert datasets.anisotropic_diffusion_2d(4).tensor().is_positive_definite()
    assert {len(datasets.default_sizes(name)) > 0 for name in datasets.list_problems()} == {True}
    with pytest.raises(NotImplementedError):
        datasets.bratu_1d()
