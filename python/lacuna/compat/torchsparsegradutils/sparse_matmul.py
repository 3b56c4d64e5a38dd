# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.sparse_matmul: products whose gradient in a torch sparse tensor has its layout and places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacuna.torch import SparseTensor

if TYPE_CHECKING:
    from torch import Tensor


def sparse_mm(A: Tensor, B: Tensor) -> Tensor:
    """A B for a torch sparse tensor A, (n, m) or (b, n, m), and a dense B with as many dimensions, or one vector each.
    Matrices of a batch may have different places. Within torch.func and torch.compile, which do not take torch's sparse
    tensors, A is a lacuna.torch.SparseTensor; so it is in every function here."""
    return SparseTensor.of(A, "sparse_mm") @ B
