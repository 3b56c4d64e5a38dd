# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.indexed_matmul: products with one of several matrices for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacuna.errors import ShapeError
from lacuna.torch import gather_mm  # noqa: F401
from lacuna.torch import segment_mm as _segment_mm

if TYPE_CHECKING:
    from torch import Tensor


def segment_mm(a: Tensor, b: Tensor, seglen_a: Tensor) -> Tensor:
    """Rows of a, in segments of these lengths, times a matrix of b for each segment. Lengths add up to the rows."""
    total = int(seglen_a.sum())
    if total != a.shape[0]:
        raise ShapeError(f"segment_mm: lengths add up to {total}; a has {a.shape[0]} rows")
    return _segment_mm(a, b, seglen_a)
