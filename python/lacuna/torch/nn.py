# SPDX-License-Identifier: Apache-2.0
"""Modules that own sparse matrices: values are Parameters or buffers, indices are in state_dict."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import ShapeError
from .sparse import SparseTensor
from .sparse.interned import interned


class SparseParameter(torch.nn.Module):
    """A sparse matrix whose values are a Parameter, in the caller's order: called without arguments, it is the
    SparseTensor. Its indices are buffers: state_dict has them, and load_state_dict takes others of any number.

    SparseParameter(A) of a SparseTensor, or of what SparseTensor.of takes; trainable=False keeps values as a buffer.

    >>> weight = lacuna.torch.nn.SparseParameter(lacuna.torch.SparseTensor.tridiagonal(3))
    >>> [name for name, _ in weight.named_parameters()], weight().shape
    (['values'], torch.Size([3, 3]))
    """

    def __init__(self, tensor: Any, trainable: bool = True) -> None:
        super().__init__()
        tensor = SparseTensor.of(tensor, "SparseParameter")
        values = tensor.values.detach().clone()
        if trainable:
            self.values = torch.nn.Parameter(values)
        else:
            self.register_buffer("values", values)
        self.register_buffer("row_indices", tensor.row_indices.clone())
        self.register_buffer("col_indices", tensor.col_indices.clone())
        self.sparse_shape, self.trailing = tuple(tensor.sparse_shape), tensor.trailing
        self._structure = tensor.structure

    def forward(self) -> SparseTensor:
        """The SparseTensor of the values as they are now."""
        return SparseTensor._on(self._structure, self.values, self.trailing)

    tensor = forward

    def get_extra_state(self):
        return {"sparse_shape": list(self.sparse_shape), "trailing": self.trailing}

    def set_extra_state(self, state):
        self.sparse_shape, self.trailing = tuple(state["sparse_shape"]), state["trailing"]

    def _load_from_state_dict(self, state_dict, prefix, *arguments):
        """Take over the sizes of what is loaded, which may have other entries."""
        for name in ("values", "row_indices", "col_indices"):
            loaded, own = state_dict.get(prefix + name), getattr(self, name)
            if loaded is not None and loaded.shape != own.shape:
                own.data = torch.empty(loaded.shape, dtype=own.dtype, device=own.device)
        super()._load_from_state_dict(state_dict, prefix, *arguments)
        self._find()

    def _find(self):
        """Look the structure up, here and not in forward, so that a compiler finds it there."""
        if not self.row_indices.is_meta:
            self._structure = interned("coo", self.row_indices, self.col_indices, self.sparse_shape)

    def __getstate__(self):
        return {**self.__dict__, "_structure": None}

    def __setstate__(self, state):
        super().__setstate__(state)
        self._find()

    def extra_repr(self):
        return f"shape={tuple(self.forward().shape)}, nnz={self._structure.pattern.nnz}, dtype={self.values.dtype}"


class SparseLinear(torch.nn.Module):
    """y = x A^T + bias with a sparse weight A (out_features, in_features), for x [..., in_features]."""

    def __init__(self, weight: Any, bias: bool = True) -> None:
        super().__init__()
        self.weight = SparseParameter(weight)
        made = self.weight()
        if made.is_batched or made.is_block:
            raise ShapeError(f"SparseLinear: the weight has shape {tuple(made.shape)}; it must be a matrix")
        self.out_features, self.in_features = made.shape
        zeros = torch.zeros(self.out_features, dtype=made.dtype, device=made.device)
        self.bias = torch.nn.Parameter(zeros) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x A^T + bias of x [..., in_features]."""
        if x.shape[-1:] != (self.in_features,):
            raise ShapeError(f"SparseLinear: x has shape {tuple(x.shape)}; it must end with {self.in_features}")
        y = (self.weight() @ x.reshape(-1, self.in_features).mT).mT.reshape(*x.shape[:-1], self.out_features)
        return y if self.bias is None else y + self.bias

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class SparseSolve(torch.nn.Module):
    """x = A^-1 b with a sparse matrix that is trained; options are those of SparseTensor.solve."""

    def __init__(self, matrix: Any, trainable: bool = True, **options: Any) -> None:
        super().__init__()
        self.matrix, self.options = SparseParameter(matrix, trainable), options

    def forward(self, b: torch.Tensor) -> torch.Tensor:
        """x of a right-hand side [*batch, n] or [*batch, n, k]."""
        return self.matrix().solve(b, **self.options)
