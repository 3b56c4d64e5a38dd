# SPDX-License-Identifier: Apache-2.0
"""LSQR and LSMR with SciPy's signatures and results: x that minimises |A x - b|^2 + damp^2 |x - x0|^2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse

import lacuna

from ._matrix import as_sparse, column, entries, limited, promoted, unsupported

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_LIMIT = 7  # SciPy's code of a solve that met its limit


class _Problem:
    """A least-squares problem from the start x0, and the norms of its solution."""

    def __init__(self, who, A, b, damp, x0):
        if not sparse.issparse(A) and hasattr(A, "matvec"):
            raise NotImplementedError(f"{who}: a LinearOperator; least squares need the matrix itself")
        A, b = promoted(as_sparse(A), np.squeeze(np.asarray(b)))
        if b.shape != (A.shape[0],):
            raise ValueError(f"{who}: shapes of A {A.shape} and b {b.shape} are incompatible")
        self.who, self.b, (pattern, values) = who, b, entries(A)
        self.start = None if x0 is None else column(who, "x0", x0, A.shape, A.shape[1]).astype(A.dtype)
        right = b if x0 is None else lacuna.sub(b, lacuna.spmm(pattern, values, self.start))
        if damp:
            pattern, zeros = pattern.damped(), np.zeros(pattern.shape[1], right.dtype)
            values, right = np.concatenate([values, zeros + damp]), np.concatenate([right, zeros])
        self.pattern, self.values, self.right = pattern, values, right  # of [A; damp], for the step from x0

    def iterate(self, tolerances, limit):
        """(x, whether it converged, iterations)."""
        rtol = max(min(tolerances), np.finfo(self.b.dtype).eps)
        solver = self.pattern.solver(method=self.who, rtol=rtol, accept_unconverged=True, **limited(limit))
        step, report = solver.factor(self.values).iterate(self.right)
        self.rtol, self.step, self.x = rtol, step, step if self.start is None else lacuna.add(self.start, step)
        return self.x, report["ending"] == "converged", int(report["iterations"])

    def norms(self):
        """|b - A x|, the same with the damping, |A| (Frobenius, with the damping), |A^H r - damp^2 (x - x0)|, |x|:
        those of the step in [A; damp], r being its residual."""
        r = lacuna.sub(self.right, lacuna.spmm(self.pattern, self.values, self.step))
        slope = lacuna.spmm(self.pattern, self.values, r, "H")
        vectors = [float(lacuna.norm(v)) for v in (r[: self.b.size], r, slope, self.x)]
        return *vectors[:2], float(lacuna.matrix_norm(self.pattern, self.values)), *vectors[2:]

    def code(self, is_converged, norms):
        """Why it ended: 0, x0 is the solution; 1, A x = b; 2, least squares; 7, the limit, unless its last iteration
        gave the solution, as SciPy sees it."""
        residual, whole, size, slope, _ = norms
        if not is_converged and slope > self.rtol * size * whole:
            return _LIMIT
        if not self.step.any():
            return 0
        return 1 if residual <= 10 * self.rtol * float(lacuna.norm(self.b)) else 2


def lsqr(
    A: Any, b: ArrayLike, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
    iter_lim: int | None = None, show: bool = False, calc_var: bool = False, x0: ArrayLike | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """(x, istop, itn, r1norm, r2norm, anorm, acond, arnorm, xnorm, var) by LSQR, as scipy.sparse.linalg.lsqr.

    It ends at the smaller of atol and btol, or after 2 n iterations where iter_lim is None; conlim is not read. anorm
    is the Frobenius norm itself; acond is NaN and var is zero, because Lacuna does not estimate them; calc_var is
    refused.
    """
    unsupported("lsqr", {"calc_var": calc_var, "show": show}, {"calc_var": False, "show": False})
    problem = _Problem("lsqr", A, b, damp, x0)
    x, is_converged, iterations = problem.iterate((atol, btol), 2 * A.shape[1] if iter_lim is None else iter_lim)
    plain, whole, size, slope, length = norms = problem.norms()
    istop, var = problem.code(is_converged, norms), np.zeros(x.size)
    return x, istop, iterations, plain, whole, size, np.nan, slope, length, var


def lsmr(
    A: Any, b: ArrayLike, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
    maxiter: int | None = None, show: bool = False, x0: ArrayLike | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """(x, istop, itn, normr, normar, norma, conda, normx) by LSMR, as scipy.sparse.linalg.lsmr, of which
    maxiter is min(m, n) by default; see lsqr."""
    unsupported("lsmr", {"show": show}, {"show": False})
    problem = _Problem("lsmr", A, b, damp, x0)
    x, is_converged, iterations = problem.iterate((atol, btol), min(A.shape) if maxiter is None else maxiter)
    _, whole, size, slope, length = norms = problem.norms()
    return x, problem.code(is_converged, norms), iterations, whole, slope, size, np.nan, length
