# SPDX-License-Identifier: Apache-2.0
"""numml.nn: graph convolutions whose graph is a sparse matrix.

GCNConv   Y = S X W + c              S = D^-1/2 (A + I) D^-1/2, D = diag(row sums of A + I)
TAGConv   Y = sum_k S^k X W_k + c    k = 1..K
"""

import functools

import torch


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

    def __init__(self, in_channels, out_channels, normalize=True):
        super().__init__((in_channels,), out_channels, normalize)

    def forward(self, A, X):
        return _propagated(A, _columns(X) @ self.weights, self.normalize) + self.bias


class TAGConv(_Convolution):
    """k steps to neighbours with weights of their own."""

    def __init__(self, in_channels, out_channels, k=2, normalize=True):
        super().__init__((k, in_channels), out_channels, normalize)
        self.k = k

    def forward(self, A, X):
        X, made = _columns(X), self.bias
        for weights in self.weights:
            X = _propagated(A, X, self.normalize)
            made = made + X @ weights
        return made


class SeqWrapper(torch.nn.Sequential):
    """Modules of X alone, as one layer between those of A and X."""

    def forward(self, A, X):
        return super().forward(X)


class Sequential(torch.nn.ModuleList):
    """Layers of (A, X), one after the other."""

    def __init__(self, *layers):
        super().__init__(layers)

    def forward(self, A, X):
        return functools.reduce(lambda made, layer: layer(A, made), self, X).squeeze()


def model_to_vector(model):
    """All parameters as one vector, detached."""
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach()


def vector_to_model(model, weights_vector):
    """Write a vector of model_to_vector into the parameters."""
    torch.nn.utils.vector_to_parameters(weights_vector, model.parameters())
