# SPDX-License-Identifier: Apache-2.0
"""numml.autograd: products with Jacobians of functions that take sparse matrices too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lacuna.torch import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def _is_tensor(given):
    return isinstance(given, (torch.Tensor, SparseTensor))


def _leaf(given, wanted):
    """Another name of a tensor, with a gradient if it is wanted."""
    if not _is_tensor(given):
        return given
    fresh = given.detach().clone()
    return fresh.requires_grad_(wanted)


def _pulled(f, inputs, wanted, v):
    leaves = [_leaf(given, i in wanted) for i, given in enumerate(inputs)]
    asked = [leaves[i] for i in wanted]
    with torch.enable_grad():
        y = f(*leaves)
        values = [a.values if isinstance(a, SparseTensor) else a for a in asked]
        bars = torch.autograd.grad(y, values, grad_outputs=v, allow_unused=True)
    return [
        a.with_values(bar) if isinstance(a, SparseTensor) and bar is not None else bar for a, bar in zip(asked, bars)
    ]


def vjp_single(f: Callable[..., Any], inputs: Sequence[Any], d_idx: int, v: Any, cleaned: bool = False) -> Any:
    """v^T J in one input, a tensor or a sparse matrix."""
    return _pulled(f, inputs, [d_idx], v)[0]


def vjp(f: Callable[..., Any], inputs: Sequence[Any], v: Any) -> Any:
    """v^T J in each input that requires a gradient, None for the others; sparse ones for sparse matrices."""
    wanted = [i for i, given in enumerate(inputs) if _is_tensor(given) and given.requires_grad]
    found = dict(zip(wanted, _pulled(f, inputs, wanted, v) if wanted else ()))
    return tuple(found.get(i) for i in range(len(inputs)))
