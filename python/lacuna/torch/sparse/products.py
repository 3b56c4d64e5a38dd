# SPDX-License-Identifier: Apache-2.0
"""Products with vectors, dense matrices and sparse ones; quadratic forms; products on the pattern alone."""

import torch

from ...errors import ShapeError
from .. import kron, quadratic_form, sddmm, spgemm, spmm
from .sides import columns, together, without_columns
from .structure import made_of


class Products:
    """What `@` does, on either side."""

    def __matmul__(self, other):
        if isinstance(other, torch.Tensor) and other.layout is torch.strided:
            return self.matmul(other)
        if isinstance(other, (type(self), torch.Tensor)):
            return self._times(self.of(other))
        return NotImplemented

    def __rmatmul__(self, other):
        if not isinstance(other, torch.Tensor):
            return NotImplemented
        if other.layout is not torch.strided:
            return self.of(other)._times(self)
        if other.ndim in (1, len(self.batch_shape) + 1):
            return self.matmul(other, op="T")
        return self.matmul(other.mT, op="T").mT

    def matmul(self, x, op="N"):
        """op(A) x: a vector for each matrix, [*batch, n], or columns, [*batch, n, k]; op is "N", "T", "H" or
        "conjugated". A batch on one side only is shared by the other."""
        rows, cols = self._matrix_shape()
        x, is_vector = columns("matmul", "x", x, self.batch_shape, rows if op in _TURNED else cols)
        pattern, slots = self._matrix()
        dtype, (slots, x) = together(slots, x)
        return without_columns(spmm(pattern, slots, x, op), is_vector).to(dtype)

    mv = mm = bmm = matmul

    def _times(self, other):
        """The sparse product A B, on the places that it may have."""
        if self._matrix_shape()[1] != other._matrix_shape()[0]:
            raise ShapeError(f"matmul: {self._matrix_shape()} times {other._matrix_shape()}; the columns of the first "
                             "must be as many as the rows of the second")  # fmt: skip
        (pa, a), (pb, b) = self._single(), other._single()
        dtype, (a, b) = together(a, b)
        return self._by_slots(made_of("product", pa, pb)[0], spgemm(pa, a, pb, b).to(dtype))

    def sddmm(self, u, v):
        """u v^H where A has entries, as a SparseTensor: u [..., M, k] and v [..., N, k], or vectors. Values of A are
        not read."""
        rows, cols = self._matrix_shape()
        u, _ = columns("sddmm", "u", u, self.batch_shape, rows)
        v, _ = columns("sddmm", "v", v, self.batch_shape, cols)
        dtype, (u, v) = together(u, v)
        pattern = self._matrix_pattern()
        made = sddmm(pattern, u, v).to(dtype)
        if self.trailing and pattern.blocks == (1, 1):
            made = made[..., None, None]
        return self._on(self.structure.by_slots(), made, self.trailing)

    def quadratic_form(self, x, y=None):
        """x^H A y, y = x unless given: one number for a vector, one for each of columns."""
        rows, cols = self._matrix_shape()
        x, is_vector = columns("quadratic_form", "x", x, self.batch_shape, rows)
        y = x if y is None else columns("quadratic_form", "y", y, self.batch_shape, cols)[0]
        pattern, slots = self._single()
        dtype, (slots, x, y) = together(slots, x, y)
        return without_columns(quadratic_form(pattern, slots, x, y), is_vector).to(dtype)

    def kron(self, other):
        """The Kronecker product with another sparse matrix."""
        (pa, a), (pb, b) = self._single(), self.of(other)._single()
        dtype, (a, b) = together(a, b)
        return self._by_slots(made_of("kron", pa, pb)[0], kron(pa, a, pb, b).to(dtype))


_TURNED = ("T", "H", "transposed", "adjoint")
