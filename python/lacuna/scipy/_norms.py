# SPDX-License-Identifier: Apache-2.0
"""Norms of matrices with SciPy's signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import linalg

import lacuna

from ._matrix import as_sparse, entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MATRIX = {None: "fro", "f": "fro", "fro": "fro", 1: "1", np.inf: "inf", 2: "2"}
_LINES = (None, "f", "fro", 1, 2, np.inf)


def _lines(pattern, values, ord, axis):
    """The norm of each row (axis 1) or column (axis 0), one of _LINES."""
    sums = lacuna.row_sum if axis == 1 else lacuna.col_sum
    if ord in (None, "f", "fro", 2):
        return lacuna.sqrt(sums(pattern, lacuna.square(lacuna.abs(values))))
    if ord == 1:
        return sums(pattern, lacuna.abs(values))
    return lacuna.sparse_max(pattern, lacuna.abs(values), axis)


def norm(x: Any, ord: Any = None, axis: int | tuple[int, int] | None = None) -> Any:
    """A norm of a sparse matrix, or of each of its columns (axis=0) or rows (axis=1), as scipy.sparse.linalg.norm:
    "fro", 1, 2 or inf; of matrices the smallest sums, -1 and -inf, too. Other orders of lines are SciPy's own.

    >>> A = scipy.sparse.csr_array([[3.0, 0.0], [0.0, 4.0]])
    >>> lacuna.scipy.norm(A), lacuna.scipy.norm(A, 1), lacuna.scipy.norm(A, axis=1)
    (5.0, 4.0, array([3., 4.]))
    """
    if not sparse.issparse(x):
        raise TypeError("input is not sparse. use numpy.linalg.norm")
    if isinstance(axis, int) and ord not in _LINES:
        return linalg.norm(x, ord, axis)
    pattern, values = entries(as_sparse(x))
    if axis is not None and not isinstance(axis, tuple):
        return _lines(pattern, values, ord, range(2)[axis])
    if axis is not None and sorted(range(2)[a] for a in axis) != [0, 1]:
        raise ValueError(f"norm: axis={axis!r}; two different axes of a matrix are 0 and 1")
    if axis is not None and range(2)[axis[0]] == 1:
        pattern, places = pattern.transpose()
        values = lacuna.remap(places, values)
    if ord in (-1, -np.inf):
        return lacuna.min(_lines(pattern, values, 1, 0 if ord == -1 else 1))[()]
    if ord not in _MATRIX:
        raise ValueError(f"Invalid norm order for matrices: {ord!r}")
    return lacuna.matrix_norm(pattern, values, _MATRIX[ord])[()]


def onenormest(
    A: Any, t: int = 2, itmax: int = 5, compute_v: bool = False, compute_w: bool = False
) -> float | tuple[float | NDArray[Any], ...]:
    """The 1-norm of a square matrix, in the place of scipy.sparse.linalg.onenormest: exact, so that t and itmax are not
    read. (The 1-norm of an inverse: 1 / (norm(A, 1) * lacuna.Solver(pattern).factor(values).rcond).)

    >>> lacuna.scipy.onenormest(scipy.sparse.csr_array([[3.0, 0.0], [1.0, 4.0]]))
    4.0
    """
    if not sparse.issparse(A) and hasattr(A, "matvec"):
        raise NotImplementedError("onenormest: a LinearOperator; the exact norm needs the matrix itself")
    A = as_sparse(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError("expected the operator to act like a square matrix")
    sums = norm(A, 1, axis=0)
    at = int(sums.argmax())
    unit = np.zeros(A.shape[1])
    unit[at] = 1
    wanted = [sums[at]] + [unit] * compute_v + [A @ unit] * compute_w
    return tuple(wanted) if len(wanted) > 1 else wanted[0]
