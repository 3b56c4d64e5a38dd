# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.sparse_logsumexp: log of sums of exp over rows and columns of torch sparse tensors.

include_zeros=True     of the whole matrix, what is not stored being 0 (the default)
include_zeros=False    of stored numbers alone; of none, -inf
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

import lacuna.torch as lt
from lacuna.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

_OUTPUTS = ("tuple", "padded", "nested")


def _matrix(who, given):
    tensor = lt.SparseTensor.of(given, who)
    if tensor.is_block:
        raise ArgumentError(f"{who}: entries have dense dimensions; they must be single numbers")
    return tensor


def _dims(tensor, dim):
    """Those of the matrix that are asked for, counted from the end, ascending."""
    asked = (dim,) if isinstance(dim, int) else tuple(dim)
    found = sorted({d if d < 0 else d - tensor.ndim for d in asked})
    if len(found) != len(asked) or not all(-tensor.ndim <= d < 0 for d in found):
        raise ShapeError(f"sparse_logsumexp: dim is {dim}; each is one of {tensor.ndim} dimensions, and named once")
    if found and found[0] < -2:
        raise ArgumentError(f"sparse_logsumexp: dim is {dim}; those of the matrix are {tensor.sparse_dim}")
    return found


def sparse_logsumexp(
    input: Tensor, dim: int | Sequence[int], keepdim: bool = False, include_zeros: bool = True
) -> Tensor:
    """log(sum(exp(x))) over one dimension of each matrix, or over both."""
    tensor = _matrix("sparse_logsumexp", input)
    dims = _dims(tensor, dim)
    if len(dims) == 1:
        return tensor.logsumexp(dims[0], keepdim, include_zeros)
    return torch.logsumexp(tensor.logsumexp(dims[1], True, include_zeros), dims, keepdim)


def sparse_bidir_logsumexp(
    input: Tensor, keepdim: bool = False, include_zeros: bool = True, output_layout: str = "tuple",
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """(over rows, for each column; over columns, for each row), as "tuple", as "padded" (2, ..., max of both) with -inf
    behind the shorter, or "nested"."""
    if output_layout not in _OUTPUTS:
        raise ArgumentError(f"sparse_bidir_logsumexp: output_layout is {output_layout!r}; it must be one of {_OUTPUTS}")
    tensor = _matrix("sparse_bidir_logsumexp", input)
    rows, columns = tensor.sparse_dim
    is_tuple = output_layout == "tuple"
    of_columns = tensor.logsumexp(rows, keepdim and is_tuple, include_zeros)
    of_rows = tensor.logsumexp(columns, keepdim and is_tuple, include_zeros)
    if is_tuple:
        return of_columns, of_rows
    if output_layout == "nested":
        return torch.nested.as_nested_tensor([of_columns, of_rows])
    size = max(of_columns.shape[-1], of_rows.shape[-1])
    padded = [torch.nn.functional.pad(t, (0, size - t.shape[-1]), value=-torch.inf) for t in (of_columns, of_rows)]
    return torch.stack(padded)
