# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils.lsmr: least squares of a matrix, or of a function of x."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

import lacuna.torch as lt
from lacuna.errors import ArgumentError

from ._closures import Counted, product

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


def lsmr(
    A: Callable[[Tensor], Tensor] | Tensor, b: Tensor, Armat: Callable[[Tensor], Tensor] | Tensor | None = None,
    n: int | None = None, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
    maxiter: int | None = None, x0: Tensor | None = None, check_nonzero: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    """(x, iterations): x minimises |A x - b|^2 + |damp x|^2.

    A tensor, of any layout, is factored: x has working precision, after 0 iterations. A function of x is iterated on,
    with Armat, a function of y or a tensor, for A^H, or with n, the length of x, where torch differentiates A. It ends
    at the smaller of atol and btol, of |r| relative to |b| or of |A^H r| relative to |A| |r|, or with an error after
    maxiter iterations (None: C's own limit); conlim and check_nonzero are not read.
    """
    if isinstance(A, torch.Tensor):
        return lt.SparseTensor.of(A).lstsq(b, damp=None if damp == 0 else damp), 0
    if not callable(A):
        raise ArgumentError(f"lsmr: A is a {type(A).__name__}; it must be a tensor or a function of x")
    return _of_function(A, _adjoint(A, b, Armat, n), b, damp, x0, rtol=min(atol, btol), max_iterations=maxiter)


def _adjoint(A, b, Armat, n):
    """The function y -> A^H y."""
    if Armat is not None:
        function, theta = product("lsmr", Armat)
        return lambda y: function(*theta, y)
    if n is None:
        raise ArgumentError("lsmr: A is a function; give Armat, which computes A^H y, or n, the length of x")
    return lambda y: torch.func.vjp(A, b.new_ones(n))[1](y)[0]  # ones: a function that is not linear is found out


def _of_function(A, adjoint, b, damp, x0, **options):
    """LSMR on [A; damp]."""
    n, m = adjoint(b).shape[0], b.shape[0]
    counted = Counted(lambda x: torch.cat([A(x), damp * x]) if damp else A(x))
    turned = lambda y: adjoint(y[:m]) + damp * y[m:] if damp else adjoint(y)  # noqa: E731
    right = torch.cat([b, b.new_zeros(n)]) if damp else b
    options = {"adjoint": turned, "shape": (n,), "progress": counted.step, "look_every": 1, **options}
    return lt.solve_operator(counted, (), right, "lsmr", x0, **options), counted.steps
