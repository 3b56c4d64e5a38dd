# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.cupy over Lacuna: its solve, and matrices of CuPy or SciPy from and to torch."""

from .cupy_bindings import c2t_coo, c2t_csr, t2c_coo, t2c_csr  # noqa: F401
from .cupy_sparse_solve import sparse_solve_c4t  # noqa: F401
