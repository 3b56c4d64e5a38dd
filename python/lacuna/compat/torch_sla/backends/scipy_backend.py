# SPDX-License-Identifier: Apache-2.0
"""torch_sla.backends.scipy_backend: functions of (values, rows, columns, shape), by Lacuna."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._later import later
from ..linear_solve import spsolve
from ..sparse_tensor import SparseTensor
from . import is_scipy_available  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor

_SPECTRA = "eigenvalues and singular values"


def torch_coo_to_scipy_csr(val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int]) -> Any:
    """A SciPy CSR array."""
    return SparseTensor(val, row, col, shape).to_scipy()


def scipy_solve(
    val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], b: Tensor, method: str = "lu",
    atol: float | None = None, maxiter: int | None = None, M: Any = None,
) -> Tensor:  # fmt: skip
    """spsolve with backend="scipy"; M is a preconditioner as there."""
    return spsolve(val, row, col, shape, b, "scipy", method, atol, maxiter, preconditioner=M)


def scipy_norm(val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], ord: Any = "fro") -> Tensor:
    """A.norm(ord)."""
    return SparseTensor(val, row, col, shape).norm(ord)


def scipy_lu(val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int]) -> Any:
    """A.lu(), a factorization that solves."""
    return SparseTensor(val, row, col, shape).lu()


def scipy_det(val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int]) -> Tensor:
    """A.det()."""
    return SparseTensor(val, row, col, shape).det()


scipy_ilu = later("scipy_ilu", "incomplete factors that drop by size")
scipy_eigs, scipy_eigsh = later("scipy_eigs", _SPECTRA), later("scipy_eigsh", _SPECTRA)
scipy_svds = later("scipy_svds", _SPECTRA)
