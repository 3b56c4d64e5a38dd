# SPDX-License-Identifier: Apache-2.0
"""numml.utils: central differences and gradients, of dense and sparse arguments."""

import torch


def _difference(f, values, at, h):
    """(f(values + h e) - f(values - h e)) / 2h."""
    moved = []
    for step in (h, -h):
        other = values.detach().clone()
        other.view(-1)[at] += step
        moved.append(f(other))
    return (moved[0] - moved[1]) / (2 * h)


def fd(f, x, h=1e-3):
    """The gradient of a scalar function by central differences, one number at a time."""
    numbers = [_difference(f, x, at, h) for at in range(x.numel())]
    return torch.stack([torch.as_tensor(n).detach() for n in numbers]).reshape(x.shape)


def sp_fd(f, A, h=1e-3):
    """The gradient of a scalar function of a sparse matrix by central differences, on its places."""
    return A.with_values(fd(lambda values: f(A.with_values(values)), A.values, h))


def grad(f, x):
    """The gradient of a scalar function."""
    leaf = x.detach().clone().requires_grad_()
    return torch.autograd.grad(f(leaf), leaf)[0]


def sp_grad(f, A):
    """The gradient of a scalar function of a sparse matrix, on its places."""
    return A.with_values(grad(lambda values: f(A.with_values(values)), A.values))
