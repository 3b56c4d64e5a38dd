# SPDX-License-Identifier: Apache-2.0
"""LSQR and LSMR with SciPy's signatures and results: x that minimises |A x - b|^2 + damp^2 |x - x0|^2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import lacuna

from .._called import iterate as iterate_products
from ._matrix import as_sparse, column, entries, is_operator, limited, product_dtype, promoted, returned, unsupported

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_LIMIT = 7  # SciPy's code of a solve that met its limit


class _Matrix:
    """[A; damp] of a matrix."""

    def __init__(self, A, damp):
        self.pattern, self.values = entries(A)
        if damp:
            self.pattern, more = self.pattern.damped(), np.full(A.shape[1], damp, A.dtype)
            self.values = np.concatenate([self.values, more])
        self.size = float(lacuna.matrix_norm(self.pattern, self.values))

    def estimate(self):
        return self.size

    def times(self, x, op="N"):
        return lacuna.spmm(self.pattern, self.values, x, op)

    def iterate(self, method, b, options):
        return self.pattern.solver(method=method, **options).factor(self.values).iterate(b)


class _Operator:
    """[A; damp] of a LinearOperator."""

    size = np.nan  # its norm is known to nobody

    def __init__(self, who, A, damp, dtype):
        self.who, self.A, self.damp, self.dtype = who, A, float(damp), dtype

    def estimate(self):
        """Near its Frobenius norm, which is the mean, in squares, of the norms of its products with random signs."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (4, self.A.shape[1])).astype(self.dtype)
        return float(np.linalg.norm([float(lacuna.norm(self.times(x))) for x in signs])) / 2

    def times(self, x, op="N"):
        m = self.A.shape[0]
        y = self.A.matvec(x.copy()) if op == "N" else self.A.rmatvec(x[:m].copy())  # which may write to its argument
        y = returned(f"{self.who}: A", y, self.dtype)
        if not self.damp:
            return y
        return np.concatenate([y, self.damp * x]) if op == "N" else lacuna.add(y, self.damp * x[m:])

    def iterate(self, method, b, options):
        return iterate_products(self.times, b, None, method, self.A.shape[1:], **options)


class _Problem:
    """A least-squares problem from the start x0, and the norms of its solution."""

    def __init__(self, who, A, b, damp, x0):
        b = np.atleast_1d(np.squeeze(np.asarray(b)))
        if is_operator(A):
            b = b.astype(product_dtype(A, b))
        else:
            A, b = promoted(as_sparse(A), b)
        if b.shape != (A.shape[0],):
            raise ValueError(f"{who}: shapes of A {A.shape} and b {b.shape} are incompatible")
        self.who, self.b = who, b
        self.start = None if x0 is None else column(who, "x0", x0, A.shape, A.shape[1]).astype(b.dtype)
        self.map = _Operator(who, A, damp, b.dtype) if is_operator(A) else _Matrix(A, damp)
        self.right = np.concatenate([b, np.zeros(A.shape[1], b.dtype)]) if damp else b  # for the step from x0
        if x0 is not None:
            moved = lacuna.sub(b, self.map.times(self.start)[: b.size])
            self.right = np.concatenate([moved, self.right[b.size :]])

    def iterate(self, tolerances, limit):
        """(x, whether it converged, iterations)."""
        rtol = max(min(tolerances), np.finfo(self.b.dtype).eps)
        options = {"rtol": rtol, "accept_unconverged": True, **limited(limit)}
        step, report = self.map.iterate(self.who, self.right, options)
        self.rtol, self.step, self.x = rtol, step, step if self.start is None else lacuna.add(self.start, step)
        return self.x, report["ending"] == "converged", int(report["iterations"])

    def norms(self):
        """|b - A x|, the same with the damping, |A| (Frobenius, with the damping), |A^H r - damp^2 (x - x0)|, |x|:
        those of the step in [A; damp], r being its residual."""
        r = lacuna.sub(self.right, self.map.times(self.step))
        slope = self.map.times(r, "H")
        vectors = [float(lacuna.norm(v)) for v in (r[: self.b.size], r, slope, self.x)]
        return *vectors[:2], self.map.size, *vectors[2:]

    def code(self, is_converged, norms):
        """Why it ended: 0, x0 is the solution; 1, A x = b; 2, least squares; 7, the limit, unless its last iteration
        gave the solution, as SciPy sees it."""
        residual, whole, _, slope, _ = norms
        if not is_converged and not slope <= self.rtol * self.map.estimate() * whole:
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
    is the Frobenius norm itself, and NaN of a LinearOperator, which needs rmatvec; acond is NaN and var is zero,
    because Lacuna does not estimate them; calc_var is refused.

    >>> A = scipy.sparse.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> lacuna.scipy.lsqr(A, np.array([1.0, 3.0, 4.0]))[0].round(6)
    array([2., 2.])
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
    maxiter is min(m, n) by default; see lsqr.

    >>> A = scipy.sparse.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> lacuna.scipy.lsmr(A, np.array([1.0, 3.0, 4.0]))[0].round(6)
    array([2., 2.])
    """
    unsupported("lsmr", {"show": show}, {"show": False})
    problem = _Problem("lsmr", A, b, damp, x0)
    x, is_converged, iterations = problem.iterate((atol, btol), min(A.shape) if maxiter is None else maxiter)
    _, whole, size, slope, length = norms = problem.norms()
    return x, problem.code(is_converged, norms), iterations, whole, slope, size, np.nan, length
