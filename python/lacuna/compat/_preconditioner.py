# SPDX-License-Identifier: Apache-2.0
"""Preconditioners of the peers, which take tensors, as Lacuna's iterations call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor


def inverse(
    apply: Callable[[Tensor], Tensor], shape: Sequence[int], device: torch.device
) -> Callable[[NDArray[Any], str], NDArray[Any]]:
    """A preconditioner of C's form, NumPy in and out, from a function of tensors of this shape."""

    def applied(x: NDArray[Any], op: str) -> NDArray[Any]:
        each = [apply(one) for one in torch.from_numpy(x).to(device).reshape(-1, *shape)]
        return torch.stack(each).detach().cpu().reshape(x.shape).numpy()

    return applied
