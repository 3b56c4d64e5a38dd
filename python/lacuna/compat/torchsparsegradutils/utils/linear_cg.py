# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils.linear_cg: conjugate gradients with a matrix or a function of x."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING, NamedTuple

import torch

from lacuna.errors import ArgumentError, ShapeError

from ._closures import Counted, columns, iterate, product, residuals, tridiagonals

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor

_REDUCTIONS = ("all", "mean")


class LinearCGSettings(NamedTuple):
    """Defaults of linear_cg."""

    max_cg_iterations: int = 1000
    max_lanczos_quadrature_iterations: int = 20
    cg_tolerance: float = 1e-5
    terminate_cg_by_size: bool = False
    verbose_linalg: bool = False


@dataclasses.dataclass(frozen=True)
class CGInfo:
    """What became of an iteration, residuals for each column."""

    iterations: int
    matvecs: int
    converged: torch.Tensor
    recursive_relative_residual: torch.Tensor
    true_relative_residual: torch.Tensor
    tolerance: float
    reason: str


def linear_cg(
    matmul_closure: Callable[[Tensor], Tensor] | Tensor, rhs: Tensor, n_tridiag: int = 0,
    tolerance: float | None = None, eps: float | None = None, stop_updating_after: float | None = None,
    max_iter: int | None = None, max_tridiag_iter: int | None = None, initial_guess: Tensor | None = None,
    preconditioner: Any = None, settings: LinearCGSettings = LinearCGSettings(), convergence_reduction: str = "all",
    min_iter: int = 0, return_info: bool = False,
) -> Any:  # fmt: skip
    """x with A x = rhs, (n) or (..., n, k), A Hermitian positive definite: every column to |r| <= tolerance |b|, with
    derivatives in rhs and, of a tensor, in A. return_info: (x, CGInfo), and not to converge is then no error.
    n_tridiag: (x, T), T [n_tridiag, ..., r, r] of Lanczos' process from the residuals of initial_guess in the first
    columns, r at most max_tridiag_iter, by products of its own and without derivatives. CGInfo comes last.
    eps, stop_updating_after and min_iter are not needed: breakdowns are found by what they do."""
    if convergence_reduction not in _REDUCTIONS:
        raise ArgumentError(f"linear_cg: convergence_reduction is {convergence_reduction!r}; one of {_REDUCTIONS}")
    tolerance = settings.cg_tolerance if tolerance is None else tolerance
    most = settings.max_cg_iterations if max_iter is None else max_iter
    (right, is_vector), (function, theta) = columns("linear_cg", rhs), product("linear_cg", matmul_closure)
    counted = Counted(function)
    start = None if initial_guess is None else initial_guess.reshape(right.shape)
    options = {"rtol": tolerance, "max_iterations": most, "accept_unconverged": return_info}
    if return_info:
        options.update(progress=counted.step, look_every=1)
    x = iterate(counted, theta, right, start, "cg", preconditioner, **options)
    info = _info(counted, residuals(function, theta, x, right), tolerance) if return_info else None
    made = [x[:, 0] if is_vector else x]
    if n_tridiag:
        steps = settings.max_lanczos_quadrature_iterations if max_tridiag_iter is None else max_tridiag_iter
        made.append(_tridiagonals(function, theta, right, start, n_tridiag, steps, preconditioner))
    made += [info] * return_info
    return made[0] if len(made) == 1 else tuple(made)


def _tridiagonals(function, theta, right, start, count, steps, preconditioner):
    if not 0 < count <= right.shape[-1]:
        raise ShapeError(f"linear_cg: n_tridiag is {count}; rhs has {right.shape[-1]} columns")
    with torch.no_grad():
        left = right if start is None else right - function(*theta, start)
        return tridiagonals(function, theta, left[..., :count], min(steps, right.shape[-2]), preconditioner)


def _info(counted, left, tolerance):
    converged = left <= tolerance
    if not converged.all():
        warnings.warn(f"linear_cg: relative residual {left.max():.1e}; asked for {tolerance:.1e}", stacklevel=3)
    reason = "converged" if converged.all() else "max_iter"
    products = max(counted.calls, counted.steps + 1)  # within C there is one for each step, and one for the start
    return CGInfo(counted.steps, products, converged, left, left, tolerance, reason)
