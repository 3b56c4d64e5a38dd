# SPDX-License-Identifier: Apache-2.0
"""Right-hand sides: what their rank means."""

import torch

from ...errors import ArgumentError, ShapeError
from .._levels import layout_of


def require_tensor(who, name, given):
    if not isinstance(given, torch.Tensor) or layout_of(given) is not torch.strided:
        is_tensor = isinstance(given, torch.Tensor)
        what = f"a tensor of layout {layout_of(given)}" if is_tensor else f"a {type(given).__name__}"
        raise ArgumentError(f"{who}: {name} is {what}; it must be a dense torch.Tensor")
    return given


def _with_columns(*shape):
    return f"({', '.join(map(str, shape))}, k)"


def columns(who, name, given, batch, size):
    """(given as [..., size, k], whether it was one vector for each matrix). Its rank decides: as many dimensions as the
    batch and one more are vectors, and so is a single one; two more and beyond have columns."""
    rank = require_tensor(who, name, given).ndim - len(batch)
    is_vector = rank == 1 or given.ndim == 1
    if not is_vector and rank < 2:
        raise ShapeError(
            f"{who}: {name} has shape {tuple(given.shape)} and the batch is {tuple(batch)}; it must be "
            f"{(*batch, size)}, a vector for each matrix, or {_with_columns(*batch, size)}, columns"
        )
    if given.shape[-1 if is_vector else -2] != size:
        raise ShapeError(
            f"{who}: {name} has shape {tuple(given.shape)}; with a batch of {tuple(batch)} it must be "
            f"{(*batch, size)}, a vector for each matrix, or {_with_columns(*batch, size)}, columns"
        )
    return (given.unsqueeze(-1) if is_vector else given), is_vector


def without_columns(x, is_vector):
    return x.squeeze(-1) if is_vector else x
