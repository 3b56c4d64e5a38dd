# SPDX-License-Identifier: Apache-2.0
"""numml.sparse: matrices that are functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    Product = Callable[[Tensor], Tensor]


class LinearOperator:
    """A matrix by its products: rm(x) = A x, and lm(x) = x^T A."""

    def __init__(self, shape: Sequence[int], rm: Product | None = None, lm: Product | None = None) -> None:
        self.shape, self.rm, self.lm = tuple(shape), rm, lm

    def __matmul__(self, x: Tensor) -> Tensor:
        return self.rm(x)

    def __rmatmul__(self, x: Tensor) -> Tensor:
        return self.lm(x)
