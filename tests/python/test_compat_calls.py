# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat takes what the peers document: parameters by their names and places, calls in their forms."""

import importlib
import inspect
import sys
import types

import pytest
import torch
from reference import same

import lacuna
from lacuna.compat import torch_sla as sla
from lacuna.compat.numml import krylov
from lacuna.compat.numml.sparse import SparseCSRTensor
from lacuna.compat.torchsparsegradutils import utils

D = torch.float64
# module, then on each line a function and the parameters that the peer documents; those after * have no place
DOCUMENTED = """
torch_sla
  spsolve val row col shape b backend method atol maxiter tol matrix_type is_symmetric is_spd preconditioner
          mixed_precision verbose
  spsolve_coo A b
  spsolve_csr A b
  solve A b * shape method backend preconditioner atol rtol maxiter x0 matrix_type mixed_precision return_info verbose
          restart
  spsolve_batch_same_layout val_batch row col shape b_batch method atol maxiter
  spsolve_batch_different_layout matrices b_list method atol maxiter
  spsolve_batch_coo_same_layout A_template val_batch b_batch method
  spsolve_batch_coo_different_layout A_list b_list method
  ParallelBatchSolver row col shape method device
  ParallelBatchSolver.solve val_batch b_batch atol maxiter
  ParallelBatchSolver.__call__ val_batch b_batch
  get_backend_methods backend
  get_default_method backend
  select_backend device n dtype prefer_direct
  select_method backend is_symmetric is_spd prefer_direct
  save_mtx tensor path comment field symmetry
  load_mtx path dtype device
  load_mtx_info path
  save_sparse tensor path metadata
  load_sparse path device
  PreconditionerConfig kind omega block_size amg_strength amg_smoother amg_coarsening
  PreconditionerConfig.from_string kind
  SolverConfig method backend preconditioner atol rtol maxiter restart x0 matrix_type mixed_precision return_info
          verbose
  SolverConfig.auto A
  SolverConfig.high_accuracy * atol rtol maxiter
  DetConfig method backend num_probes lanczos_iter distribution cpu_fallback detect_components
  SparseTensor values row_indices col_indices shape sparse_dim
  SparseTensor.from_dense A sparse_dim
  SparseTensor.from_torch_sparse A
  SparseTensor.eye n dtype device
  SparseTensor.diag values device
  SparseTensor.tridiagonal n diag off_diag dtype device
  SparseTensor.cuda device
  SparseTensor.requires_grad_ requires_grad
  SparseTensor.to_torch_sparse batch_idx
  SparseTensor.to_dense batch_idx
  SparseTensor.to_csr batch_idx
  SparseTensor.unflatten_blocks block_shape
  SparseTensor.is_symmetric atol rtol force_recompute
  SparseTensor.is_hermitian atol rtol force_recompute
  SparseTensor.is_positive_definite method force_recompute
  SparseTensor.solve b backend method atol maxiter tol verbose
  SparseTensor.solve_batch values b backend method atol maxiter tol
  SparseTensor.condition_number ord
  SparseTensor.logdet
  SparseTensor.norm ord
  SparseTensor.sum axis keepdim
  SparseTensor.mean axis keepdim
  SparseTensor.prod axis keepdim
  SparseTensor.max axis keepdim
  SparseTensor.min axis keepdim
  SparseTensor.clamp min max
  SparseTensor.pow exponent
  SparseTensor.logical_and other
  SparseTensor.logical_or other
  SparseTensor.logical_xor other
  SparseTensor.spy batch_idx ax title cmap show_grid grid_color grid_linewidth show_colorbar figsize save_path dpi
  SparseTensor.save path metadata
  SparseTensor.load path device
  LUFactorization.solve b
  SparseTensorList tensors
  SparseTensorList.from_coo_list matrices
  SparseTensorList.from_torch_sparse_list A_list
  SparseTensorList.from_block_diagonal sparse sizes
  SparseTensorList.solve b_list
  SparseTensorList.sum axis
  SparseTensorList.mean axis
  SparseTensorList.clamp min max
  SparseTensorList.pow exponent
  SparseTensorList.norm ord
  SparseTensorList.condition_number ord
  SparseTensorList.spy indices ncols figsize
  auto_select_method nnz n dtype is_cuda is_spd memory_threshold
  estimate_direct_solver_memory nnz n dtype
torch_sla.solver_cache
  SolverCache.set_max_size max_size
torch_sla.datasets
  SparseProblem name val row col shape rhs exact properties meta
  SparseProblem.matvec x
  laplacian_1d_eigenvalues n
  laplacian_2d_eigenvalues m
  laplacian_1d n
  laplacian_2d m
  laplacian_3d m
  poisson_2d m
  poisson_3d m
  bratu_1d n lam
  helmholtz_1d n k alpha
  anisotropic_diffusion_2d m eps
  advection_diffusion_2d m peclet
  get name
  default_sizes name
  is_suitesparse_available name group
torchsparsegradutils
  sparse_mm A B
  sparse_triangular_solve A B upper unitriangular transpose
  sparse_generic_solve A B solve transpose_solve
  sparse_generic_lstsq A B lstsq transpose_lstsq
  segment_mm a b seglen_a
  gather_mm a b idx_b
  sparse_logsumexp input dim keepdim include_zeros
  sparse_bidir_logsumexp input keepdim include_zeros output_layout
torchsparsegradutils.utils
  BICGSTABSettings matvec_max abstol reltol precon logger
  bicgstab matmul_closure rhs initial_guess settings
  LinearCGSettings max_cg_iterations max_lanczos_quadrature_iterations cg_tolerance terminate_cg_by_size verbose_linalg
  CGInfo iterations matvecs converged recursive_relative_residual true_relative_residual tolerance reason
  linear_cg matmul_closure rhs n_tridiag tolerance eps stop_updating_after max_iter max_tridiag_iter initial_guess
          preconditioner settings convergence_reduction min_iter return_info
  MINRESSettings max_cg_iterations minres_tolerance verbose_linalg
  minres matmul_closure rhs eps shifts value max_iter preconditioner settings
  lsmr A b Armat n damp atol btol conlim maxiter x0 check_nonzero
  rand_sparse size nnz layout * indices_dtype values_dtype device well_conditioned min_diag_value
  rand_sparse_tri size nnz layout * upper strict indices_dtype values_dtype device value_range well_conditioned
          min_diag_value
  make_spd_sparse n layout value_dtype index_dtype device sparsity_ratio nz
  stack_csr tensors dim
  convert_coo_to_csr_indices_values coo_indices num_rows values
  convert_coo_to_csr sparse_coo_tensor
  sparse_block_diag
  sparse_block_diag_split sparse_block_diag_tensor
  sparse_eye size * layout values_dtype indices_dtype device requires_grad
torchsparsegradutils.cupy
  t2c_csr x_torch
  c2t_csr x_cupy
  t2c_coo x_torch
  c2t_coo x_cupy
  sparse_solve_c4t A B solve transpose_solve
torchsparsegradutils.jax
  j2t x_jax
  t2j x_torch
  spmm_t4j A
  t2j_csr x_torch
  j2t_csr x_jax
  t2j_coo x_torch
  j2t_coo x_jax
  sparse_solve_j4t A B solve transpose_solve
"""


