# SPDX-License-Identifier: Apache-2.0
"""Every public function of lacuna.compat that has a derivative: both orders and modes, vmap, one compiled graph. One
that is neither in the tables nor among those without derivatives fails the last test."""

import inspect

import pytest
import torch
from derivative_table import KINDS, Line, compiles, differentiates, maps

from lacuna import compat
from lacuna.compat import torch_sla as sla
from lacuna.compat import torchsparsegradutils as tsgu
from lacuna.compat.numml import krylov, nn
from lacuna.compat.numml import sparse as numml
from lacuna.compat.numml.sparse import linalg
from lacuna.compat.torch_sla.backends import (
    amgx_backend, nvmath_backend, pyamg_backend, pytorch_backend, scipy_backend, strumpack_backend,
    torch_spsolve_backend,
)  # fmt: skip
from lacuna.compat.torchsparsegradutils import cupy, jax
from lacuna.compat.torchsparsegradutils import utils as tsgu_utils

_HISTORY = "it gives the residuals, as many as there are steps"
_OWN = "an iteration of the caller's function, whose result is a number of its own"
_MAPPED = "test_compat_torchsparsegradutils.py has what vmap and compilers take of it"
_BATCH = "for one matrix"
_PLACES = "numbers say where entries are"
_LAYOUT = "torch's own sparse tensors come out; test_sparse_tensor_layouts.py has what torch.func takes"


def sla_of(a):
    return sla.SparseTensor.of(a)


def parts(a):
    return a.values, a.row_indices, a.col_indices, a.shape


def csr_of(a):
    return numml.SparseCSRTensor.of(a.coalesce())


def _rows_factored(a):
    rows = csr_of(a)
    return strumpack_backend.factor(rows.indptr, rows.indices, rows.data, 5)


def definite(a):
    """Symmetric positive definite, of one matrix."""
    return a.T @ a + a.eye(5)


def _exact(A, b):
    return torch.linalg.solve(A.to_dense(), b)


