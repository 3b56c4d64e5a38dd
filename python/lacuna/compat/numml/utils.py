# SPDX-License-Identifier: Apache-2.0
"""numml.utils: central differences and gradients, of dense and sparse arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


def _difference(f, values, at, h):
    """(f(values + h e) - f(values - h e)) / 2h."""
    moved = []
    for step in (h, -h):
        other = values.detach().clone()
        other.view(-1)[at] += step
        moved.append(f(other))
    return (moved[0] - moved[1]) / (2 * h)


def fd(f: Callable[..., Any], x: Tensor, h: float = 1e-3) -> Tensor:
    """The gradient of a scalar function by central differences, one number at a time."""
    numbers = [_difference(f, x, at, h) for at in range(x.numel())]
    return torch.stack([torch.as_tensor(n).detach() for n in numbers]).reshape(x.shape)


def sp_fd(f: Callable[..., Any], A: Any, h: float = 1e-3) -> Any:
    """The gradient of a scalar function of a sparse matrix by central differences, on its places."""
    return A.with_values(fd(lambda values: f(A.with_values(values)), A.values, h))


def grad(f: Callable[..., Any], x: Tensor) -> Tensor:
    """The gradient of a scalar function."""
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(f(leaf), leaf)[0]


def sp_grad(f: Callable[..., Any], A: Any) -> Any:
    """The gradient of a scalar function of a sparse matrix, on its places."""
    return A.with_values(grad(lambda values: f(A.with_values(values)), A.values))