def _lines():
    """(module, function, parameters) of the table; a line of ten spaces goes on."""
    module, found = None, []
    for line in DOCUMENTED.strip("\n").splitlines():
        if line.startswith(" " * 10):
            found[-1][2].extend(line.split())
        elif line.startswith(" "):
            name, *parameters = line.split()
            found.append((module, name, parameters))
        else:
            module = line
    return found


def _signature(function, name):
    """The parameters of a function; of one that a list calls of each, those of that."""
    given = inspect.signature(function).parameters
    if name.startswith("SparseTensorList.") and "args" in given:
        return _signature(getattr(sla.SparseTensor, name.partition(".")[2]), "")
    return {key: value for key, value in given.items() if key != "self"}


@pytest.mark.parametrize("module, name, documented", [pytest.param(*line, id=".".join(line[:2])) for line in _lines()])
def test_parameters_have_the_peers_names_and_places(module, name, documented):
    function = importlib.import_module(f"lacuna.compat.{module}")
    for part in name.split("."):
        function = getattr(function, part)
    ours = _signature(function, name)
    places, _, names = " ".join(documented).partition("*")
    assert list(ours)[: len(places.split())] == places.split()
    assert set(names.split()) <= set(ours)
    assert all(ours[key].kind is not inspect.Parameter.POSITIONAL_ONLY for key in ours)


# -- torch_sla --------------------------------------------------------------------------------------------------------


