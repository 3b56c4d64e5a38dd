# SPDX-License-Identifier: Apache-2.0
"""torch_sla.backends.pytorch_backend: iterations, by Lacuna."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..linear_solve import spsolve
from . import is_pytorch_available  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


def pytorch_solve(
    val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], b: Tensor, method: str = "cg",
    atol: float | None = None, rtol: float | None = None, maxiter: int | None = None, x0: Tensor | None = None,
    preconditioner: Any = None, mixed_precision: bool = False,
) -> Tensor:  # fmt: skip
    """spsolve with backend="pytorch", from x0."""
    given = dict(preconditioner=preconditioner, mixed_precision=mixed_precision, x0=x0)
    return spsolve(val, row, col, shape, b, "pytorch", method, atol, maxiter, rtol, **given)
