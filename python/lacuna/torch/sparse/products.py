# SPDX-License-Identifier: Apache-2.0
"""Products with vectors, dense matrices and sparse ones; quadratic forms; products on the pattern alone."""

import torch

from ...errors import ShapeError
from .. import kron, quadratic_form, sddmm, spgemm, spmm
from .._levels import layout_of
from .sides import columns, require_tensor, without_columns
from .structure import made_of


class Products:
    """What `@` does, on either side."""

    def __matmul__(self, other):
        if isinstance(other, torch.Tensor) and layout_of(other) is torch.strided:
            return self.matmul(other)
        if isinstance(other, (Products, torch.Tensor)):
            return self._times(self.of(other))
        if hasattr(other, "__array__"):  # NumPy would say that it has no ufunc for this
            require_tensor("matmul", "the right side", other)
        return NotImplemented

    def __rmatmul__(self, other):
        if not isinstance(other, torch.Tensor):
            return NotImplemented
        if layout_of(other) is not torch.strided:
            return self.of(other)._times(self)
        if other.ndim in (1, len(self.batch_shape) + 1):
            return self.matmul(other, op="T")
        return self.matmul(other.mT, op="T").mT

    def matmul(self, x, op="N"):
        """op(A) x: a vector for each matrix, [*batch, n], or columns, [*batch, n, k]; op is "N", "T", "H" or
        "conjugated". A batch on one side only is shared by the other.

        >>> A = lacuna.torch.SparseTensor.from_dense(torch.tensor([[2.0, 0.0], [1.0, 4.0]]))
        >>> A.matmul(torch.ones(2)), A.matmul(torch.ones(2), op="T")
        (tensor([2., 5.]), tensor([3., 4.]))
        """
        pattern, slots = self._matrix()
        x, is_vector = columns("matmul", "x", x, self.batch_shape, pattern.shape[0 if op in _TURNED else 1])
        return without_columns(spmm(pattern, slots, x, op), is_vector)

    mv = mm = bmm = matmul

    def _times(self, other):
        """The sparse product A B, on the places that it may have."""
        (pa, a), (pb, b) = self._single(), other._single()
        if pa.shape[1] != pb.shape[0]:
            raise ShapeError(f"matmul: {pa.shape} times {pb.shape}; the columns of the first must be as many as the "
                             "rows of the second")  # fmt: skip
        return self._by_slots(made_of("product", pa, pb)[0], spgemm(pa, a, pb, b))

    def sddmm(self, u, v):
        """u v^H where A has entries, as a SparseTensor: u [..., M, k] and v [..., N, k], or vectors. Values of A are
        not read.

        >>> A = lacuna.torch.SparseTensor.from_dense(torch.tensor([[2.0, 0.0], [1.0, 4.0]]))
        >>> A.sddmm(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])).to_dense()
        tensor([[ 3.,  0.],
                [ 6., 10.]])
        """
        pattern = self._matrix_pattern()
        u, v = (columns("sddmm", name, given, self.batch_shape, size)[0]
                for name, given, size in zip("uv", (u, v), pattern.shape))  # fmt: skip
        made = sddmm(pattern, u, v)
        if self.trailing and pattern.blocks == (1, 1):
            made = made[..., None, None]
        return self._on(self.structure.by_slots(), made, self.trailing)

    def quadratic_form(self, x, y=None):
        """x^H A y, y = x unless given: one number for a vector, one for each of columns.

        >>> lacuna.torch.SparseTensor.tridiagonal(3).quadratic_form(torch.ones(3, dtype=torch.float64))
        tensor(2., dtype=torch.float64)
        """
        pattern, slots = self._single()
        x, is_vector = columns("quadratic_form", "x", x, self.batch_shape, pattern.shape[0])
        y = x if y is None else columns("quadratic_form", "y", y, self.batch_shape, pattern.shape[1])[0]
        return without_columns(quadratic_form(pattern, slots, x, y), is_vector)

    def kron(self, other):
        """The Kronecker product with another sparse matrix."""
        (pa, a), (pb, b) = self._single(), self.of(other)._single()
        return self._by_slots(made_of("kron", pa, pb)[0], kron(pa, a, pb, b))


_TURNED = ("T", "H", "transposed", "adjoint")
