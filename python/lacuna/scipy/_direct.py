# SPDX-License-Identifier: Apache-2.0
"""Direct solvers with SciPy's signatures. A pattern is analysed once: a loop over matrices with the same indices
factors and solves alone."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
from scipy.sparse.linalg import MatrixRankWarning

import lacuna

from ..errors import LacunaWarning, SingularError
from ._matrix import check_rows, entries, promoted, square, unread

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

_ORDERINGS = {None: "auto", "COLAMD": "auto", "MMD_ATA": "auto", "MMD_AT_PLUS_A": "auto", "NATURAL": "natural"}


def _solver(who, pattern, permc_spec):
    if permc_spec not in _ORDERINGS:
        raise ValueError(f"{who}: permc_spec is {permc_spec!r}; it must be one of {', '.join(map(repr, _ORDERINGS))}")
    return pattern.solver(method="direct", ordering=_ORDERINGS[permc_spec])


def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    """x with A x = b, as scipy.sparse.linalg.spsolve: dense for a dense b, sparse for a sparse one.

    A matrix that is singular to working precision gives a MatrixRankWarning and NaN. use_umfpack is not read: Lacuna
    chooses its method.

    >>> A = scipy.sparse.csc_array([[4.0, 1.0], [0.0, 2.0]])
    >>> lacuna.scipy.spsolve(A, np.array([6.0, 4.0]))
    array([1., 2.])
    """
    A, is_sparse = square("spsolve", A), sparse.issparse(b)
    dense = b.toarray() if is_sparse else np.asarray(b)
    check_rows("spsolve", A, dense)
    A, dense = promoted(A, dense)
    is_vector = dense.ndim == 1 or dense.shape[1] == 1
    pattern, values = entries(A)
    try:
        x = lacuna.solve(_solver("spsolve", pattern, permc_spec), values, dense)
    except SingularError as error:
        warnings.warn(f"Matrix is exactly singular, or nearly so ({error})", MatrixRankWarning, stacklevel=2)
        x = np.full_like(dense, np.nan)
    if is_vector:
        return x.ravel()
    return A.__class__(x) if is_sparse else x


class LU:
    """The factors of a matrix, as SciPy's SuperLU object: solve, shape, nnz, and L, U, perm_r, perm_c.

    L, U and the permutations are those of a factorisation without pivoting, Pr A Pc = L U, made when first asked for;
    solve has one with pivoting, which is stable.
    """

    def __init__(self, factor, values, ordering="auto"):
        self.factor, self.shape, self._ordering = factor, factor.shape, ordering
        self._values = values.copy()  # they may be the matrix's own data, which the caller goes on writing to

    def solve(self, rhs: ArrayLike, trans: str = "N") -> NDArray[Any]:
        """x with op(A) x = rhs, rhs (n,) or (n, k); trans is "N", "T" or "H"."""
        if trans not in ("N", "T", "H"):
            raise ValueError(f"solve: trans is {trans!r}; it must be 'N', 'T' or 'H'")
        rhs = np.asarray(rhs)
        check_rows("solve", self, rhs)
        return self.factor.solve(rhs, trans)

    @property
    def nnz(self) -> int:
        """Numbers that the factors hold."""
        return self.factor.report["factor_nnz"]

    @functools.cached_property
    def _parts(self):
        """(L, U, where each row of A went): triangles of the filled pattern."""
        pattern = self.factor.pattern
        lower, upper = lacuna.lu(pattern, self._values, self._ordering)
        filled, _, order = pattern.fill(self._ordering)
        triangles = (filled.tril()[0], lower), (filled.triu()[0], upper)
        made = [part.to_scipy(values).tocsc() for part, values in triangles]
        place = np.empty(order.inputs, np.intc)
        place[order.target] = np.arange(order.inputs)
        return *made, place

    L = property(lambda self: self._parts[0], doc="The lower triangle, with ones on its diagonal.")
    U = property(lambda self: self._parts[1], doc="The upper triangle.")
    perm_r = property(lambda self: self._parts[2], doc="The row of Pr A that each row of A is.")
    perm_c = property(lambda self: self._parts[2], doc="The column of A Pc that each column of A is.")

    def __repr__(self):
        return f"<lacuna.scipy.LU of {self.shape[0]} x {self.shape[1]}, {self.factor.report['method']}, nnz={self.nnz}>"


def splu(
    A: Any, permc_spec: str | None = None, diag_pivot_thresh: float | None = None, relax: int | None = None,
    panel_size: int | None = None, options: dict[str, Any] | None = None,
) -> LU:  # fmt: skip
    """The factors of a square matrix, as scipy.sparse.linalg.splu; a singular one is a RuntimeError. What tunes
    SuperLU alone (all but permc_spec) is not read, with a LacunaWarning.

    >>> lu = lacuna.scipy.splu(scipy.sparse.csc_array([[4.0, 1.0], [0.0, 2.0]]))
    >>> lu.solve(np.array([6.0, 4.0])), lu.solve(np.array([4.0, 3.0]), trans="T")
    (array([1., 2.]), array([1., 1.]))
    """
    unread("splu", diag_pivot_thresh=diag_pivot_thresh, relax=relax, panel_size=panel_size, options=options)
    pattern, values = entries(square("splu", A))
    try:
        return LU(_solver("splu", pattern, permc_spec).factor(values), values, _ORDERINGS[permc_spec])
    except SingularError as error:
        raise RuntimeError(f"Factor is exactly singular, or nearly so ({error})") from error


def spilu(
    A: Any, drop_tol: float | None = None, fill_factor: float | None = None, drop_rule: str | None = None,
    permc_spec: str | None = None, diag_pivot_thresh: float | None = None, relax: int | None = None,
    panel_size: int | None = None, options: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """An incomplete factorisation whose solve is a preconditioner, in the place of scipy.sparse.linalg.spilu: ILU(0),
    which has the entries of A and drops all others. With drop_tol, fill_factor or drop_rule it is SciPy's own, with a
    LacunaWarning.

    >>> A = scipy.sparse.csc_array([[4.0, 1.0], [2.0, 2.0]])
    >>> lacuna.scipy.spilu(A).solve(np.array([5.0, 4.0]))
    array([1., 1.])
    """
    A = square("spilu", A)
    if any(rule is not None for rule in (drop_tol, fill_factor, drop_rule)):
        warnings.warn("spilu: drop_tol, fill_factor and drop_rule are of SciPy's own spilu, which runs; without them "
                      "it is ILU(0) of Lacuna", LacunaWarning, stacklevel=2)  # fmt: skip
        return linalg.spilu(A.tocsc(), drop_tol, fill_factor, drop_rule, permc_spec, diag_pivot_thresh, relax,
                            panel_size, options)  # fmt: skip
    unread("spilu", diag_pivot_thresh=diag_pivot_thresh, relax=relax, panel_size=panel_size, options=options)
    pattern, values = entries(A)
    try:
        return LU(pattern.solver(method="ilu0").factor(values), values)
    except SingularError as error:
        raise RuntimeError(f"Factor is exactly singular ({error})") from error


def factorized(A: Any) -> Callable[[ArrayLike], NDArray[Any]]:
    """A function that solves A x = b for any b, as scipy.sparse.linalg.factorized.

    >>> lacuna.scipy.factorized(scipy.sparse.csc_array([[4.0, 1.0], [0.0, 2.0]]))(np.array([6.0, 4.0]))
    array([1., 2.])
    """
    return splu(A).solve


def spsolve_triangular(
    A: Any, b: ArrayLike, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> NDArray[Any]:  # fmt: skip
    """x with A x = b, A triangular, as scipy.sparse.linalg.spsolve_triangular; nothing is overwritten.

    >>> A = scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]])
    >>> lacuna.scipy.spsolve_triangular(A, np.array([2.0, 5.0]))
    array([1., 1.])
    """
    A = square("spsolve_triangular", A)
    check_rows("spsolve_triangular", A, np.asarray(b))
    A, b = promoted(A, b)
    outside = sparse.triu(A, 1) if lower else sparse.tril(A, -1)
    if outside.nnz and outside.count_nonzero():
        raise np.linalg.LinAlgError(f"A is not {'lower' if lower else 'upper'} triangular")
    pattern, values = entries(A)
    try:
        return lacuna.trisolve(
            pattern, values, b, "lower" if lower else "upper", "unit" if unit_diagonal else "stored"
        )
    except SingularError as error:
        raise np.linalg.LinAlgError(f"A is singular: {error}") from error


def inv(A: Any) -> Any:
    """Refused: the inverse of a sparse matrix is dense."""
    raise NotImplementedError(
        "inv: the inverse of a sparse matrix is dense; solve with splu(A).solve(b), take the entries of the inverse "
        "where A has any with lacuna.selected_inverse(A), or its diagonal with lacuna.inverse_diagonal(A)"
    )
