# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils.lsmr: least squares of a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

import lacuna.torch as lt
from lacuna.errors import ArgumentError

from ..._later import later

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


def lsmr(
    A: Callable[[Tensor], Tensor] | Tensor, b: Tensor, Armat: Callable[[Tensor], Tensor] | Tensor | None = None,
    n: int | None = None, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
    maxiter: int | None = None, x0: Tensor | None = None, check_nonzero: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    """(x, 0): x minimises |A x - b|^2 + |damp x|^2, A a tensor of any layout. It is found to working precision, by a
    factorisation: tolerances and a start are not needed."""
    if callable(A) and not isinstance(A, torch.Tensor):
        return later("lsmr(function)", "least squares of functions")()
    if not isinstance(A, torch.Tensor):
        raise ArgumentError(f"lsmr: A is a {type(A).__name__}; it must be a tensor")
    tensor = lt.SparseTensor.of(A)
    return tensor.lstsq(b, damp=None if damp == 0 else damp), 0