SLA = {
    "solve": Line(lambda a, x: (sla.solve(a, x), sla.solve(a, x, method="lu"))),
    "spsolve": Line(lambda a, x: sla.spsolve(*parts(a), x), compile=_MAPPED),
    "spsolve_batch_same_layout": Line(
        lambda a, x: sla.spsolve_batch_same_layout(a.values[None], a.row_indices, a.col_indices, (5, 5), x[None]),
        compile=_MAPPED),
    "spsolve_batch_different_layout": Line(
        lambda a, x: sla.spsolve_batch_different_layout([parts(a), parts(a.T)], [x, 2 * x]), compile=_MAPPED),
    "spsolve_coo": Line(lambda a, x: sla.spsolve_coo(a.to_sparse_coo(), x), forward=_LAYOUT, compile=_LAYOUT),
    "spsolve_csr": Line(lambda a, x: sla.spsolve_csr(a.to_sparse_csr(), x), forward=_LAYOUT, vmap=_LAYOUT,
                        compile=_LAYOUT),
    "spsolve_batch_coo_same_layout": Line(
        lambda a, x: sla.spsolve_batch_coo_same_layout(a.coalesce().detach().to_sparse_coo(), a.slots()[None], x[None]),
        batched=_BATCH, vmap=_LAYOUT, compile=_LAYOUT),
    "spsolve_batch_coo_different_layout": Line(
        lambda a, x: sla.spsolve_batch_coo_different_layout([a.to_sparse_coo()], [x]), forward=_LAYOUT,
        compile=_LAYOUT),
    "ParallelBatchSolver.solve": Line(
        lambda a, x: sla.ParallelBatchSolver(a.row_indices, a.col_indices, (5, 5), "lu").solve(a.values, x),
        compile=_MAPPED),
    "scipy_solve": Line(lambda a, x: scipy_backend.scipy_solve(*parts(a), x), compile=_MAPPED),
    "scipy_norm": Line(lambda a, x: scipy_backend.scipy_norm(*parts(a)), compile=_MAPPED),
    "scipy_det": Line(lambda a, x: scipy_backend.scipy_det(*parts(a)), compile=_MAPPED),
    "pytorch_solve": Line(lambda a, x: pytorch_backend.pytorch_solve(*parts(a), x, "gmres", rtol=1e-14),
                          compile=_MAPPED),
    "pyamg_solve": Line(lambda a, x: pyamg_backend.pyamg_solve(*parts(definite(a)), x, tol=1e-13), compile=_MAPPED),
    "amgx_solve": Line(lambda a, x: amgx_backend.amgx_solve(*parts(definite(a)), x, tol=1e-13), compile=_MAPPED),
    "nvmath_solve": Line(lambda a, x: nvmath_backend.nvmath_solve(*parts(definite(a)), x, "spd"), compile=_MAPPED),
    "torch_spsolve": Line(lambda a, x: torch_spsolve_backend.torch_spsolve(*parts(a), x), compile=_MAPPED),
    "solve_transpose": Line(lambda a, x: strumpack_backend.solve_transpose(sla_of(a).lu(), x),
                            vmap="factors of numbers", compile="factors of numbers"),
    "factor": Line(lambda a, x: strumpack_backend.solve(_rows_factored(a), x), batched=_BATCH,
                   vmap="factors of numbers", compile="factors of numbers"),
    "logdet": Line(lambda a, x: sla.det.logdet(sla_of(a))),
    "SparseTensor.from_dense": Line(lambda a, x: sla.SparseTensor.from_dense(a.to_dense()), vmap=_PLACES,
                                    compile=_PLACES),
    "SparseTensor.from_torch_sparse": Line(lambda a, x: sla.SparseTensor.from_torch_sparse(a.to_sparse_coo()),
                                           forward=_LAYOUT, compile=_LAYOUT),
    "SparseTensor.diag": Line(lambda a, x: sla.SparseTensor.diag(x)),
    "SparseTensor.solve": Line(lambda a, x: (sla_of(a).solve(x), sla_of(a).solve(x, backend="scipy"))),
    "SparseTensor.solve_batch": Line(lambda a, x: sla_of(a).solve_batch(2 * a.values, x, method="lu")),
    "SparseTensor.det": Line(lambda a, x: sla_of(a).det()),
    "SparseTensor.logdet": Line(lambda a, x: sla_of(a).logdet(method="lu")),
    **{f"SparseTensor.{name}": Line(lambda a, x, name=name: getattr(sla_of(a), name)(-1))
       for name in ("sum", "mean", "prod", "max", "min")},
    "SparseTensor.to_dense": Line(lambda a, x: sla_of(a).to_dense()),
    "SparseTensor.to_csr": Line(lambda a, x: sla.SparseTensor.of(sla_of(a).to_csr()), forward=_LAYOUT, vmap=_LAYOUT,
                                compile=_LAYOUT),
    "SparseTensor.to_torch_sparse": Line(lambda a, x: sla.SparseTensor.of(sla_of(a).to_torch_sparse()),
                                         forward=_LAYOUT, compile=_LAYOUT),
    "SparseTensor.to_connected_components": Line(lambda a, x: list(sla_of(a).to_connected_components()),
                                                 compile="a search"),
    "SparseTensorList.from_coo_list": Line(lambda a, x: list(sla.SparseTensorList.from_coo_list([parts(a)])),
                                           compile=_MAPPED),
    "SparseTensorList.from_torch_sparse_list": Line(
        lambda a, x: list(sla.SparseTensorList.from_torch_sparse_list([a.to_sparse_coo()])), forward=_LAYOUT,
        compile=_LAYOUT),
    "SparseTensorList.to_block_diagonal": Line(
        lambda a, x: sla.SparseTensorList([a, a.T]).to_block_diagonal(), batched=_BATCH, compile="made of patterns"),
    "SparseTensorList.from_block_diagonal": Line(
        lambda a, x: list(sla.SparseTensorList.from_block_diagonal(a, [(2, 2), (3, 3)])), compile="made of patterns"),
    "SparseTensorList.solve": Line(lambda a, x: sla.SparseTensorList([a, a.T]).solve([x, 2 * x])),
    "SparseTensorList.__matmul__": Line(lambda a, x: sla.SparseTensorList([a, a.T]) @ x,
                                        compile="the compiler takes no operator of an object of ours and a tensor"),
}  # fmt: skip
TSGU = {
    "sparse_mm": Line(lambda a, x: tsgu.sparse_mm(a, x[..., None])),
    "sparse_triangular_solve": Line(
        lambda a, x: (tsgu.sparse_triangular_solve(a, x[..., None]),
                      tsgu.sparse_triangular_solve(a, x[..., None], False, transpose=True))),
    "sparse_generic_solve": Line(
        lambda a, x: (tsgu.sparse_generic_solve(a, x), tsgu.sparse_generic_solve(a, x, _exact)), batched=_BATCH,
        compile=_OWN),
    "sparse_generic_lstsq": Line(lambda a, x: tsgu.sparse_generic_lstsq(a[..., :3], x)),
    "segment_mm": Line(lambda a, x: tsgu.segment_mm(a.to_dense(), a.to_dense()[None, :, :2], torch.tensor([5])),
                       batched=_BATCH, compile="lengths are numbers"),
    "sparse_logsumexp": Line(lambda a, x: (tsgu.sparse_logsumexp(a, -1), tsgu.sparse_logsumexp(a, -2, True, False))),
    "sparse_bidir_logsumexp": Line(lambda a, x: tsgu.sparse_bidir_logsumexp(a)),
    "sparse_solve_c4t": Line(lambda a, x: cupy.sparse_solve_c4t(a, x)),
    "sparse_solve_j4t": Line(lambda a, x: jax.sparse_solve_j4t(a, x), batched=_BATCH),
    "linear_cg": Line(lambda a, x: tsgu_utils.linear_cg(definite(a), x[..., None], tolerance=1e-14)),
    "bicgstab": Line(lambda a, x: tsgu_utils.bicgstab(a, x[..., None], settings=_TIGHT)),
    "minres": Line(lambda a, x: (tsgu_utils.minres(definite(a), x[..., None], settings=_CLOSE),
                                 tsgu_utils.minres(definite(a), x[..., None], None, _SHIFTS, 2.0, settings=_CLOSE))),
    "lsmr": Line(lambda a, x: tsgu_utils.lsmr(a.to_dense()[:, :3], x)[0], batched=_BATCH, compile="reads numbers"),
    "convert_coo_to_csr": Line(lambda a, x: a.of(tsgu_utils.convert_coo_to_csr(a.to_sparse_coo())), batched=_BATCH,
                               forward=_LAYOUT, vmap=_LAYOUT, compile=_LAYOUT),
    "convert_coo_to_csr_indices_values": Line(
        lambda a, x: tsgu_utils.convert_coo_to_csr_indices_values(
            torch.stack([a.row_indices, a.col_indices]).long(), 5, a.values)[2], batched=_BATCH, compile=_LAYOUT),
    "sparse_block_diag": Line(lambda a, x: a.of(tsgu_utils.sparse_block_diag(a.to_sparse_coo(), a.T.to_sparse_coo())),
                              batched=_BATCH, forward=_LAYOUT, compile=_LAYOUT),
    "sparse_block_diag_split": Line(
        lambda a, x: [a.of(one) for one in tsgu_utils.sparse_block_diag_split(a.tril().triu().to_sparse_coo(), (2, 2),
                                                                              (3, 3))],
        batched=_BATCH, forward=_LAYOUT, compile=_LAYOUT),
    "stack_csr": Line(lambda a, x: a.of(tsgu_utils.stack_csr([a.to_sparse_csr(), (2 * a).to_sparse_csr()])),
                      batched=_BATCH, forward=_LAYOUT, vmap=_LAYOUT, compile=_LAYOUT),
}  # fmt: skip
_SHIFTS = torch.tensor([0.0, 1.5], dtype=torch.float64)
_TIGHT = tsgu_utils.BICGSTABSettings(reltol=1e-14)
_CLOSE = tsgu_utils.MINRESSettings(minres_tolerance=1e-14)
_LAYER = nn.GCNConv(1, 2).double()
_TWICE = nn.TAGConv(1, 2).double()


