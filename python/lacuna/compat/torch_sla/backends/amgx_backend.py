# SPDX-License-Identifier: Apache-2.0
"""torch_sla.backends.amgx_backend: multigrid and iterations, by Lacuna, which needs no AmgX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._later import later, later_class
from ..linear_solve import spsolve
from . import is_amgx_available  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor

_WHAT = "solvers of AmgX as objects (A.factor(\"multigrid\") applies one)"
AmgXSolver, amgx_preconditioner = later_class("AmgXSolver", _WHAT), later("amgx_preconditioner", _WHAT)


def amgx_solve(
    val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], b: Tensor, *, tol: float | None = None,
    maxiter: int | None = None, method: str = "auto", preconditioner: str = "amg", return_info: bool = False,
) -> Any:  # fmt: skip
    """spsolve with backend="amgx"; return_info: (x, SolveInfo)."""
    given = dict(preconditioner=preconditioner, return_info=return_info)
    return spsolve(val, row, col, shape, b, "amgx", method, None, maxiter, tol, **given)
