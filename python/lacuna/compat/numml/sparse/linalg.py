# SPDX-License-Identifier: Apache-2.0
"""numml.sparse.linalg: solves and factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._words import word
from ._csr import SparseCSRTensor

if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

_SOLVERS = {"auto": "auto", "lu": "lu", "direct": "direct"}


def _matrix(A):
    return A if isinstance(A, SparseCSRTensor) else SparseCSRTensor(A)


def spsolve(A: SparseCSRTensor, b: Tensor, method: str = "auto") -> Any:
    """x with A x = b, vectors or columns, by a factor with pivots and an order that keeps it sparse."""
    return _matrix(A).solve(b, method=word("spsolve: method", method, _SOLVERS))


def splu(A: SparseCSRTensor) -> Any:
    """A factorization of A, differentiable in its values, for splu_solve."""
    return _matrix(A).lu()


def splu_solve(LU: Any, b: Tensor) -> Any:
    """x with A x = b for what splu gave."""
    return LU.solve(b)


def spsolve_triangular(A: SparseCSRTensor, b: Tensor, lower: bool = True, unit_diagonal: bool = False) -> Any:
    """x with T x = b, T the lower or upper triangle of A; only what is read has a gradient."""
    return _matrix(A).triangular_solve(b, not lower, unit_diagonal)