def _graph(a):
    """Weights that are positive, as those of a graph are."""
    return csr_of(a.sigmoid())


NUMML = {
    "spsolve": Line(lambda a, x: linalg.spsolve(csr_of(a), x)),
    "splu": Line(lambda a, x: linalg.splu(csr_of(a)).solve(x), vmap="factors of numbers", compile="factors of numbers"),
    "splu_solve": Line(lambda a, x: linalg.splu_solve(linalg.splu(csr_of(a)), x), vmap="factors of numbers",
                       compile="factors of numbers"),
    "spsolve_triangular": Line(lambda a, x: (linalg.spsolve_triangular(csr_of(a), x),
                                             linalg.spsolve_triangular(csr_of(a), x, False, True))),
    "conjugate_gradient": Line(lambda a, x: krylov.conjugate_gradient(csr_of(definite(a)), x, rtol=1e-14)[0],
                               compile=_HISTORY),
    "conjugate_residual": Line(lambda a, x: krylov.conjugate_residual(csr_of(definite(a)), x, rtol=1e-14)[0],
                               compile=_HISTORY),
    "diag": Line(lambda a, x: numml.diag(x, -1), compile="made of patterns"),
    "spouter": Line(lambda a, x: numml.spouter(x, a @ x), batched=_BATCH, vmap="reads numbers",
                    compile="reads numbers"),
    "unpack_csr": Line(lambda a, x: numml.unpack_csr(csr_of(a))[1], compile="indices are read of a pattern"),
    "repack_csr": Line(lambda a, x: numml.repack_csr(*numml.unpack_csr(csr_of(a))), batched=_BATCH,
                       compile="indices are read of a pattern"),
    "SparseCSRTensor.__matmul__": Line(lambda a, x: csr_of(a) @ x),
    "SparseCSRTensor.data": Line(lambda a, x: csr_of(a).data * 2),
    "SparseCSRTensor.copy": Line(lambda a, x: csr_of(a).copy()),
    "SparseCSRTensor.row_sum": Line(lambda a, x: csr_of(a).row_sum()),
    "SparseCSRTensor.T": Line(lambda a, x: csr_of(a).T),
    "SparseCSRTensor.transpose": Line(lambda a, x: csr_of(a).transpose()),
    "SparseCSRTensor.hermitian": Line(lambda a, x: csr_of(a).hermitian()),
    "SparseCSRTensor.solve_triangular": Line(lambda a, x: csr_of(a).solve_triangular(False, False, x)),
    "SparseCSRTensor.to_coo": Line(lambda a, x: a.of(csr_of(a).to_coo()), forward=_LAYOUT, compile=_LAYOUT),
    "GCNConv.forward": Line(lambda a, x: _LAYER(_graph(a), x), batched=_BATCH),
    "TAGConv.forward": Line(lambda a, x: _TWICE(_graph(a), x), batched=_BATCH),
    "SeqWrapper.forward": Line(lambda a, x: nn.SeqWrapper(torch.nn.Tanh())(a, x)),
    "Sequential.forward": Line(lambda a, x: nn.Sequential(_LAYER, nn.SeqWrapper(torch.nn.Tanh()))(_graph(a), x),
                               batched=_BATCH, compile="a module that is made within"),
}  # fmt: skip
TABLES = {"torch_sla": SLA, "torchsparsegradutils": TSGU, "numml": NUMML}
_WITHOUT = set((
    # words, options, what is here
    "get_available_backends get_backend_methods get_default_method select_backend select_method auto_select_method "
    "estimate_direct_solver_memory get_available_gpu_memory DetConfig PreconditionerConfig SolverConfig SolverCache "
    "BICGSTABSettings LinearCGSettings CGInfo MINRESSettings LinearOperator DatasetUnavailable SuiteSparseUnavailable "
    "Profiler j2t t2j j2t_coo t2j_coo j2t_csr t2j_csr spmm_t4j "
    "detect_matrix_type scipy_lu torch_coo_to_scipy_csr is_torch_spsolve_supported "
    # files, problems, random matrices, other packages' matrices: no input that has a gradient
    "load_mtx load_mtx_info load_sparse save_mtx save_sparse SparseProblem advection_diffusion_2d "
    "anisotropic_diffusion_2d bratu_1d default_sizes get helmholtz_1d laplacian_1d laplacian_1d_eigenvalues "
    "laplacian_2d laplacian_2d_eigenvalues laplacian_3d list_problems poisson_2d poisson_3d is_suitesparse_available "
    "load_suitesparse file_of cache_dir iter_benchmarks Benchmark BenchmarkCollection plot_errors "
    "t2c_csr t2c_coo c2t_csr c2t_coo make_spd_sparse rand_sparse rand_sparse_tri sparse_eye "
    "eye row_indices diagonal_idx "
    # what differentiates, or is the inside of what does
    "vjp vjp_single fd sp_fd grad sp_grad model_to_vector vector_to_model SparseGenericSolve SparseGenericLstsq "
    "SparseTensor.condition_number SparseTensor.is_symmetric SparseTensor.is_hermitian "
    "SparseTensor.is_positive_definite SparseTensor.detect_matrix_type SparseTensor.spy SparseTensor.eye "
    "SparseTensorList.spy SparseTensorList.block_sizes SparseTensorList.condition_number SparseCSRTensor.indptr "
    "SparseCSRTensor.indices SparseCSRTensor.requires_grad SparseCSRTensor.grad_fn SparseCSRTensor.to_scipy_csr "
    "SparseCSRTensor.tocsr SparseCSRTensor.tocoo SparseCSRTensor.to_cupy_csr"
).split())
EVERY = [pytest.param(table, name, kind, id=f"{package}-{name}-{kind}")
         for package, table in TABLES.items() for name in table for kind in KINDS]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("table, name, kind", EVERY)
