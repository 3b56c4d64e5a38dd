# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat.torch_sla: the peer's calls over Lacuna, and what it gets wrong, right."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from one_graph import ONE_GRAPH
from reference import same
from sparse_cases import GIVEN, check, check2, entries, given, grid, random

import lacuna
import lacuna.compat.torch_sla as sla
from lacuna.compat.torch_sla import SparseTensor

D = torch.float64

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
    assert sla.show_backends is lacuna.show_backends
    sla.show_backends()
    assert "device    cpu" in capsys.readouterr().out
    assert "pytorch" in sla.get_available_backends() and sla.is_scipy_available() and sla.is_pyamg_available()
    assert sla.is_cudss_available() == torch.cuda.is_available()
    assert not sla.backends.is_torch_spsolve_available()  # no backend has this name
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


@pytest.mark.parametrize("method", [{}, {"method": "lu"}, {"backend": "scipy"}, {"backend": "pytorch"}], ids=str)
def test_words_are_read_whatever_the_method(method):
    A, b = SparseTensor.tridiagonal(6), torch.ones(6, dtype=D)
    parts = A.values, A.row_indices, A.col_indices, (6, 6)
    for words in ({"preconditioner": "no"}, {"matrix_type": "no"}, {"preconditioner": sla.PreconditionerConfig("no")}):
        for call in (lambda words: A.solve(b, **words), lambda words: sla.spsolve(*parts, b, **words)):
            with pytest.raises(ValueError, match="must be one of"):
                call({**method, **words})


def test_what_does_not_act_is_refused():
    """But for bounds on residuals and iterations, which a direct method keeps without being told."""
    A, b = SparseTensor.tridiagonal(6), torch.ones(6, dtype=D)
    want = torch.linalg.solve(A.to_dense(), b)
    for words in ({"method": "lu"}, {"method": "cholesky"}, {"backend": "scipy"}):
        same(A.solve(b, **words, tol=1e-6, atol=1e-6, maxiter=3, verbose=True), want, 1e-12)
        for more in ({"preconditioner": "jacobi"}, {"restart": 4}):
            with pytest.raises(lacuna.ArgumentError, match="does not act"):
                A.solve(b, **words, **more)
    for words in ({}, {"method": "cg"}, {"method": "lu"}):
        with pytest.raises(lacuna.ArgumentError, match="damp.*lsqr"):
            A.solve(b, damp=10.0, **words)
        with sla.SolverConfig(damp=10.0), pytest.raises(lacuna.ArgumentError, match="damp.*lsqr"):
            sla.spsolve(A.values, A.row_indices, A.col_indices, (6, 6), b, **words)
    with sla.SolverConfig(damp=10.0), pytest.raises(NotImplementedError, match="damp"):
        sla.solve(lambda x: A @ x, b)


def test_options_act_without_a_method():
    """With method="auto": a preconditioner makes it iterate, to the tolerance."""
    A, b = SparseTensor(*entries(grid(20))), torch.ones(400, dtype=D)
    x, info = sla.solve(A, b, preconditioner="jacobi", rtol=1e-3, return_info=True)
    assert info.iterations > 0 and info.preconditioner == "jacobi" and 1e-9 < (A @ x - b).norm() / b.norm() <= 1e-3
    for name in ("ilu", "amg", "none"):
        assert sla.solve(A, b, preconditioner=name, return_info=True)[1].iterations > 0
    loose, tight = (sla.solve(lambda x: A @ x, b, rtol=rtol) for rtol in (1e-1, 1e-11))
    assert (A @ tight - b).norm() <= 1e-11 * b.norm() < (A @ loose - b).norm() <= 1e-1 * b.norm()


@pytest.mark.parametrize("backend", ["pytorch", "eigen"])
def test_an_iteration_is_chosen_by_the_values_without_a_factorisation(backend, monkeypatch):
    """One rule for the method and the function; indefinite matrices are solved too."""
    monkeypatch.setattr(SparseTensor, "is_positive_definite", None)
    laplacian = grid(20)
    skewed = laplacian + sp.diags_array(0.3 * np.ones(399), offsets=1)
    for matrix, method in ((laplacian, "flexible_cg"), (skewed.tocoo(), "gmres")):
        A, b = SparseTensor(*entries(matrix)), torch.ones(400, dtype=D)
        words = {"backend": backend, "return_info": True}
        for x, info in A.solve(b, **words), sla.solve(A, b, **words), sla.spsolve(*entries(matrix), b, **words):
            assert info.method == method and info.iterations > 0
            assert np.linalg.norm(matrix @ x.numpy() - 1) <= 1e-9 * 20
    indefinite = (laplacian - 0.9 * sp.eye_array(400)).tocoo()
    x = SparseTensor(*entries(indefinite)).solve(b, backend=backend)
    assert np.linalg.norm(indefinite @ x.numpy() - 1) <= 1e-9 * 20


