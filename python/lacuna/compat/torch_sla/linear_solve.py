# SPDX-License-Identifier: Apache-2.0
"""torch_sla.linear_solve: systems of (values, rows, columns, shape). A loop with the same indices analyses once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .solve import SolverConfig, solved
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


def _hint(matrix_type, is_symmetric, is_spd):
    return "spd" if is_spd else "symmetric" if is_symmetric else matrix_type


def spsolve(
    val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], b: Tensor, backend: str | None = None,
    method: str | None = None, atol: float | None = None, maxiter: int | None = None, tol: float | None = None,
    matrix_type: str | None = None, is_symmetric: bool = False, is_spd: bool = False, preconditioner: Any = None,
    mixed_precision: bool | None = None, verbose: bool | None = None, **more: Any,
) -> Tensor:  # fmt: skip
    """x with A x = b for A's entries in any order: b [m] or [m, K]. tol bounds |b - A x| / |b|."""
    given = dict(backend=backend, method=method, atol=atol, maxiter=maxiter, rtol=tol, preconditioner=preconditioner,
                 matrix_type=_hint(matrix_type, is_symmetric, is_spd), mixed_precision=mixed_precision,
                 verbose=verbose)  # fmt: skip
    return solved(SparseTensor(val, row, col, shape), b, **SolverConfig.merged({**given, **more}))


def _of_torch(A, b, kwargs):
    if "tol" in kwargs:
        kwargs["rtol"] = kwargs.pop("tol")
    hint = _hint(kwargs.pop("matrix_type", None), kwargs.pop("is_symmetric", False), kwargs.pop("is_spd", False))
    return solved(SparseTensor.from_torch(A), b, **SolverConfig.merged({**kwargs, "matrix_type": hint}))


def spsolve_coo(A: Tensor, b: Tensor, **kwargs: Any) -> Tensor:
    """x with A x = b, A a torch COO tensor; its gradient is a COO tensor."""
    return _of_torch(A, b, kwargs)


def spsolve_csr(A: Tensor, b: Tensor, **kwargs: Any) -> Tensor:
    """x with A x = b, A a torch CSR tensor; its gradient is a CSR tensor."""
    return _of_torch(A, b, kwargs)
