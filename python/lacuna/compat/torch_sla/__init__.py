# SPDX-License-Identifier: Apache-2.0
"""torch_sla's names over Lacuna. What is not here yet (eigenvalues, nonlinear, distributed) raises
NotImplementedError."""

from lacuna import __version__  # noqa: F401

from .backends import (  # noqa: F401
    BACKEND_METHODS, DEFAULT_METHODS, BackendType, MethodType, get_available_backends, get_backend_methods,
    get_default_method, is_amgx_available, is_cudss_available, is_pyamg_available, is_pytorch_available,
    is_scipy_available, is_strumpack_available, select_backend, select_method, show_backends,
)  # fmt: skip
from .batch_solve import (  # noqa: F401
    ParallelBatchSolver, spsolve_batch_coo_different_layout, spsolve_batch_coo_same_layout,
    spsolve_batch_different_layout, spsolve_batch_same_layout,
)  # fmt: skip
from .det import DetConfig  # noqa: F401
from .distributed import (  # noqa: F401
    BatchShard, DSparseSpec, DSparseTensor, DSparseTensorList, Partition, Replicated, SparseShard, VertexShard,
    VertexShardReplicated, partition_coordinates, partition_graph_metis, partition_simple,
)  # fmt: skip
from .io import (  # noqa: F401
    load_dsparse, load_metadata, load_mtx, load_mtx_info, load_sparse, load_sparse_shard, save_dsparse, save_mtx,
    save_sparse, save_sparse_sharded,
)  # fmt: skip
from .linear_solve import spsolve, spsolve_coo, spsolve_csr  # noqa: F401
from .nonlinear_solve import NonlinearSolveAdjoint, adjoint_solve, nonlinear_solve  # noqa: F401
from .solve import MatrixLike, PreconditionerConfig, SolveInfo, SolverConfig, solve  # noqa: F401
from .solver_cache import SOLVER_CACHE  # noqa: F401
from .sparse_tensor import (  # noqa: F401
    LUFactorization, SparseTensor, SparseTensorList, auto_select_method, estimate_direct_solver_memory,
    get_available_gpu_memory,
)  # fmt: skip
from .vi_solve import VISolveAdjoint, vi_solve  # noqa: F401
