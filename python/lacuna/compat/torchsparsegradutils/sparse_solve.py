# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.sparse_solve: triangular systems, and systems by any solver, for torch sparse tensors.

A system by a user's solver has derivatives of every order: the adjoint is a solve by `transpose_solve`, and the rest
are Lacuna's products.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import torch

from lacuna.errors import ArgumentError, ShapeError
from lacuna.torch import SparseTensor
from lacuna.torch.solved import Solve as SparseGenericSolve
from lacuna.torch.solved import System
from lacuna.torch.sparse import layout_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from torch import Tensor

    from lacuna import Pattern


def sparse_triangular_solve(
    A: Tensor, B: Tensor, upper: bool = True, unitriangular: bool = False, transpose: bool = False,
) -> Tensor:  # fmt: skip
    """x with op(A) x = B, A's upper or lower triangle. unitriangular: the diagonal is ones; what is stored there is
    not read and has no gradient."""
    return SparseTensor.of(A, "sparse_triangular_solve").triangular_solve(
        B, upper, unitriangular, "T" if transpose else "N"
    )


def turned(A: Tensor) -> Tensor:
    """A^H as a torch sparse tensor of A's layout."""
    turned = A.detach().transpose(-2, -1)
    turned = turned.conj() if turned.is_complex() else turned
    return turned.to_sparse_csr() if layout_of(A) is torch.sparse_csr else turned.coalesce()


class By:
    """A user's pair of solvers for matrices on a pattern. `solve` takes A; where `transpose_solve` is given, it takes A
    too and solves with A^H, as there; where it is not, `solve` gets A^H."""

    def __init__(
        self, pattern: Pattern, solve: Callable[..., Any], transpose_solve: Callable[..., Any] | None,
        options: dict[str, Any],
    ) -> None:  # fmt: skip
        self.pattern, self.solve, self.transpose_solve, self.options = pattern, solve, transpose_solve, options

    def system(self) -> System:
        products = self.product, lambda values, x: self.product(values, x, "H")
        return System(*products, self.run, System(*products, self.run_scaled))

    def product(self, values: Tensor, x: Tensor, op: str = "N") -> Tensor:
        return SparseTensor.from_pattern(self.pattern, values).matmul(x, op)

    def run(self, is_adjoint: bool, theta: Sequence[Tensor], b: Tensor) -> Tensor:
        A = SparseTensor.from_pattern(self.pattern, *theta).to_sparse_csr()
        if not is_adjoint:
            return self._told(self.solve(A, b, **self.options))
        if self.transpose_solve is not None:
            return self._told(self.transpose_solve(A, b, **self.options))
        return self._told(self.solve(turned(A), b, **self.options))

    def run_scaled(self, is_adjoint: bool, theta: Sequence[Tensor], b: Tensor) -> Tensor:
        """For derivatives: a cotangent may be small, and a solver may stop at an absolute size. Each column is brought
        to about 1, by powers of two, which round nothing."""
        size = torch.linalg.vector_norm(b, dim=0).log2().round().exp2()
        size = torch.where(torch.isfinite(size) & (size > 0), size, torch.ones_like(size))
        return self.run(is_adjoint, theta, b / size) * size

    @staticmethod
    def _told(x):
        x = x[0] if isinstance(x, tuple) else x
        if not isinstance(x, torch.Tensor):
            raise ArgumentError(f"sparse_generic: the solver returned a {type(x).__name__}; it must be a tensor")
        return x


def _renamed(solve, options):
    """Options in the words of a solver: `tol` for its own name of the tolerance."""
    if solve is None or "tol" not in options:
        return options
    known = inspect.signature(solve).parameters
    name = next((n for n in ("tol", "tolerance", "rtol", "reltol") if n in known), "tol")
    return {**{k: v for k, v in options.items() if k != "tol"}, name: options["tol"]}


def sparse_generic_solve(
    A: Tensor, B: Tensor, solve: Callable[..., Any] | None = None, transpose_solve: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Tensor:  # fmt: skip
    """x with A x = B by any solver, `solve(A, B, **kwargs)`; without one, by Lacuna's own choice. The derivative is
    solved for with A^H, by transpose_solve(A, g), or else by solve with the transposed matrix."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ShapeError(f"sparse_generic_solve: A has shape {tuple(A.shape)}; it must be a square matrix")
    tensor = SparseTensor.of(A, "sparse_generic_solve").coalesce()
    if solve is None:
        return tensor.solve(B, **_own(kwargs))
    by = By(tensor.pattern, solve, transpose_solve, _renamed(solve, kwargs))
    return SparseGenericSolve.apply(by.system(), False, B, tensor.values)


_NAMES = {"tol": "rtol", "tolerance": "rtol", "rtol": "rtol", "atol": "atol", "max_iter": "max_iterations",
          "maxiter": "max_iterations", "preconditioner": "preconditioner", "method": "method"}  # fmt: skip


def _own(options):
    """Options in Lacuna's words, for an iteration where they ask for one."""
    for name in options:
        if name not in _NAMES:
            raise ArgumentError(f"sparse_generic_solve: there is no option {name!r}; there are {', '.join(_NAMES)}")
    found = {_NAMES[name]: value for name, value in options.items()}
    return {"method": "gmres", **found} if found else {}


__all__ = ["SparseGenericSolve", "sparse_generic_solve", "sparse_triangular_solve"]
