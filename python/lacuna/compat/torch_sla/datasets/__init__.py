# SPDX-License-Identifier: Apache-2.0
"""torch_sla.datasets over Lacuna."""

from ._benchmarks import DIMACS10, Benchmarks, SuiteSparse, Synthetic, iter_benchmarks  # noqa: F401
from .problems import (  # noqa: F401
    PROBLEMS, SparseProblem, advection_diffusion_2d, anisotropic_diffusion_2d, bratu_1d, default_sizes, get,
    helmholtz_1d, laplacian_1d, laplacian_1d_eigenvalues, laplacian_2d, laplacian_2d_eigenvalues, laplacian_3d,
    list_problems, poisson_2d, poisson_3d,
)  # fmt: skip
from .suitesparse import (  # noqa: F401
    RECOMMENDED, DatasetUnavailable, cache_dir, is_suitesparse_available, load_suitesparse,
)  # fmt: skip
