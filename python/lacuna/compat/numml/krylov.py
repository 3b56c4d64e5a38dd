# SPDX-License-Identifier: Apache-2.0
"""numml.krylov: iterations for matrices and functions. The derivative is that of the solution, by an adjoint solve,
not of the steps, and needs no memory for them. The residuals are numbers without derivatives; those of systems that
vmap maps together are of the slowest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

import lacuna.torch as lt
from lacuna.errors import ArgumentError

from .._preconditioner import inverse
from .sparse import LinearOperator

if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def _product(A):
    """(function of (*theta, x), theta)."""
    if isinstance(A, torch.Tensor) and A.layout is torch.strided:
        return torch.matmul, (A,)
    if isinstance(A, LinearOperator):
        return A.rm, ()
    raise ArgumentError(f"conjugate_gradient: A is a {type(A).__name__}; a SparseCSRTensor, a tensor or a "
                        "LinearOperator is a matrix")  # fmt: skip


def _iterated(method, A, b, x, options):
    """The solution: within C for a sparse matrix, else by products in torch."""
    if isinstance(A, lt.SparseTensor):
        return lt.SparseTensor.solve(A, b, method, options.pop("preconditioner", "identity"), x, **options)
    function, theta = _product(A)
    return lt.solve_operator(function, theta, b, method, x, **options)


@torch.compiler.disable  # no graph knows how long the history is
def _solved(method, A, b, x, M, rtol, iterations):
    """(solution, norms of the residuals: of the start, and after each step)."""
    history = []

    def seen(_iteration, residual):
        history.append(residual)
        return False

    options = {"rtol": rtol, "look_every": 1, "progress": seen}
    if M is not None:
        options["preconditioner"] = inverse(lambda one: M @ one, b.shape, b.device)
    if iterations is not None:
        options.update(max_iterations=iterations, accept_unconverged=True)
    solution = _iterated(method, A, b, x, options)
    size = torch.linalg.vector_norm(b.detach())
    return solution, size * torch.tensor(history, dtype=size.dtype, device=size.device)


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
