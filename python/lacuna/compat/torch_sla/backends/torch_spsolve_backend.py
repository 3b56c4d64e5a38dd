# SPDX-License-Identifier: Apache-2.0
"""torch_sla.backends.torch_spsolve_backend: a direct solve, by Lacuna."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..linear_solve import spsolve
from . import is_torch_spsolve_available

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from torch import Tensor


def is_torch_spsolve_supported(device: torch.device | str) -> bool:
    """Whether it is served on a device: it is on all."""
    return is_torch_spsolve_available()


def torch_spsolve(val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], b: Tensor) -> Tensor:
    """spsolve by factors."""
    return spsolve(val, row, col, shape, b, method="direct")
