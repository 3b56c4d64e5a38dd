# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils.bicgstab: stabilised biconjugate gradients for any matrix or function."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ._closures import columns, iterate, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


class BICGSTABSettings(NamedTuple):
    """Defaults of bicgstab. An absolute tolerance of 0 is the default here: small right-hand sides are solved too."""

    matvec_max: int | None = None
    abstol: float = 0.0
    reltol: float = 1e-6
    precon: Any = None
    logger: logging.Logger = logging.getLogger("bicgstab")


def _logging(logger):
    def seen(iteration, residual):
        logger.info("iteration %d: residual %.3e", iteration, residual)
        return False

    return seen


def bicgstab(
    matmul_closure: Callable[[Tensor], Tensor] | Tensor, rhs: Tensor, initial_guess: Tensor | None = None,
    settings: BICGSTABSettings = BICGSTABSettings(), tolerance: float | None = None,
) -> Tensor:  # fmt: skip
    """x with A x = rhs, (n) or (n, k), to |r| <= max(reltol |b|, abstol). What is not reached is an error. tolerance is
    reltol, over that of settings."""
    right, is_vector = columns("bicgstab", rhs)
    start = None if initial_guess is None else initial_guess.reshape(right.shape)
    options = {"rtol": settings.reltol if tolerance is None else tolerance, "atol": settings.abstol}
    if settings.matvec_max is not None:
        options["max_iterations"] = max(1, settings.matvec_max // 2)
    if not torch.compiler.is_compiling() and settings.logger.isEnabledFor(logging.INFO):
        options.update(progress=_logging(settings.logger), look_every=1)
    x = iterate(*product("bicgstab", matmul_closure), right, start, "bicgstab", settings.precon, **options)
    return x[:, 0] if is_vector else x
