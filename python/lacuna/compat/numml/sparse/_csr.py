# SPDX-License-Identifier: Apache-2.0
"""numml.sparse: SparseCSRTensor, which is lacuna.torch.SparseTensor by its compressed rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from lacuna.errors import ArgumentError
from lacuna.pattern import Pattern
from lacuna.torch import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch import Tensor


def _tensor(given, dtype, device):
    tensor = given if isinstance(given, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(given))
    return tensor.to(device=device, dtype=dtype)


class SparseCSRTensor(SparseTensor, public_name="lacuna.compat.numml.SparseCSRTensor"):
    """A sparse matrix of a dense tensor, a torch sparse tensor, a SciPy matrix, (data, (row, col)) or
    (data, indices, indptr). data is the caller's own tensor where rows are in order and each place comes once."""

    def __init__(
        self, arg1: Any, shape: Sequence[int] | None = None, clone: bool = False, dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:  # fmt: skip
        made = self._made(arg1, shape, dtype, device)
        self.structure, self.values, self.trailing = made.structure, made.values, made.trailing
        if clone:
            self.values = self.values.clone()

    @classmethod
    def _made(cls, given, shape, dtype, device):
        """The matrix by slots, as a SparseTensor."""
        if isinstance(given, (tuple, list)) and len(given) == 3:
            return cls._compressed(given, shape, dtype, device)
        if isinstance(given, (tuple, list)) and len(given) == 2:
            data, (row, col) = given
            made = SparseTensor(_tensor(data, dtype, device), row, col, cls._required(shape))
        elif isinstance(given, torch.Tensor) or hasattr(given, "tocoo"):
            made = SparseTensor.of(given).to(device=device, dtype=dtype)
        else:
            made = cls._other(given, dtype, device)
        return made.flatten_blocks().coalesce()

    @classmethod
    def _compressed(cls, given, shape, dtype, device):
        data, indices, indptr = given
        return SparseTensor.from_csr(_tensor(data, dtype, device), indptr, indices, cls._required(shape)).coalesce()

    @staticmethod
    def _other(given, dtype, device):
        if isinstance(given, SparseTensor):
            return given.to(device=device, dtype=dtype)
        raise ArgumentError(f"SparseCSRTensor: no matrix can be read from a {type(given).__name__}; a tensor, a SciPy "
                            "matrix, (data, (row, col)) and (data, indices, indptr) are matrices")  # fmt: skip

    @staticmethod
    def _required(shape):
        if shape is None:
            raise ArgumentError("SparseCSRTensor: shape=(rows, columns) is needed beside indices")
        return tuple(shape)

    def __reduce__(self):
        return type(self), ((self.data, self.indices, self.indptr), tuple(self.shape))

    # -- its parts ------------------------------------------------------------------------------------------------

    @property
    def data(self) -> Tensor:
        """The values by rows."""
        return self.values

    def _lines(self, at):
        return torch.from_numpy(np.array(self.structure.pattern.structure()[at])).to(self.device)

    @property
    def indptr(self) -> Tensor:
        """Where each row begins."""
        return self._lines(0)

    @property
    def indices(self) -> Tensor:
        """The column of each value."""
        return self._lines(1)

    @property
    def requires_grad(self) -> bool:
        return self.values.requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.values.requires_grad_(wanted)

    @property
    def grad_fn(self) -> Any:
        return self.values.grad_fn

    def copy(self) -> SparseCSRTensor:
        return self.clone()

    def row_sum(self) -> Tensor:
        """The sum of each row."""
        return self.sum(-1)

    @property
    def T(self) -> SparseCSRTensor:
        return self.transposed().coalesce()

    def hermitian(self) -> SparseCSRTensor:
        return self.H

    def transpose(self, dim0: int = -2, dim1: int = -1) -> SparseCSRTensor:
        return self.T

    def __call__(self) -> SparseCSRTensor:
        return self

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, torch.Tensor) and other.ndim == 0:
            return self * other
        if isinstance(other, torch.Tensor) and other.layout is torch.strided and other.ndim >= 3:
            return self.matmul(other)
        return super().__matmul__(other)

    def solve_triangular(self, upper: bool, unit: bool, b: Tensor) -> Tensor:
        """x with T x = b, T the triangle; what lies outside of it, or on a diagonal of ones, has no gradient."""
        return self.triangular_solve(b, upper, unit)

    def to_coo(self) -> Tensor:
        """A torch COO tensor, differentiable."""
        return self.to_sparse_coo()

    def to_scipy_csr(self) -> Any:
        """A SciPy CSR array."""
        return self.to_scipy()

    tocsr = to_scipy_csr

    def tocoo(self) -> Any:
        """A SciPy COO array."""
        return self.to_scipy().tocoo()

    def to_cupy_csr(self, device: Any = None) -> Any:
        """A CuPy CSR matrix on the values' CUDA device."""
        import cupy
        import cupyx.scipy.sparse as on_device

        parts = [cupy.from_dlpack(t.detach()) for t in (self.data, self.indices, self.indptr)]
        return on_device.csr_matrix(tuple(parts), shape=tuple(self.shape))


def eye(
    N: int, k: int = 0, dtype: torch.dtype = torch.float32, device: torch.device | str | None = None,
) -> SparseCSRTensor:  # fmt: skip
    """Ones on the k-th diagonal, N x N."""
    pattern = Pattern.eye(N, k=k)
    return SparseCSRTensor.from_pattern(pattern, torch.ones(pattern.nnz, dtype=dtype, device=device))


def diag(x: Tensor, k: int = 0) -> SparseCSRTensor:
    """The square matrix with x on its k-th diagonal."""
    return SparseCSRTensor.from_pattern(Pattern.eye(x.shape[-1] + abs(k), k=k), x)


def spouter(x: Tensor, y: Tensor) -> SparseCSRTensor:
    """x y^T where both are not zero, as a sparse matrix, differentiable in their numbers."""
    rows, columns = (t.detach().nonzero()[:, 0] for t in (x, y))
    row, col = rows.repeat_interleave(len(columns)), columns.repeat(len(rows))
    pattern = Pattern.from_coo(row.cpu().numpy(), col.cpu().numpy(), (len(x), len(y)))
    made = SparseCSRTensor.from_pattern(pattern, x.new_zeros(pattern.nnz))
    return made.sddmm(x, y.conj())


def unpack_csr(A: SparseCSRTensor) -> tuple[Any, ...]:
    """(shape, data, indices, indptr)."""
    return A.shape, A.data, A.indices, A.indptr


def repack_csr(shape: Sequence[int], data: Tensor, indices: Tensor, indptr: Tensor) -> SparseCSRTensor:
    """The matrix of unpack_csr's parts."""
    return SparseCSRTensor((data, indices, indptr), tuple(shape))


def row_indices(A: SparseCSRTensor) -> Tensor:
    """The row of each value."""
    return A.row_indices


def diagonal_idx(A: SparseCSRTensor) -> Tensor:
    """Where each number of the diagonal stands among the values, -1 where it is not stored."""
    on = A.row_indices == A.col_indices
    found = torch.full((min(A.shape),), -1, dtype=torch.int64, device=A.device)
    found[A.row_indices[on]] = on.nonzero()[:, 0]
    return found
