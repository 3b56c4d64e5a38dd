# SPDX-License-Identifier: Apache-2.0
"""torch_sla.batch_solve: many systems, on one pattern (analysed once) or on patterns of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lacuna.errors import ShapeError

from .solve import native, solved
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


def spsolve_batch_same_layout(
    val_batch: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], b_batch: Tensor, method: str = "auto",
    atol: float | None = None, maxiter: int | None = None, **more: Any,
) -> Tensor:  # fmt: skip
    """x [B, m] with A_i x_i = b_i, values [B, nnz] on one pattern; b may have columns, [B, m, K]."""
    A = SparseTensor(val_batch, row, col, (*val_batch.shape[:-1], *shape[-2:]))
    return solved(A, b_batch, method=method, atol=atol, maxiter=maxiter, **more)


def _pairs(matrices, b_list):
    if len(matrices) != len(b_list):
        raise ShapeError(f"spsolve_batch: {len(matrices)} matrices and {len(b_list)} right-hand sides")
    return zip(matrices, b_list)


def spsolve_batch_different_layout(
    matrices: Sequence[tuple[Any, ...]], b_list: Sequence[Tensor], method: str = "auto", atol: float | None = None,
    maxiter: int | None = None, **more: Any,
) -> list[Tensor]:  # fmt: skip
    """[x_i] with A_i x_i = b_i for [(values, rows, columns, shape)]."""
    words = dict(method=method, atol=atol, maxiter=maxiter, **more)
    return [solved(SparseTensor(*matrix), b, **words) for matrix, b in _pairs(matrices, b_list)]


def spsolve_batch_coo_same_layout(
    A_template: Tensor, val_batch: Tensor, b_batch: Tensor, method: str = "auto", **kwargs: Any,
) -> Tensor:  # fmt: skip
    """As spsolve_batch_same_layout, on the places of a torch COO tensor: values in their order."""
    rows, columns = A_template._indices()
    return spsolve_batch_same_layout(val_batch, rows, columns, A_template.shape, b_batch, method, **kwargs)


def spsolve_batch_coo_different_layout(
    A_list: Sequence[Tensor], b_list: Sequence[Tensor], method: str = "auto", **kwargs: Any,
) -> list[Tensor]:  # fmt: skip
    """[x_i] with A_i x_i = b_i for torch sparse tensors."""
    return [solved(SparseTensor.from_torch(A), b, method=method, **kwargs) for A, b in _pairs(A_list, b_list)]


class ParallelBatchSolver:
    """Systems on one pattern, which is analysed when the solver is made."""

    def __init__(
        self, row: Tensor, col: Tensor, shape: Sequence[int], method: str = "auto",
        device: torch.device | str | None = None,
    ) -> None:  # fmt: skip
        self.row, self.col, self.shape, self.method, self.device = row, col, tuple(shape), method, device
        ones = torch.ones(row.shape, dtype=torch.float64, device=device)
        options = native(method=method)
        self.template = SparseTensor(ones, row, col, self.shape)
        if "method" in options:
            self.template.solver(**options)

    def solve(
        self, val_batch: Tensor, b_batch: Tensor, atol: float | None = None, maxiter: int | None = None
    ) -> Tensor:
        """x [B, m] of values [B, nnz] and b [B, m] or [B, m, K]."""
        A = self.template.with_values(val_batch)
        return solved(A, b_batch, method=self.method, atol=atol, maxiter=maxiter)

    def __call__(self, val_batch: Tensor, b_batch: Tensor, **kwargs: Any) -> Tensor:
        return self.solve(val_batch, b_batch, **kwargs)
