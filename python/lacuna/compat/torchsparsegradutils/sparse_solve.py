# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.sparse_solve: triangular systems, and systems by any solver, for torch sparse tensors.

    x     = A^-1 b                  by `solve`
    b_bar = A^-H x_bar              by `transpose_solve`
    a_bar = - b_bar x^H where A has entries

To every order: the adjoint is a solve of the same kind, and the rest are Lacuna's products.
"""

import inspect

import torch

from lacuna.errors import ArgumentError, ShapeError
from lacuna.torch import SparseTensor, sddmm


def sparse_triangular_solve(A, B, upper=True, unitriangular=False, transpose=False):
    """x with op(A) x = B, A's upper or lower triangle. unitriangular: the diagonal is ones; what is stored there is
    not read and has no gradient."""
    return SparseTensor.of(A, "sparse_triangular_solve").triangular_solve(
        B, upper, unitriangular, "T" if transpose else "N"
    )


def turned(A):
    """A^H as a torch sparse tensor of A's layout."""
    turned = A.detach().transpose(-2, -1)
    turned = turned.conj() if turned.is_complex() else turned
    return turned.to_sparse_csr() if A.layout is torch.sparse_csr else turned.coalesce()


class By:
    """A user's pair of solvers for matrices on a pattern. `solve` takes A; where `transpose_solve` is given, it takes A
    too and solves with A^H, as there; where it is not, `solve` gets A^H."""

    def __init__(self, pattern, solve, transpose_solve, options):
        self.pattern, self.solve, self.transpose_solve, self.options = pattern, solve, transpose_solve, options

    def run(self, is_adjoint, values, b):
        A = SparseTensor.from_pattern(self.pattern, values.detach()).to_sparse_csr()
        with torch.no_grad():
            if not is_adjoint:
                return self._told(self.solve(A, b.detach(), **self.options))
            if self.transpose_solve is not None:
                return self._told(self.transpose_solve(A, b.detach(), **self.options))
            return self._told(self.solve(turned(A), b.detach(), **self.options))

    @staticmethod
    def _told(x):
        return x[0] if isinstance(x, tuple) else x


class SparseGenericSolve(torch.autograd.Function):
    @staticmethod
    def forward(by, is_adjoint, values, b):
        return by.run(is_adjoint, values, b)

    @staticmethod
    def setup_context(ctx, inputs, x):
        ctx.by, ctx.is_adjoint, values, _ = inputs
        ctx.save_for_backward(values, x)
        ctx.save_for_forward(values, x)

    @staticmethod
    def backward(ctx, x_bar):
        values, x = ctx.saved_tensors
        adjoint = SparseGenericSolve.apply(ctx.by, not ctx.is_adjoint, values, x_bar)
        values_bar = None
        if ctx.needs_input_grad[2]:
            left, right = (x, adjoint) if ctx.is_adjoint else (adjoint, x)
            values_bar = -sddmm(ctx.by.pattern, *[t if t.ndim > 1 else t[:, None] for t in (left, right)])
        return None, None, values_bar, adjoint

    @staticmethod
    def jvp(ctx, _by, _is_adjoint, values_dot, b_dot):
        values, x = ctx.saved_tensors
        right = torch.zeros_like(x) if b_dot is None else b_dot
        if values_dot is not None:
            moved = SparseTensor.from_pattern(ctx.by.pattern, values_dot)
            right = right - moved.matmul(x, "H" if ctx.is_adjoint else "N")
        return SparseGenericSolve.apply(ctx.by, ctx.is_adjoint, values, right)

    @staticmethod
    def vmap(info, in_dims, by, is_adjoint, values, b):
        """One system after the other: the solver is the user's."""
        at = in_dims[2:]
        rows = [
            [t if dim is None else t.select(dim, i) for t, dim in zip((values, b), at)] for i in range(info.batch_size)
        ]
        return torch.stack([SparseGenericSolve.apply(by, is_adjoint, *row) for row in rows]), 0


def _renamed(solve, options):
    """Options in the words of a solver: `tol` for its own name of the tolerance."""
    if solve is None or "tol" not in options:
        return options
    known = inspect.signature(solve).parameters
    name = next((n for n in ("tol", "tolerance", "rtol", "reltol") if n in known), "tol")
    return {**{k: v for k, v in options.items() if k != "tol"}, name: options["tol"]}


def sparse_generic_solve(A, B, solve=None, transpose_solve=None, **kwargs):
    """x with A x = B by any solver, `solve(A, B, **kwargs)`; without one, by Lacuna's own choice. The derivative is
    solved for with A^H, by transpose_solve(A, g), or else by solve with the transposed matrix."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ShapeError(f"sparse_generic_solve: A has shape {tuple(A.shape)}; it must be a square matrix")
    tensor = SparseTensor.of(A, "sparse_generic_solve").coalesce()
    if solve is None:
        return tensor.solve(B, **_own(kwargs))
    by = By(tensor.pattern, solve, transpose_solve, _renamed(solve, kwargs))
    return SparseGenericSolve.apply(by, False, tensor.values, B)


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
