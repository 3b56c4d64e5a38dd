# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.sparse_lstsq: least squares of torch sparse tensors, with the whole gradient, to every order.

By functions of the caller, for A of full column rank, r = b - A x:

    x = A^+ b       b_bar = A^+H x_bar      a_bar = r s^H - b_bar x^H                 s = A^+ b_bar
    z = A^+H y      y_bar = A^+ z_bar       a_bar = (z_bar - A y_bar) w^H - z y_bar^H     w = A^+ z
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lacuna.errors import ShapeError
from lacuna.torch import SparseTensor, sddmm

from .sparse_solve import By

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


class SparseGenericLstsq(torch.autograd.Function):
    @staticmethod
    def forward(by: By, is_adjoint: bool, values: Tensor, b: Tensor) -> Tensor:
        return by.run(is_adjoint, [values.detach()], b.detach())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], x: Tensor) -> None:
        ctx.by, ctx.is_adjoint, values, b = inputs
        ctx.save_for_backward(values, b, x)

    @staticmethod
    def backward(ctx: Any, x_bar: Tensor) -> tuple[Tensor | None, ...]:
        values, b, x = ctx.saved_tensors
        again, A = SparseGenericLstsq.apply, SparseTensor.from_pattern(ctx.by.pattern, values)
        b_bar = again(ctx.by, not ctx.is_adjoint, values, x_bar)
        if not ctx.needs_input_grad[2]:
            return None, None, None, b_bar
        if ctx.is_adjoint:
            pairs = (x_bar - A @ b_bar, again(ctx.by, False, values, x)), (-x, b_bar)
        else:
            pairs = (b - A @ x, again(ctx.by, False, values, b_bar)), (-b_bar, x)
        parts = [sddmm(ctx.by.pattern, *[t if t.ndim > 1 else t[:, None] for t in pair]) for pair in pairs]
        return None, None, sum(parts), b_bar


def sparse_generic_lstsq(
    A: Tensor, B: Tensor, lstsq: Callable[..., Any] | None = None, transpose_lstsq: Callable[..., Any] | None = None,
) -> Tensor:  # fmt: skip
    """x that minimises |A x - B|, the shortest where there are many: A tall, wide or square, by Lacuna. With
    `lstsq(A, B)` of the caller's, A has full column rank; transpose_lstsq(A, g) gives the shortest y with A^H y = g,
    and where it is not given, lstsq gets A^H."""
    tensor = SparseTensor.of(A, "sparse_generic_lstsq")
    if lstsq is None:
        return tensor.lstsq(B)
    if tensor.shape[-2] < tensor.shape[-1] or tensor.ndim != 2:
        raise ShapeError(f"sparse_generic_lstsq: A has shape {tuple(A.shape)}; a function of yours takes a matrix with "
                         "at least as many rows as columns")  # fmt: skip
    tensor = tensor.coalesce()
    return SparseGenericLstsq.apply(By(tensor.pattern, lstsq, transpose_lstsq, {}), False, tensor.values, B)