def test_the_kind_of_a_matrix_may_be_left_to_its_values():
    for A in (sla.SparseTensor.tridiagonal(6), sla.SparseTensor.tridiagonal(6, 0.5)):
        b = torch.arange(6, dtype=D)
        want = torch.linalg.solve(A.to_dense(), b)
        for backend in ("auto", "scipy", "pytorch"):
            same(A.solve(b, backend, matrix_type="auto"), want, 1e-8)
        same(sla.solve(lambda x, A=A: A @ x, b, matrix_type="auto"), want, 1e-8)
        kept = sla.SolverConfig(matrix_type="auto")
        for config in (kept, kept.direct(), kept.iterative(), kept.replace(method="gmres").iterative()):
            with config:
                same(sla.solve(A, b), want, 1e-8)
    with pytest.raises(lacuna.ArgumentError, match="'auto'.*'spd'"):
        A.solve(b, matrix_type="definite")


def test_solvers_of_batches_are_called():
    A, b = sla.SparseTensor.tridiagonal(4), torch.arange(8, dtype=D).reshape(2, 4)
    values = torch.stack([A.values, 2 * A.values])
    solver = sla.ParallelBatchSolver(A.row_indices, A.col_indices, (4, 4))
    want = torch.linalg.solve(torch.stack([A.to_dense(), 2 * A.to_dense()]), b)
    same(solver(values, b), want), same(solver(val_batch=values, b_batch=b, maxiter=99), want)
    same(A.solve_batch(values, b, "scipy", "lu"), want)


def test_lists_take_one_tensor_for_all():
    parts = sla.SparseTensorList([sla.SparseTensor.tridiagonal(2), sla.SparseTensor.eye(2)])
    for x in (torch.ones(2, dtype=D), torch.ones(2, 2, dtype=D), sla.SparseTensor.eye(2)):  # two matrices, two rows
        for got, part in zip(parts @ x, parts):
            assert type(got) is type(part @ x) and got.shape == x.shape
            same(*[made.to_dense() if isinstance(x, sla.SparseTensor) else made for made in (got, part @ x)])
    x = [torch.ones(2, dtype=D), torch.arange(2, dtype=D)]
    for got, part, one in zip(parts @ x, parts, x):
        same(got, part @ one)
    for got, part, one in zip(parts.solve(b_list=x), parts, x):
        same(part @ got, one)
    same(sla.SparseTensorList.from_block_diagonal(sparse=parts.to_block_diagonal(), sizes=[(2, 2)] * 2)[0].to_dense(),
         parts[0].to_dense())  # fmt: skip


def test_constructors_by_the_peers_names():
    A = sla.SparseTensor.eye(3, torch.float32, "cpu")
    assert type(A) is sla.SparseTensor and A.dtype == torch.float32
    same(sla.SparseTensor.from_dense(A=A.to_dense()).to_dense(), A.to_dense())
    same(sla.SparseTensor.from_torch_sparse(A=A.to_torch_sparse()).to_dense(), A.to_dense())


def test_lists_are_drawn_side_by_side(monkeypatch):
    seen, hidden, pyplot = [], [], types.ModuleType("matplotlib.pyplot")
    cells = [types.SimpleNamespace(set_visible=lambda is_on, name=name: hidden.append(name)) for name in "abcd"]
    grid = types.SimpleNamespace(flat=cells)
    pyplot.subplots = lambda rows, columns, **options: ((rows, columns, options["figsize"]), grid)
    monkeypatch.setitem(sys.modules, "matplotlib", types.ModuleType("matplotlib"))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    monkeypatch.setattr(sla.SparseTensor, "spy", lambda self, ax, **options: seen.append((self.nnz, ax, options)))
    parts = sla.SparseTensorList([sla.SparseTensor.eye(n) for n in (1, 2, 3, 4)])
    assert parts.spy(indices=[0, 1, 3], ncols=2, dpi=50) == (2, 2, (8, 8))
    assert [nnz for nnz, *_ in seen] == [1, 2, 4] and seen[2][1:] == (cells[2], {"dpi": 50}) and hidden == ["d"]


# -- torchsparsegradutils and numml ----------------------------------------------------------------------------------


