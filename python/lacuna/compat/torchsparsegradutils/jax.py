# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.jax: its solve, by Lacuna; no JAX is needed. Converters of JAX arrays are to come."""

from .._later import later
from .sparse_solve import sparse_generic_solve

_WHAT = "conversions from and to JAX arrays"
j2t, t2j, j2t_coo, t2j_coo, j2t_csr, t2j_csr, spmm_t4j = (
    later(name, _WHAT) for name in ("j2t", "t2j", "j2t_coo", "t2j_coo", "j2t_csr", "t2j_csr", "spmm_t4j")
)


def sparse_solve_j4t(A, B, solve=None, transpose_solve=None, **kwargs):
    """x with A x = B, with right derivatives also where A is not symmetric; functions of JAX arrays are to come."""
    if solve is not None or transpose_solve is not None:
        return later("sparse_solve_j4t(solve=...)", _WHAT)()
    return sparse_generic_solve(A, B, **kwargs)
