# SPDX-License-Identifier: Apache-2.0
"""numml.nn: graph convolutions whose graph is a sparse matrix.

GCNConv   Y = S X W + c              S = D^-1/2 (A + I) D^-1/2, D = diag(row sums of A + I)
TAGConv   Y = sum_k S^k X W_k + c    k = 1..K
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from .sparse import SparseCSRTensor


def _propagated(A, X, normalize):
    """S X, or A X where it is not normalised."""
    if not normalize:
        return A @ X
    d = (A.row_sum() + 1) ** -0.5
    scaled = d[:, None] * X
    return d[:, None] * (A @ scaled + scaled)


def _columns(X):
    return X[:, None] if X.ndim == 1 else X


class _Convolution(torch.nn.Module):
    def __init__(self, shape, out_channels, normalize):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.empty(*shape, out_channels))
        self.bias = torch.nn.Parameter(torch.zeros(out_channels))
        self.in_channels, self.out_channels, self.normalize = shape[-1], out_channels, normalize
        torch.nn.init.xavier_uniform_(self.weights)


class GCNConv(_Convolution):
    """One step to neighbours, of node features X [nodes, in_channels]."""

    def __init__(self, in_channels: int, out_channels: int, normalize: bool = True) -> None:
        super().__init__((in_channels,), out_channels, normalize)

    def forward(self, A: SparseCSRTensor, X: Tensor) -> Tensor:
        return _propagated(A, _columns(X) @ self.weights, self.normalize) + self.bias


class TAGConv(_Convolution):
    """k steps to neighbours with weights of their own."""

    def __init__(self, in_channels: int, out_channels: int, k: int = 2, normalize: bool = True) -> None:
        super().__init__((k, in_channels), out_channels, normalize)
        self.k = k

    def forward(self, A: SparseCSRTensor, X: Tensor) -> Tensor:
        X, made = _columns(X), self.bias
        for weights in self.weights:
            X = _propagated(A, X, self.normalize)
            made = made + X @ weights
        return made


class SeqWrapper(torch.nn.Module):
    """A module of X alone, as a layer between those of A and X."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, A: SparseCSRTensor, X: Tensor) -> Tensor:
        return self.module(X)


class Sequential(torch.nn.Module):
    """Layers of (A, X), one after the other."""

    def __init__(self, *layers: torch.nn.Module) -> None:
        super().__init__()
        self.modlist = torch.nn.ModuleList(layers)

    def forward(self, A: SparseCSRTensor, X: Tensor) -> Tensor:
        return functools.reduce(lambda made, layer: layer(A, made), self.modlist, X).squeeze()


def model_to_vector(model: torch.nn.Module) -> Tensor:
    """All parameters as one vector, detached."""
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach()


def vector_to_model(model: torch.nn.Module, weights_vector: Tensor) -> None:
    """Write a vector of model_to_vector into the parameters. One that requires a gradient takes their place instead, so
    that derivatives of what the model makes go to the vector."""
    named = list(model.named_parameters())
    parts = weights_vector.split([parameter.numel() for _, parameter in named])
    for (name, parameter), part in zip(named, parts, strict=True):
        part = part.view_as(parameter)
        if isinstance(parameter, torch.nn.Parameter) and not part.requires_grad:
            parameter.data.copy_(part)  # it stays the one that an optimiser holds
            continue
        owner, _, own = name.rpartition(".")
        model.get_submodule(owner)._parameters[own] = part if part.requires_grad else torch.nn.Parameter(part.clone())