def _iterations():
    tight = utils.BICGSTABSettings(reltol=1e-12), utils.MINRESSettings(minres_tolerance=1e-12)
    return {
        "linear_cg": lambda A, b, **more: utils.linear_cg(A, b, tolerance=1e-12, **more),
        "bicgstab": lambda A, b: utils.bicgstab(A, b, settings=tight[0]),
        "minres": lambda A, b, **more: utils.minres(A, b, settings=tight[1], **more),
    }  # fmt: skip


@pytest.mark.parametrize("name", _iterations())
def test_iterations_take_sparse_tensors_of_every_class(name):
    solve, A = _iterations()[name], sla.SparseTensor.tridiagonal(6, 3.0)
    b = torch.arange(12, dtype=D).reshape(6, 2)
    want = torch.linalg.solve(A.to_dense(), b)
    for given in (A, lacuna.torch.SparseTensor.of(A.to_dense()), SparseCSRTensor(A.to_dense()), A.to_sparse_csr(),
                  A.to_sparse_coo()):  # fmt: skip
        same(solve(given, b), want, 1e-10), same(solve(given, b[:, 1]), want[:, 1], 1e-10)
        same(torch.func.vmap(lambda b, given=given: solve(given, b))(torch.stack([b, -b])), torch.stack([want, -want]),
             1e-10)  # fmt: skip


def test_preconditioners_of_sparse_tensors_get_what_they_get_elsewhere():
    A, b = sla.SparseTensor.tridiagonal(6, 3.0), torch.arange(12, dtype=D).reshape(6, 2)
    shapes = []

    def inverse(r):
        shapes.append(r.shape)
        return r / A.diagonal()[:, None]

    want = torch.linalg.solve(A.to_dense(), b)
    for preconditioner in (inverse, torch.eye(6, dtype=D) / 3, A.inverse_on()):
        same(_iterations()["linear_cg"](A, b, preconditioner=preconditioner), want, 1e-10)
        same(_iterations()["minres"](A, b, preconditioner=preconditioner), want, 1e-10)
    assert set(shapes) == {(6, 2)}
    both = torch.stack([b, 2 * b])
    same(torch.func.vmap(lambda b: utils.linear_cg(A, b, tolerance=1e-12, preconditioner=inverse))(both),
         torch.stack([want, 2 * want]), 1e-10)  # fmt: skip
    info = utils.linear_cg(A, b, tolerance=1e-12, return_info=True)[1]
    assert info.converged.shape == (2,) and 0 < info.iterations <= 6 < info.matvecs + 1


@pytest.mark.parametrize("make", [lambda A: A, lambda A: A.to_dense()], ids=["sparse", "dense"])
def test_shifts_of_minres_have_derivatives(make):
    A, b = sla.SparseTensor.tridiagonal(6), torch.arange(6, dtype=D)
    shifts = torch.tensor([[0.0, 1.5]], dtype=D, requires_grad=True)
    solve = lambda shifts: _iterations()["minres"](make(A), b, shifts=shifts, value=2.0)  # noqa: E731
    assert solve(shifts).shape == (1, 2, 6)
    assert torch.autograd.gradcheck(solve, shifts)


@pytest.mark.parametrize("method", [krylov.conjugate_gradient, krylov.conjugate_residual])
def test_residuals_of_krylov_under_vmap(method):
    A = SparseCSRTensor(sla.SparseTensor.tridiagonal(6, 3.0).to_dense())
    bs = torch.arange(12, dtype=D).reshape(2, 6)
    for function, given in ((lambda b: method(A, b, rtol=1e-12), bs),
                            (lambda v: method(A.with_values(v), bs[1], rtol=1e-12), torch.stack([A.data, 2 * A.data])),
                            (lambda b: method(A, b, M=A.inverse_on(), rtol=1e-12), bs)):  # fmt: skip
        x, history = torch.func.vmap(function)(given)
        for i in range(2):
            one, norms = function(given[i])
            same(x[i], one, 1e-9)
            same(history[0][i] if isinstance(history, list) else history[i, 0], norms[0])


def test_residuals_of_krylov_are_those_of_each_step():
    A, b = sla.SparseTensor.tridiagonal(6, 3.0), torch.arange(6, dtype=D)
    start = torch.ones(6, dtype=D)
    for given in (A, A.to_dense()):
        x, history = krylov.conjugate_gradient(given, b, start, iterations=2)
        assert len(history) == 3 and not history.requires_grad
        same(history[0], torch.linalg.vector_norm(b - A @ start)), same(history[2], torch.linalg.vector_norm(b - A @ x))
