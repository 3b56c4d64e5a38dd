# SPDX-License-Identifier: Apache-2.0
"""Sums, means, products, extremes and norms, over the batch, rows, columns and blocks.

    include_zeros=True     of the whole matrix: what is not stored counts as 0 (the default)
    include_zeros=False    of stored places alone; each place counts once

Nothing dense is made: memory is that of the entries and of the result. A reduction over the batch or block alone is a
SparseTensor, any other a dense tensor.
"""

import math
from numbers import Integral
from typing import NamedTuple

import torch

from ...errors import ArgumentError, ShapeError
from .. import matrix_norm, sparse_logsumexp, sparse_max, sparse_min, trace
from .grouped import product
from .structure import made_of, moved


class _Dims(NamedTuple):
    """Which dimensions of shape are reduced."""

    batch: list
    rows: bool
    columns: bool
    block: list
    at: int  # the place of M

    @property
    def matrix(self):
        return [self.at] * self.rows + [self.at + 1] * self.columns

    @property
    def others(self):
        return [*self.batch, *self.block]

    @property
    def of_values(self):
        """Those of the batch and block as dimensions of values."""
        return [*self.batch, *[d - 1 for d in self.block]]


class Reductions:
    """Reductions of SparseTensor. `dim` counts the dimensions of `shape`; None and () take all, as in torch."""

    def _dims(self, who, dim):
        asked = dim if isinstance(dim, (tuple, list)) else () if dim is None else (dim,)
        asked = asked or range(self.ndim)
        for one in asked:
            if not isinstance(one, (Integral, torch.SymInt)):
                raise ArgumentError(f"{who}: dim is {dim!r}; it must be an integer, or several")
            if not -self.ndim <= one < self.ndim:
                raise ShapeError(f"{who}: dimension {one} of a tensor with {self.ndim}")
        found, at = sorted({one % self.ndim for one in asked}), self.sparse_dim[0]
        if len(found) < len(asked):
            raise ShapeError(f"{who}: dim is {dim}, which names a dimension twice")
        return _Dims([d for d in found if d < at], at in found, at + 1 in found, [d for d in found if d > at + 1], at)

    def _side(self, who, dim):
        """The dimension of a matrix: 0 is reduced for a result for each column, 1 for each row."""
        dims = self._dims(who, dim)
        if dims.others or dims.rows == dims.columns:
            raise ArgumentError(f"{who}: dim is {dim}; it must be one of {self.sparse_dim}")
        return 0 if dims.rows else 1

    def _groups(self, rows):
        """The map from slots to the lines that are left, columns where rows are reduced."""
        return made_of("col_map" if rows else "row_map", self.structure.pattern)[0]

    def _lined(self, lines, rows):
        """Lines [*batch, lines, *block] in the place of the matrix, a 1 for what is reduced."""
        at = lines.ndim - 1 - self.trailing
        return lines.unsqueeze(at if rows else at + 1)

    def _over_others(self, function, dims, keepdim):
        """A reduction over the batch and block: the entries stay."""
        merged, trailing = self.merged(), self.trailing if keepdim else self.trailing - len(dims.block)
        return self._on(merged.structure, function(merged.values, dims.of_values, keepdim=keepdim), trailing)

    def _finish(self, made, dims, keepdim, function):
        """What is dense by now, reduced over the batch and block too, and without dimensions that are gone."""
        if dims.others:
            made = function(made, dims.others, keepdim=True)
        return made if keepdim else _without(made, dims)

    def _line_sums(self, dims):
        slots = self.slots()
        if dims.rows and dims.columns:
            return self._lined(slots.sum(slots.ndim - 1 - self.trailing, keepdim=True), True)
        return self._lined(moved(self._groups(dims.rows), slots, self.trailing), dims.rows)

    def sum(self, dim=None, keepdim=False):
        """The sum over dimensions of shape.

        >>> A = lacuna.torch.SparseTensor.tridiagonal(3)
        >>> A.sum(), A.sum(dim=1)
        (tensor(2., dtype=torch.float64), tensor([1., 0., 1.], dtype=torch.float64))
        """
        dims = self._dims("sum", dim)
        if not dims.matrix:
            return self._over_others(torch.sum, dims, keepdim)
        return self._finish(self._line_sums(dims), dims, keepdim, torch.sum)

    def _counted(self, dims, include_zeros):
        """How many numbers are in each sum: one number, or a tensor of the lines that broadcasts to shape."""
        others = math.prod([self.shape[d] for d in dims.others])
        if include_zeros or not dims.matrix:
            return others * math.prod([self.shape[d] for d in dims.matrix])
        if dims.rows and dims.columns:
            return others * self.nnz
        ones = torch.ones(self.nnz, *[1] * self.trailing, dtype=torch.float64, device=self.device)
        lines = moved(self._groups(dims.rows), ones, self.trailing)
        return (self._lined(lines, dims.rows) * others).to(self.values.real.dtype)

    def mean(self, dim=None, keepdim=False, include_zeros=True):
        """The mean over dimensions of shape; of no stored number, NaN."""
        dims = self._dims("mean", dim)
        count = self._counted(dims, include_zeros)
        if not dims.matrix:
            return self.sum(dim, keepdim) / count
        sums = self._finish(self._line_sums(dims), dims, True, torch.sum) / count
        return sums if keepdim else _without(sums, dims)

    def max(self, dim=None, keepdim=False, include_zeros=True):
        """The largest number over dimensions of shape, of reals; ties share the gradient.

        >>> A = lacuna.torch.SparseTensor.from_dense(torch.tensor([[-2.0, 0.0], [1.0, 4.0]]))
        >>> A.max(dim=1), A.max(dim=1, include_zeros=False)
        (tensor([0., 4.]), tensor([-2.,  4.]))
        """
        return self._extreme("max", sparse_max, torch.amax, dim, keepdim, include_zeros)

    def min(self, dim=None, keepdim=False, include_zeros=True):
        """The smallest number over dimensions of shape, of reals; ties share the gradient."""
        return self._extreme("min", sparse_min, torch.amin, dim, keepdim, include_zeros)

    amax, amin = max, min

    def _extreme(self, who, of_lines, of_dense, dim, keepdim, include_zeros):
        dims = self._dims(who, dim)
        if not dims.matrix:
            return self._over_others(of_dense, dims, keepdim)
        slots = self.slots().movedim(-1 - self.trailing, -1)
        made = of_lines(self.structure.pattern, slots, 0 if not dims.columns else 1, True, include_zeros)
        if dims.rows and dims.columns:
            made = of_dense(made, -2, keepdim=True)
        for _ in range(self.trailing):  # back behind the matrix
            made = made.movedim(dims.at, -1)
        return self._finish(made, dims, keepdim, of_dense)

    def prod(self, dim=None, keepdim=False, include_zeros=True):
        """The product over dimensions of shape, exact with zeros: 0 for a line that is not full, unless
        include_zeros=False; of no number, 1."""
        dims = self._dims("prod", dim)
        if not dims.matrix:
            return self._over_others(_product_over, dims, keepdim)
        return self._finish(product(self, dims.rows, dims.columns, include_zeros), dims, keepdim, _product_over)

    def logsumexp(self, dim, keepdim=False, include_zeros=True):
        """log of the sum of exp over rows or columns."""
        pattern, slots = self._single()
        return sparse_logsumexp(pattern, slots, self._side("logsumexp", dim), keepdim, include_zeros)

    def norm(self, ord="fro"):
        """The norm of each matrix: "fro", 1 (largest column sum), inf (largest row sum) or 2 (largest singular value,
        by iteration; it can be differentiated once).

        >>> A = lacuna.torch.SparseTensor.tridiagonal(3)
        >>> A.norm(), A.norm(1)
        (tensor(4., dtype=torch.float64), tensor(4., dtype=torch.float64))
        """
        return matrix_norm(*self._single(), ord)

    def trace(self):
        """The sum of the diagonal of each matrix."""
        return trace(*self._single())

    def count_nonzero(self):
        """How many stored numbers are not zero, in all."""
        return (self.merged().values != 0).sum()


def _without(made, dims):
    """Without the dimensions that are reduced."""
    gone = [*dims.others, *dims.matrix]
    return made.reshape([size for d, size in enumerate(made.shape) if d not in gone])


def _product_over(tensor, dims, keepdim):
    for d in sorted(dims, reverse=True):
        tensor = tensor.prod(d, keepdim=keepdim)
    return tensor
