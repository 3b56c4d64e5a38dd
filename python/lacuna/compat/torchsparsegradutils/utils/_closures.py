# SPDX-License-Identifier: Apache-2.0
"""Iterations with a matrix, a torch sparse tensor or a function: SparseTensor.solve of sparse matrices, within C for
all columns, lacuna.torch.solve_operator and lanczos of all else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

import lacuna.torch as lt
from lacuna.errors import ArgumentError, ShapeError
from lacuna.torch.sparse import layout_of

from ..._preconditioner import inverse

if TYPE_CHECKING:
    from collections.abc import Callable


def product(who, given):
    """(function of (*theta, x), theta) from a matrix of any layout, whose values are theta, or from a function of x."""
    if isinstance(given, lt.SparseTensor):
        return Products(given), (given.values,)
    if isinstance(given, torch.Tensor) and layout_of(given) is torch.strided:
        return torch.matmul, (given,)
    if isinstance(given, torch.Tensor):
        return product(who, lt.SparseTensor.from_torch(given))
    if not callable(given):
        raise ArgumentError(f"{who}: the matrix is a {type(given).__name__}; it must be a tensor or a function of x")
    return given, ()


class Products:
    """(values, x) -> A x for the matrices A on the places of a sparse one."""

    def __init__(self, tensor: lt.SparseTensor) -> None:
        self.tensor = tensor

    def __call__(self, values: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self.tensor.with_values(values) @ x


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls, self.steps = function, 0, 0
        self.tensor = getattr(function, "tensor", None)

    def step(self, iteration: int, residual: float) -> bool:
        """Called after each iteration; it goes on. Of several columns the longest counts."""
        self.steps = max(self.steps, iteration)
        return False

    def __call__(self, *given: Any) -> Any:
        self.calls += 1
        return self.function(*given)


def columns(who, rhs):
    """(right-hand side [*batch, n, k], whether it was a vector)."""
    if not isinstance(rhs, torch.Tensor) or rhs.ndim == 0:
        raise ShapeError(f"{who}: rhs must be a tensor, (n) or (..., n, k)")
    return (rhs[:, None], True) if rhs.ndim == 1 else (rhs, False)


def _of_column(function):
    """The same for one column: those of a batch are one array."""
    return lambda *given: function(*given[:-1], given[-1][..., None])[..., 0]


def iterate(function, theta, rhs, x0, method, preconditioner=None, **options):
    """x with L(theta) x = rhs [..., n, k] from x0: by a sparse matrix for all columns, by a function one after the
    other."""
    tensor = getattr(function, "tensor", None)
    if preconditioner is not None:
        shape = rhs.shape if tensor is not None else (*rhs.shape[:-1], 1)
        options["preconditioner"] = _applied(preconditioner, shape, rhs.device)
    if tensor is not None:
        A = tensor.with_values(*theta)
        return lt.SparseTensor.solve(A, rhs, method, options.pop("preconditioner", "identity"), x0, **options)

    of_column = _of_column(function)  # the columns of a batch are one system
    starts = [None] * rhs.shape[-1] if x0 is None else x0.unbind(-1)
    each = [lt.solve_operator(of_column, theta, one.clone(), method, start, **options)
            for one, start in zip(rhs.unbind(-1), starts)]  # fmt: skip
    return torch.stack(each, -1)


def _applied(given, shape, device):
    """A preconditioner of C's form, NumPy in and out, from one of tensors of that shape."""
    function, theta = product("preconditioner", given)
    theta = [t.detach() for t in theta]
    return inverse(lambda one: function(*theta, one), shape, device)


def tridiagonals(function, theta, starts, steps, preconditioner=None):
    """T [k, ..., r, r] of Lanczos' process from each column of starts [..., n, k], of which the longest has r steps, at
    most so many. By a preconditioner M^-1 it is that of M^-1/2 A M^-1/2."""
    shape = (*starts.shape[:-1], 1)
    by = None if preconditioner is None else _applied(preconditioner, shape, starts.device)
    each = [lt.lanczos(_of_column(function), theta, start, steps, by) for start in starts.unbind(-1)]
    alpha, beta = (torch.stack(numbers) for numbers in zip(*each))
    r = min(int((beta != 0).flatten(0, -2).any(0).sum()) + 1, steps)
    beside = [torch.diag_embed(beta[..., : r - 1], offset) for offset in (-1, 1)]
    return torch.diag_embed(alpha[..., :r]) + sum(beside)


def residuals(function, theta, x, rhs):
    """|rhs - L x| / |rhs| of each column."""
    with torch.no_grad():
        size = torch.linalg.vector_norm(rhs, dim=-2)
        left = torch.linalg.vector_norm(rhs - function(*theta, x), dim=-2)
        return left / torch.where(size == 0, torch.ones_like(size), size)
