# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.jax over Lacuna: its solve, and arrays and matrices of JAX from and to torch."""

from .jax_bindings import j2t, j2t_coo, j2t_csr, spmm_t4j, t2j, t2j_coo, t2j_csr  # noqa: F401
from .jax_sparse_solve import sparse_solve_j4t  # noqa: F401
