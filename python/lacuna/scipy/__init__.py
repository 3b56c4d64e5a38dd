# SPDX-License-Identifier: Apache-2.0
"""Drop-ins for scipy.sparse.linalg: SciPy's names, signatures, results, warnings and exceptions, Lacuna's solvers.

    from lacuna.scipy import spsolve, splu, cg          # in place of scipy.sparse.linalg

What tunes SuperLU alone (panel_size, ...) is not read, and what Lacuna does not have (callback, drop_tol) makes the
call one of SciPy's own function, either with a LacunaWarning. docs/scipy.md has the differences. Names of
scipy.sparse.linalg that are not written here (eigsh, svds, cgs, expm, ...) are SciPy's own functions.
`lacuna.solve` and the other functions of Lacuna are what has derivatives.
"""

import scipy.sparse.linalg as _linalg
from scipy.sparse.linalg import LinearOperator, MatrixRankWarning, aslinearoperator

from ._direct import LU, factorized, inv, spilu, splu, spsolve, spsolve_triangular
from ._iterative import bicgstab, cg, gmres, minres
from ._least_squares import lsmr, lsqr
from ._norms import norm, onenormest

__all__ = [
    "LU", "LinearOperator", "MatrixRankWarning", "aslinearoperator", "bicgstab", "cg", "factorized", "gmres", "inv",
    "lsmr", "lsqr", "minres", "norm", "onenormest", "spilu", "splu", "spsolve", "spsolve_triangular",
]  # fmt: skip


def __getattr__(name):
    if name in _linalg.__all__:
        return getattr(_linalg, name)
    raise AttributeError(f"module 'lacuna.scipy' has no attribute {name!r}, and scipy.sparse.linalg has none either")