def test_a_function_with_learnable_tensors_is_told_the_way():
    theta, b = torch.tensor(2.0, dtype=D, requires_grad=True), torch.ones(3, dtype=D)
    with pytest.raises(lacuna.ArgumentError, match=r"lacuna\.torch\.solve_operator\(function, theta, b\)"):
        sla.solve(lambda x: theta * x, b)


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
    S = SparseTensor(
        torch.tensor([3.0, 1, 1, 2, 5]), torch.tensor([0, 0, 0, 1, 1]), torch.tensor([0, 1, 1, 0, 1]), (2, 2)
    )
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
    loose, tight = (
        sla.solve(A, b, method="cg", preconditioner="none", rtol=r, return_info=True)[1] for r in (1e-2, 1e-9)
    )
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
    x, info = sla.solve(lambda x: dense @ x, b, return_info=True, rtol=1e-12)
    assert info.converged and info.backend == "lacuna"
    same(x, want, 1e-8)
    tall = dense[:, :3]
    x = sla.solve(lambda x: tall @ x, b, shape=(5, 3), rtol=1e-12)
    same(x, torch.linalg.lstsq(tall, b[:, None]).solution[:, 0], 1e-8)
    near, words = x + 1e-3, {"method": "lsmr", "tol": 1e-13, "return_info": True}
    for damp in (None, 0.5):
        of = SparseTensor.from_dense(tall).requires_grad_()
        got, info = of.solve(b, x0=near, damp=damp, **words)
        plain = SparseTensor.from_dense(tall).requires_grad_()
        same(got, plain.solve(b, method="lsmr", damp=damp, tol=1e-13), 1e-8)
        assert info.converged and info.method == "lsmr"
        got.square().sum().backward(), plain.solve(b, method="lsmr", damp=damp, tol=1e-13).square().sum().backward()
        same(of.grad, plain.grad, 1e-7)
    wide, start = dense[:3].clone().requires_grad_(), random(5, like=parts[0], seed=9)
    got = SparseTensor.from_dense(wide).solve(b[:3], x0=start, method="lsmr", tol=1e-13)
    nearest = start + torch.linalg.pinv(wide) @ (b[:3] - wide @ start)
    same(got, nearest, 1e-8)
    ours, plain = (torch.autograd.grad(x.square().sum(), wide)[0] for x in (got, nearest))
    same(ours, torch.where(wide == 0, 0, plain), 1e-7)
    same(sla.solve(lambda x: wide.detach() @ x, b[:3], shape=(3, 5), x0=start, rtol=1e-13), nearest, 1e-8)
    with pytest.raises(NotImplementedError, match="x0"):
        of.solve(torch.stack([b, b], 1), method="lsmr", x0=near)
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
        (gradient,) = torch.autograd.grad(
            sla.spsolve(val, *parts[1:], b, method="bicgstab", tol=1e-12).sum() * scale, val
        )
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


@pytest.mark.parametrize("method", ["lsqr", "lsmr"])
def test_least_squares_with_damping(method):
    dense = random(8, 4, like=torch.zeros(1, dtype=D))
    b = random(8, like=dense)
    for more in ({}, {"tol": 1e-12}):
        x = SparseTensor.from_dense(dense).solve(b, method=method, damp=0.5, **more)
        same(x, torch.linalg.solve(dense.T @ dense + 0.25 * torch.eye(4, dtype=D), dense.T @ b), 1e-7)


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
    same(
        torch.func.hessian(lambda v: solve(v, bs[0]).sum())(val),
        torch.func.hessian(lambda v: dense(v).sum())(val),
        1e-8,
    )


def test_compiled_as_one_graph():
    case, (val, row, col, shape) = given()
    b, val = random(5, like=val), val.clone().requires_grad_()

    def function(v, b):
        A = SparseTensor(v, row, col, shape)
        return sla.spsolve(v, row, col, shape, b) + A @ b + A.solve(b, method="lu")

    compiled = torch.compile(function, fullgraph=ONE_GRAPH, backend="aot_eager")
    same(compiled(val, b), function(val, b))
    same(torch.autograd.grad(compiled(val, b).sum(), val)[0], torch.autograd.grad(function(val, b).sum(), val)[0])


def test_low_precision_blocks_and_numbers_that_are_none():
    """There: an error, an error, and ten thousand iterations."""
    case, parts = given()
    half, x = SparseTensor(parts[0].to(torch.bfloat16), *parts[1:]), random(5, like=parts[0]).to(torch.bfloat16)
    assert (half @ x).dtype == torch.bfloat16
    same((half @ x).double(), case.dense(parts[0].to(torch.bfloat16).double()) @ x.double(), 2e-2)
    blocks = GIVEN["blocks"]
    B = SparseTensor(blocks.values, blocks.rows, blocks.columns, blocks.shape, (0, 1))
    b = random(10, like=blocks.values)
    same(B @ b, blocks.matrix() @ b), same(B.solve(b), torch.linalg.solve(blocks.matrix(), b))
    with pytest.raises(lacuna.LacunaError):  # which dimensions are blocks must be said
        SparseTensor(blocks.values, blocks.rows, blocks.columns, blocks.shape)
    nan = torch.full((5,), torch.nan, dtype=D)
    with pytest.raises(lacuna.LacunaError):
        SparseTensor(*parts).solve(nan, method="bicgstab")
