# SPDX-License-Identifier: Apache-2.0
"""torch_sla.backends.pyamg_backend: multigrid, by Lacuna, which needs no PyAMG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._later import later, later_class
from ..linear_solve import spsolve
from . import is_pyamg_available  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor

_WHAT = "hierarchies of multigrid as objects (A.factor(\"multigrid\") applies one)"
PyAMGHierarchy, pyamg_preconditioner = later_class("PyAMGHierarchy", _WHAT), later("pyamg_preconditioner", _WHAT)


def pyamg_solve(
    val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], b: Tensor, *, tol: float | None = None,
    maxiter: int | None = None, method: str = "ruge_stuben", return_info: bool = False,
) -> Any:  # fmt: skip
    """spsolve with backend="pyamg"; return_info: (x, SolveInfo)."""
    return spsolve(val, row, col, shape, b, "pyamg", method, None, maxiter, tol, return_info=return_info)