def test_derivatives_are_those_of_differences(table, name, kind):
    if table[name].is_asked("first", kind):
        differentiates(table[name], kind)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("table, name, kind", [one for one in EVERY if "int32" not in one.id])
def test_vmap_is_a_loop(table, name, kind):
    if table[name].is_asked("vmap", kind):
        maps(table[name], kind)


@pytest.mark.parametrize("kind", ["square", "batched"])
@pytest.mark.parametrize("package", TABLES)
def test_compiled_as_one_graph(package, kind):
    torch._dynamo.reset()
    compiles([line for line in TABLES[package].values() if line.is_asked("compile", kind)], kind)


def _functions(package):
    """Names of functions, and of classes' own public methods, that a package of compat defines."""
    found = set()
    for name, module in compat._modules(package).items():
        if name.rpartition(".")[2].startswith("_"):
            continue
        for name, given in vars(module).items():
            if name.startswith("_") or not callable(given) or (given.__doc__ or "").startswith("Not there yet"):
                continue
            home = getattr(given, "__module__", "")
            if home.startswith(f"lacuna.compat.{package}") and "._" not in home.replace("._csr", ""):
                found |= {name} if not inspect.isclass(given) or f"{name}." not in _CLASSES else _methods(name, given)
    return found


_CLASSES = {f"{name.partition('.')[0]}." for table in TABLES.values() for name in table if "." in name}


def _methods(name, kind):
    own = {method for method in vars(kind) if not method.startswith("_") or method == "__matmul__"}
    return {f"{name}.{method}" for method in own
            if not (getattr(vars(kind)[method], "__doc__", "") or "").startswith("Not there yet")}  # fmt: skip


_HELPERS = {"native", "solved", "as_layout", "turned", "By"}  # that modules of one package share


@pytest.mark.parametrize("package", TABLES)
def test_every_public_function_is_in_the_tables(package):
    names = _functions(package)
    aside = {name for name in names if name.endswith("_available") or name.startswith("generate_random_")}
    assert names - set(TABLES[package]) - _WITHOUT - _HELPERS - aside == set()
    assert set(TABLES[package]) - names == set() and not set(TABLES[package]) & _WITHOUT
