# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils.minres: minimal residuals for Hermitian matrices, with shifts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

import lacuna.torch as lt

from ._closures import Products, columns, iterate, product

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


class MINRESSettings(NamedTuple):
    """Defaults of minres; the tolerance is of the residual."""

    max_cg_iterations: int = 1000
    minres_tolerance: float = 1e-4
    verbose_linalg: bool = False


def minres(
    matmul_closure: Callable[[Tensor], Tensor] | Tensor, rhs: Tensor, eps: float = 1e-25, shifts: Tensor | None = None,
    value: float | None = None, max_iter: int | None = None, preconditioner: Any = None,
    settings: MINRESSettings = MINRESSettings(), tolerance: float | None = None,
) -> Tensor:  # fmt: skip
    """x with (value A + shift I) x = rhs, to |r| <= minres_tolerance |b|; shifts [s]: x [s, ...], differentiable in
    them too. tolerance is minres_tolerance, over that of settings."""
    (right, is_vector), (function, theta) = columns("minres", rhs), product("minres", matmul_closure)
    most = settings.max_cg_iterations if max_iter is None else max_iter
    options = {"rtol": settings.minres_tolerance if tolerance is None else tolerance, "max_iterations": most}

    def solved(shift):
        x = iterate(*_moved(function, theta, value, shift), right, None, "minres", preconditioner, **options)
        return x[:, 0] if is_vector else x

    if shifts is None:
        return solved(None)
    made = [solved(shift) for shift in shifts.reshape(-1).to(right.device).unbind()]
    return torch.stack(made).reshape(*shifts.shape, *made[0].shape)


def _moved(function, theta, value, shift):
    """(function of (*theta, x), theta) of value A + shift I."""
    if value is None and shift is None:
        return function, theta
    value, shift = 1 if value is None else value, torch.zeros(()) if shift is None else shift
    if isinstance(function, Products):
        A = value * function.tensor.with_values(*theta)
        return product("minres", A + shift * lt.SparseTensor.eye(A.shape[-1], dtype=A.dtype, device=A.device))
    return lambda shift, *given: value * function(*given) + shift * given[-1], (shift, *theta)
