# SPDX-License-Identifier: Apache-2.0
"""Factorizations: a sparse tensor that is factored, for many right-hand sides."""

import torch

from ..._derived import derived
from ...errors import UnsupportedError
from ...solver import Solver
from .. import logdet, slogdet, solve
from .._dtypes import computed
from .._levels import innermost
from .iterated import factored
from .sides import columns, without_columns


class Factorization:
    """A factor of the values that a SparseTensor has now. Solves and determinants by it are differentiable in b and in
    those values, to every order, and do not factor again, unless b has a wider dtype; once the values are changed in
    place they are refused (StaleError)."""

    def __init__(self, tensor, by):
        self.solver = by if isinstance(by, Solver) else derived("solver", (by.key,))[0]
        # Where there are no values yet, or vmap maps over them, the solver factors them in each solve, and keeps that.
        if torch.compiler.is_dynamo_compiling() or innermost(tensor.values)[1]:
            self.tensor, self._factor = tensor.clone(), None
        else:
            self.tensor = tensor
            self._factor = factored(self.solver, self._slots())
        self.dtype = computed(tensor.dtype)

    @property
    def factor(self):
        """The lacuna.Factor."""
        if self._factor is None:
            raise UnsupportedError("Factorization: compiled code and vmap have solves and determinants by a factor, "
                                   "and not the factor itself; make it outside, A.lu()")  # fmt: skip
        return self._factor

    def _slots(self):
        """The values by slots, and in the dtype in which they are computed."""
        slots = self.tensor._matrix()[1]
        return slots.to(computed(slots.dtype))

    @property
    def shape(self):
        """The shape of the SparseTensor that was factored."""
        return torch.Size((*self.tensor.batch_shape, *self.solver.shape))

    @property
    def report(self):
        """What the factor says of itself, as a dict: method, factor_nnz, ..."""
        return self.factor.report

    def solve(self, b, op="N"):
        """op(A)^-1 b: a vector for each matrix or columns, as SparseTensor.solve."""
        b, is_vector = columns("solve", "b", b, self.tensor.batch_shape, self.solver.shape[0])
        slots = self.tensor._matrix()[1]
        by = self._by(computed(torch.promote_types(slots.dtype, b.dtype)))
        return without_columns(solve(by, slots, b, op), is_vector)

    def _by(self, dtype):
        """The factor; for a wider dtype its solver, which factors the values anew, if they are still the factor's."""
        if self._factor is None:
            return self.solver
        if dtype == self.dtype:
            return self._factor
        slots = self._slots()
        solve(self.factor, slots, slots.new_zeros(self.solver.shape[0], 0))  # refuses other values
        return self.solver

    __call__ = solve

    def slogdet(self):
        """(sign, log|det A|) of each matrix, differentiable."""
        return slogdet(self._by(self.dtype), self.tensor._matrix()[1])

    def logdet(self):
        """log|det A| of each matrix, differentiable."""
        return logdet(self._by(self.dtype), self.tensor._matrix()[1])

    def rcond(self):
        """An estimate of 1 / (norm(A, 1) norm(inv(A), 1)) of each matrix; no derivative."""
        return torch.as_tensor(self.factor.rcond).to(self.tensor.device)

    def refactor(self, values):
        """The factorization of other values in the same order, by the same solver."""
        return Factorization(self.tensor.with_values(values), self.solver)

    def __repr__(self):
        return f"Factorization(shape={tuple(self.shape)}, method={self.report['method']!r})"
