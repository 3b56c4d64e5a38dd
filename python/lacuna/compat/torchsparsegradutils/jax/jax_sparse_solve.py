# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.jax.jax_sparse_solve: systems of torch sparse tensors, by Lacuna, which needs no JAX unless a
function of JAX arrays is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sparse_solve import sparse_generic_solve, turned
from .jax_bindings import j2t, t2j, t2j_csr

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


def _of_torch(solve, of=lambda A: A):
    """A solver of torch tensors by one of JAX, which gives x or (x, ...)."""

    def solved(A, B, **options):
        x = solve(t2j_csr(of(A)), t2j(B), **options)
        return j2t(x[0] if isinstance(x, tuple) else x)

    return solved


def sparse_solve_j4t(
    A: Tensor, B: Tensor, solve: Callable[..., Any] | None = None, transpose_solve: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Tensor:  # fmt: skip
    """x with A x = B: by solve(A, B) of a BCSR matrix and a JAX array, as JAX's own solvers are, or by Lacuna's own
    choice. Derivatives are solved for by transpose_solve, or else solve, and either gets A^H."""
    if solve is None:
        return sparse_generic_solve(A, B, **kwargs)
    back = None if transpose_solve is None else _of_torch(transpose_solve, turned)
    return sparse_generic_solve(A, B, _of_torch(solve), back, **kwargs)
