# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.cupy.cupy_sparse_solve: systems of torch sparse tensors, by Lacuna, which needs no CuPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacuna.torch import SparseTensor

from ..._words import METHODS, iteration, word
from ..sparse_solve import sparse_generic_solve

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


def sparse_solve_c4t(
    A: Tensor, B: Tensor, solve: Callable[..., Any] | None = None, transpose_solve: Callable[..., Any] | None = None,
    tol: float | None = None, rtol: float | None = None, atol: float | None = None, maxiter: int | None = None,
    **kwargs: Any,
) -> Tensor:  # fmt: skip
    """x with A x = B, vectors or columns: `solve` is a method by its name ("cg", "gmres", "spsolve", ...), a function
    as of sparse_generic_solve, which gets the options that are given, or None. Derivatives are solved for with A^H,
    whatever transpose_solve names. A direct method keeps tolerances and maxiter without being told."""
    given = {"tol": tol, "rtol": rtol, "atol": atol, "maxiter": maxiter, **kwargs}
    given = {name: value for name, value in given.items() if value is not None}
    if callable(solve):
        by = transpose_solve if callable(transpose_solve) else None
        return sparse_generic_solve(A, B, solve, by, **given)
    names = {**METHODS, "spsolve": {}, "factorized": {}}
    options = dict(word("sparse_solve_c4t: solve", solve or "spsolve", names))
    options.update(iteration("sparse_solve_c4t", options.get("method"), **given))
    return SparseTensor.of(A, "sparse_solve_c4t").solve(B, **options)
