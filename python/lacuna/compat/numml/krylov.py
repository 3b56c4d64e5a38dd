# SPDX-License-Identifier: Apache-2.0
"""numml.krylov: iterations for matrices and functions. The derivative is that of the solution, by an adjoint solve,
not of the steps, and needs no memory for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

import lacuna.torch as lt
from lacuna.errors import ArgumentError

from .sparse import LinearOperator

if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def _product(A):
    """(function of (*theta, x), theta)."""
    if isinstance(A, lt.SparseTensor):
        return lambda values, x: A.with_values(values) @ x, (A.values,)
    if isinstance(A, torch.Tensor) and A.layout is torch.strided:
        return torch.matmul, (A,)
    if isinstance(A, LinearOperator):
        return A.rm, ()
    raise ArgumentError(f"conjugate_gradient: A is a {type(A).__name__}; a SparseCSRTensor, a tensor or a "
                        "LinearOperator is a matrix")  # fmt: skip


def _inverse(M, b):
    def apply(x, op):
        with torch.no_grad():
            y = M @ torch.from_numpy(x).to(b.device).reshape(b.shape)
        return y.cpu().reshape(x.shape).numpy()

    return apply


def _solved(method, A, b, x, M, rtol, iterations):
    """(solution, residual norms before each step that was looked at)."""
    function, theta = _product(A)
    with torch.no_grad():
        size = torch.linalg.vector_norm(b)
        history = [size if x is None else torch.linalg.vector_norm(b - function(*theta, x))]

    def seen(_iteration, residual):
        history.append(size * residual)
        return False

    options = {"rtol": rtol, "look_every": 1, "progress": seen}
    if M is not None:
        options["preconditioner"] = _inverse(M, b)
    if iterations is not None:
        options.update(max_iterations=iterations, accept_unconverged=True)
    return lt.solve_operator(function, theta, b, method, x, **options), torch.stack(history)


def conjugate_gradient(
    A: Any, b: Tensor, x: Tensor | None = None, M: Any = None, rtol: float = 1e-6, iterations: int | None = None,
) -> Any:  # fmt: skip
    """(x, residual norms): A x = b for A Hermitian positive definite, M an approximate inverse like it."""
    return _solved("cg", A, b, x, M, rtol, iterations)


def conjugate_residual(
    A: Any, b: Tensor, x: Tensor | None = None, M: Any = None, rtol: float = 1e-6, iterations: int | None = None,
) -> Any:  # fmt: skip
    """(x, residual norms): A x = b for A Hermitian, indefinite too, by minimal residuals."""
    solution, history = _solved("minres", A, b, x, M, rtol, iterations)
    return solution, list(history)
