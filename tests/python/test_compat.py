# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat: imports of other packages that find Lacuna."""

import ast
import importlib
import pathlib
import subprocess
import sys

import pytest

import lacuna
from lacuna import compat


def test_installed_packages_are_ours():
    compat.install()
    try:
        import torch_sla
        from torch_sla.datasets import laplacian_1d
        from torch_sla.solve import SolverConfig

        assert torch_sla is compat.torch_sla and torch_sla.SolverConfig is SolverConfig
        assert laplacian_1d(3).shape == (3, 3)
        import numml.sparse.linalg
        from torchsparsegradutils.utils.random_sparse import rand_sparse

        assert numml.sparse.linalg.spsolve is compat.numml.sparse.spsolve
        assert rand_sparse is compat.torchsparsegradutils.utils.rand_sparse
        compat.install()  # again is nothing
    finally:
        compat.uninstall()
    assert not any(name.partition(".")[0] in compat.PACKAGES for name in sys.modules)


def test_a_package_that_is_imported_already_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_sla", compat)
    with pytest.raises(lacuna.ArgumentError, match="imported before"):
        compat.install("torch_sla")
    with pytest.raises(lacuna.ArgumentError, match="there is no"):
        compat.install("torch")


# module paths that the peers have, with names that are imported from each
PATHS = """
torch_sla SparseTensor SparseTensorList SolverConfig spsolve solve SOLVER_CACHE
torch_sla.backends get_available_backends select_backend BACKEND_METHODS
torch_sla.backends.amgx_backend AmgXSolver amgx_solve amgx_preconditioner is_amgx_available
torch_sla.backends.nvmath_backend detect_matrix_type nvmath_solve nvmath_factor_solve_many
torch_sla.backends.pyamg_backend PyAMGHierarchy pyamg_solve pyamg_preconditioner is_pyamg_available
torch_sla.backends.pytorch_backend pytorch_solve
torch_sla.backends.scipy_backend scipy_solve scipy_lu scipy_ilu scipy_det scipy_norm scipy_eigs scipy_eigsh scipy_svds
torch_sla.backends.scipy_backend torch_coo_to_scipy_csr is_scipy_available
torch_sla.backends.strumpack_backend factor solve solve_transpose is_strumpack_available
torch_sla.backends.torch_spsolve_backend torch_spsolve is_torch_spsolve_supported
torch_sla.batch_solve ParallelBatchSolver
torch_sla.benchmark Benchmark BenchmarkCollection plot_errors
torch_sla.datasets SparseProblem poisson_2d get Benchmarks
torch_sla.datasets.problems PROBLEMS
torch_sla.datasets.sparse_problem SparseProblem
torch_sla.datasets.suitesparse load_suitesparse SuiteSparseUnavailable
torch_sla.det DetConfig logdet
torch_sla.distributed DSparseTensor Partition
torch_sla.io load_mtx save_sparse
torch_sla.linear_solve spsolve_csr
torch_sla.nonlinear_solve nonlinear_solve
torch_sla.partition partition_simple
torch_sla.presets SolverConfig
torch_sla.solve PreconditionerConfig SolveInfo
torch_sla.solver_cache SOLVER_CACHE SolverCache
torch_sla.sparse_tensor SparseTensor SparseTensorList LUFactorization auto_select_method
torch_sla.sparse_tensor.core SparseTensor LUFactorization
torch_sla.sparse_tensor.list SparseTensorList
torch_sla.sparse_tensor.utils auto_select_method estimate_direct_solver_memory get_available_gpu_memory
torch_sla.vi_solve vi_solve
torchsparsegradutils sparse_mm sparse_generic_solve
torchsparsegradutils.cupy sparse_solve_c4t t2c_csr
torchsparsegradutils.cupy.cupy_bindings t2c_csr c2t_csr t2c_coo c2t_coo
torchsparsegradutils.cupy.cupy_sparse_solve sparse_solve_c4t
torchsparsegradutils.distributions SparseMultivariateNormal SparseMultivariateNormalNative
torchsparsegradutils.distributions.constraints
torchsparsegradutils.distributions.sparse_multivariate_normal SparseMultivariateNormal
torchsparsegradutils.encoders PairwiseEncoder PairwiseVoxelEncoder calc_pariwise_coo_indices
torchsparsegradutils.encoders.pairwise_encoder calc_pairwise_coo_indices calc_pariwise_coo_indices
torchsparsegradutils.encoders.pairwise_voxel_encoder PairwiseVoxelEncoder
torchsparsegradutils.indexed_matmul segment_mm gather_mm
torchsparsegradutils.jax sparse_solve_j4t j2t
torchsparsegradutils.jax.jax_bindings j2t t2j j2t_coo t2j_coo j2t_csr t2j_csr spmm_t4j
torchsparsegradutils.jax.jax_sparse_solve sparse_solve_j4t
torchsparsegradutils.sparse_logsumexp sparse_bidir_logsumexp
torchsparsegradutils.sparse_lstsq sparse_generic_lstsq
torchsparsegradutils.sparse_matmul sparse_mm
torchsparsegradutils.sparse_solve sparse_triangular_solve
torchsparsegradutils.utils rand_sparse linear_cg
torchsparsegradutils.utils.bicgstab BICGSTABSettings
torchsparsegradutils.utils.dist_stats_helpers cov_nagao_test
torchsparsegradutils.utils.linear_cg LinearCGSettings
torchsparsegradutils.utils.lsmr lsmr
torchsparsegradutils.utils.minres MINRESSettings
torchsparsegradutils.utils.random_sparse make_spd_sparse
torchsparsegradutils.utils.utils stack_csr
numml.sparse SparseCSRTensor
numml.sparse.linalg spsolve
numml.krylov conjugate_gradient
numml.nn GCNConv
"""


@pytest.mark.parametrize("line", PATHS.strip().splitlines())
def test_module_paths_are_there(line):
    path, *names = line.split()
    module = importlib.import_module(f"lacuna.compat.{path}")
    assert not [name for name in names if not hasattr(module, name)]
    assert path in compat._modules(path.partition(".")[0])  # install() takes it


def test_lacuna_alone_imports_neither_torch_nor_compat():
    code = "import sys, lacuna; assert not {'torch', 'lacuna.compat'} & set(sys.modules); lacuna.compat.install"
    subprocess.run([sys.executable, "-c", code], check=True)


def _private_names(source):
    """(names with an underscore that are asked of objects or imported from lacuna, those that the source defines)."""
    asked, defined = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            (defined if isinstance(node.ctx, ast.Store) else asked).add(node.attr)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lacuna"):
            asked |= {name for name in (*node.module.split("."), *[n.name for n in node.names]) if name[0] == "_"}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
    return asked, defined


def test_compat_uses_public_names_alone():
    """Of torch's own private names it uses those of sparse tensors and of modules that torch documents nothing else
    for."""
    of_torch = {"_nnz", "_indices", "_values", "_parameters", "__version__"}
    for file in pathlib.Path(lacuna.compat.__file__).parent.rglob("*.py"):
        asked, defined = _private_names(file.read_text())
        assert asked - defined <= of_torch, (file.name, asked - defined - of_torch)
