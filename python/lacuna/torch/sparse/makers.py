# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors of diagonals, of patterns, and of whatever else holds a matrix."""

import torch

from ..._handle import word
from ...errors import ArgumentError, ShapeError
from ...matrix import Matrix
from .._levels import layout_of
from .structure import Structure, made_of, require_entries
from .traced import eye_pattern, structured

_ORDERS = dict.fromkeys(("slots", "entries"))


class Makers:
    """Constructors of SparseTensor."""

    @classmethod
    def from_pattern(cls, pattern, values, order="slots"):
        """Of a lacuna.Pattern and values [*batch, nnz], or [*batch, nnz, br, bc] where it has blocks.

        order: "slots", or "entries" for values in the order of what the pattern was made of (`pattern.entries`).

        >>> lacuna.torch.SparseTensor.from_pattern(lacuna.Pattern.eye(2), torch.tensor([3.0, 5.0])).to_dense()
        tensor([[3., 0.],
                [0., 5.]])
        """
        word("order", order, _ORDERS)
        entries = _own_entries(pattern) if order == "entries" else None
        blocks = pattern.blocks
        trailing = 0 if blocks == (1, 1) else 2
        if trailing:
            if entries is not None:
                raise ArgumentError("from_pattern: values of blocks go by slots; remap(pattern.entries, ...) helps")
            (pattern,) = made_of("block_places", pattern)
        structure = Structure(pattern, entries)
        require_entries("from_pattern", values, structure.count, blocks if trailing else ())
        return cls._on(structure, values, trailing)

    @classmethod
    def from_csr(cls, values, crow_indices, col_indices, shape):
        """Of compressed rows: row i has the entries crow_indices[i] to crow_indices[i + 1] of values [*batch, entries],
        in any order; shape is (M, N).

        >>> lacuna.torch.SparseTensor.from_csr(torch.tensor([2.0, 1.0, 4.0]), [0, 1, 3], [0, 0, 1], (2, 2)).to_dense()
        tensor([[2., 0.],
                [1., 4.]])
        """
        return cls._from_lines("csr", values, crow_indices, col_indices, shape)

    @classmethod
    def from_csc(cls, values, ccol_indices, row_indices, shape):
        """Of compressed columns, as from_csr has rows."""
        return cls._from_lines("csc", values, ccol_indices, row_indices, shape)

    @classmethod
    def _from_lines(cls, layout, values, offsets, inner, shape):
        structure = structured(layout, offsets, inner, shape)
        require_entries(f"from_{layout}", values, structure.count, ())
        return cls._on(structure, values)

    @classmethod
    def eye(cls, n, m=None, dtype=torch.float64, device=None):
        """The identity, n x n or n x m, in float64 unless a dtype is given."""
        pattern = eye_pattern(n, m)
        return cls._by_slots(pattern, torch.ones(pattern.nnz, dtype=dtype, device=device))

    @classmethod
    def diag(cls, values, offset=0):
        """The square matrix with these values on the diagonal `offset` above the main one, each of a batch.

        >>> lacuna.torch.SparseTensor.diag(torch.tensor([1.0, 2.0]), offset=1).to_dense()
        tensor([[0., 1., 0.],
                [0., 0., 2.],
                [0., 0., 0.]])
        """
        n = values.shape[-1] + abs(offset)
        return cls._by_slots(eye_pattern(n, k=offset), values)

    @classmethod
    def tridiagonal(cls, n, diag=2.0, off_diag=-1.0, dtype=torch.float64, device=None):
        """The symmetric tridiagonal matrix of numbers, or of tensors [..., n] and [..., n - 1], which keep their
        gradients.

        >>> lacuna.torch.SparseTensor.tridiagonal(3).to_dense()
        tensor([[ 2., -1.,  0.],
                [-1.,  2., -1.],
                [ 0., -1.,  2.]], dtype=torch.float64)
        """
        like = next((t for t in (diag, off_diag) if isinstance(t, torch.Tensor)), torch.zeros(0, dtype=dtype))
        device = like.device if device is None else device
        main, off = (_line(t, size, like.dtype, device) for t, size in ((diag, n), (off_diag, max(n - 1, 0))))
        batch = torch.broadcast_shapes(main.shape[:-1], off.shape[:-1])
        values = torch.cat([off.expand(*batch, -1), main.expand(*batch, -1), off.expand(*batch, -1)], -1)
        at = torch.arange(n)
        rows, columns = torch.cat([at[1:], at, at[:-1]]), torch.cat([at[:-1], at, at[1:]])
        return cls(values, rows, columns, (*batch, n, n))

    @classmethod
    def of(cls, given, who="SparseTensor.of"):
        """Of anything that holds a matrix: a SparseTensor (itself, or as one of this class), a torch tensor of any
        layout, a lacuna.Matrix, a SciPy matrix, or (values, row_indices, col_indices, shape)."""
        if isinstance(given, Makers):
            return given if isinstance(given, cls) else cls._on(given.structure, given.values, given.trailing)
        if isinstance(given, torch.Tensor):
            return cls.from_dense(given) if layout_of(given) is torch.strided else cls.from_torch(given)
        if isinstance(given, (tuple, list)) and len(given) == 4:
            return cls(*given)
        if isinstance(given, Matrix):
            return cls._of_arrays(given)
        if hasattr(given, "tocoo"):
            return cls.from_scipy(given)
        raise ArgumentError(
            f"{who}: no matrix can be read from a {type(given).__name__}; a SparseTensor, a torch tensor, a "
            "lacuna.Matrix, a SciPy matrix and (values, row_indices, col_indices, shape) are matrices"
        )

    @classmethod
    def _of_arrays(cls, matrix):
        """Of a lacuna.Matrix: the same numbers in the same order; those of blocks by slots."""
        if matrix.pattern.blocks != (1, 1):
            return cls.from_pattern(matrix.pattern, torch.as_tensor(matrix.slots()))
        return cls._on(Structure(matrix.pattern, matrix.structure.entries), torch.as_tensor(matrix.values))


def _own_entries(pattern):
    """The map of what a pattern was made of; None where that is in the order of slots."""
    if pattern.entries is None:
        raise ArgumentError("from_pattern: this pattern was derived from another and has no order of entries; give its "
                            'values by slots, order="slots"')  # fmt: skip
    return None if pattern.entries.is_identity else pattern.entries


def _line(given, size, dtype, device):
    """A diagonal of a number or of a tensor."""
    if not isinstance(given, torch.Tensor):
        return torch.full((size,), given, dtype=dtype, device=device)
    if given.ndim == 0:
        return given.to(device, dtype).expand(size)
    if given.shape[-1] != size:
        raise ShapeError(f"tridiagonal: a diagonal has {given.shape[-1]} numbers; it must have {size}")
    return given.to(device, dtype)
