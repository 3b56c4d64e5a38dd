# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.cupy: its solve, by Lacuna; no CuPy is needed. Converters of CuPy matrices are to come."""

from lacuna.torch import SparseTensor

from .._later import later
from .._words import METHODS, iteration, word
from .sparse_solve import sparse_generic_solve

_WHAT = "conversions from and to CuPy matrices"
t2c_csr, c2t_csr, t2c_coo, c2t_coo = (later(name, _WHAT) for name in ("t2c_csr", "c2t_csr", "t2c_coo", "c2t_coo"))


def sparse_solve_c4t(A, B, solve=None, transpose_solve=None, tol=None, rtol=None, atol=None, maxiter=None, **kwargs):
    """x with A x = B, vectors or columns: `solve` is a method by its name ("cg", "gmres", "spsolve", ...), a function
    as of sparse_generic_solve, or None. Derivatives are solved for with A^H, whatever transpose_solve names."""
    if callable(solve):
        by = transpose_solve if callable(transpose_solve) else None
        return sparse_generic_solve(A, B, solve, by, **kwargs)
    names = {**METHODS, "spsolve": {}, "factorized": {}}
    options = dict(word("sparse_solve_c4t: solve", solve or "spsolve", names))
    if options.get("method") not in (None, "lu", "direct"):
        options.update(iteration(rtol=rtol if rtol is not None else tol, atol=atol, maxiter=maxiter))
    return SparseTensor.of(A, "sparse_solve_c4t").solve(B, **options)
