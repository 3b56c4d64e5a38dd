# SPDX-License-Identifier: Apache-2.0
"""torch_sla.datasets over Lacuna."""

from .problems import (  # noqa: F401
    PROBLEMS, SparseProblem, advection_diffusion_2d, anisotropic_diffusion_2d, bratu_1d, default_sizes, get,
    helmholtz_1d, laplacian_1d, laplacian_1d_eigenvalues, laplacian_2d, laplacian_2d_eigenvalues, laplacian_3d,
    list_problems, poisson_2d, poisson_3d,
)  # fmt: skip
from .suitesparse import (  # noqa: F401
    DIMACS10, RECOMMENDED, Benchmarks, DatasetUnavailable, SuiteSparse, Synthetic, is_suitesparse_available,
    iter_benchmarks, load_suitesparse,
)  # fmt: skip
