# SPDX-License-Identifier: Apache-2.0
"""The class: how a sparse tensor is made, and what it says of itself. What it does is in the other files."""

import torch

from ...errors import ArgumentError, ShapeError, UnsupportedError
from .._levels import innermost
from .._matrices import Matrix
from .arithmetic import Arithmetic
from .conversions import Conversions
from .dispatched import Dispatched
from .indexing import Indexing
from .layouts import Layouts
from .makers import Makers
from .moves import Moves
from .predicates import Predicates
from .products import Products
from .reductions import Reductions
from .shapes import Shapes, first_sparse
from .solves import Solves
from .stored import Stored
from .structure import Structure, made_of, moved, require_entries
from .traced import structured

_SHOWN = 6  # entries in a repr


class SparseTensor(
    Makers, Moves, Arithmetic, Products, Shapes, Indexing, Reductions, Solves, Predicates, Layouts, Conversions, Stored,
    Dispatched, Matrix, public_name="lacuna.torch.SparseTensor",
):  # fmt: skip
    """A sparse matrix, or a batch of them on one pattern, whose values are a tensor of the caller's.

    SparseTensor(values, row_indices, col_indices, shape): values [*batch, entries, *block] and shape [*batch, M, N,
    *block]. `values` is the caller's own tensor in the caller's order: it is not copied, a later requires_grad_()
    reaches it, and its .grad is in the same order. Entries may be in any order; those of one place are summed, and a
    row or column of -1 drops its entry. Indices may lie on any device; tensors of the same indices share a structure.

    sparse_dim says where M and N stand in shape, by default last. What follows them is dense: with two more
    dimensions (br, bc) every entry is a block, M and N count blocks, and the matrix has M br rows and N bc columns.
    Other numbers of trailing dimensions have no products and solves.

    The rank says what a right-hand side is: one vector for each matrix where it has one dimension more than the batch,
    columns where it has two.

    >>> values = torch.tensor([2.0, 1.0, 4.0], requires_grad=True)
    >>> A = lacuna.torch.SparseTensor(values, torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]), (2, 2))
    >>> A
    SparseTensor(shape=(2, 2), nnz=3, dtype=torch.float32, device=cpu, requires_grad=True,
      (0, 0): 2, (0, 1): 1, (1, 1): 4)
    >>> (A @ torch.tensor([1.0, 10.0])).detach()
    tensor([12., 40.])
    >>> A.solve(torch.tensor([4.0, 4.0])).sum().backward()
    >>> values.grad
    tensor([-0.7500, -0.5000, -0.1250])
    """

    def __init__(self, values, row_indices, col_indices, shape, sparse_dim=(-2, -1)):
        if shape is None or isinstance(shape, int):
            raise ArgumentError(f"SparseTensor: shape is {shape!r}; it must be (*batch, M, N)")
        shape = tuple(shape)
        at = first_sparse(shape, sparse_dim)
        self.structure = structured("coo", row_indices, col_indices, shape[at : at + 2])
        self.values, self.trailing = _tensor(values), len(shape) - at - 2
        self._check(shape)

    @classmethod
    def _on(cls, structure, values, trailing=0):
        """Of a structure and values that go with it."""
        made = object.__new__(cls)
        made.structure, made.values, made.trailing = structure, values, trailing
        return made

    def with_values(self, values):
        """The same entries with other values, [*batch, entries, *block] for any batch.

        >>> A = lacuna.torch.SparseTensor.tridiagonal(2)
        >>> A.with_values(torch.stack([A.values, 2 * A.values])).det().round(decimals=6)
        tensor([ 3., 12.], dtype=torch.float64)
        """
        require_entries("with_values", _tensor(values), self.structure.count, tuple(self.block_shape))
        return self._with(values)

    def _with(self, values):
        return self._on(self.structure, values, self.trailing)

    def _check(self, shape):
        """Refuse values that do not go with a shape."""
        at = len(shape) - 2 - self.trailing
        expected = (*shape[: max(at, 0)], self.structure.count, *shape[at + 2 :])
        if tuple(self.values.shape) != expected:
            raise ShapeError(
                f"SparseTensor: values have shape {tuple(self.values.shape)}; {self.structure.count} entries and the "
                f"shape {tuple(shape)} need {expected}{_hint(self.trailing)}"
            )

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    def sparse_shape(self):
        """(M, N), in blocks if it has any."""
        return torch.Size(self.structure.pattern.shape)

    @property
    def batch_shape(self):
        """The dimensions before M and N, () where there is one matrix."""
        return self.values.shape[: self.values.ndim - 1 - self.trailing]

    @property
    def block_shape(self):
        """The dimensions that follow M and N, () where there are none."""
        return self.values.shape[self.values.ndim - self.trailing :]

    @property
    def shape(self):
        """[*batch, M, N, *block]."""
        return torch.Size((*self.batch_shape, *self.sparse_shape, *self.block_shape))

    @property
    def is_sparse(self):
        """True, as torch's sparse tensors say it."""
        return True

    def numel(self):
        """The numbers of the shape, stored or not; `nnz` are those that are stored."""
        return self.shape.numel()

    def size(self, dim=None):
        """The shape, or one of its sizes."""
        return self.shape if dim is None else self.shape[dim]

    @property
    def ndim(self):
        """How many dimensions the shape has."""
        return self.values.ndim + 1

    def dim(self):
        """How many dimensions the shape has."""
        return self.ndim

    @property
    def sparse_dim(self):
        """The places of M and N in shape."""
        return len(self.batch_shape), len(self.batch_shape) + 1

    @property
    def nnz(self):
        """How many places are stored; entries of one place count once."""
        return self.structure.pattern.nnz

    @property
    def row_indices(self):
        """The row of each entry of `values`, on their device, as a copy."""
        return self.structure.rows_and_columns(self.values.device)[0].clone()

    @property
    def col_indices(self):
        """The column of each entry of `values`, on their device, as a copy."""
        return self.structure.rows_and_columns(self.values.device)[1].clone()

    @property
    def pattern(self):
        """The lacuna.Pattern, which the functions of lacuna.torch take together with slots()."""
        return self._matrix_pattern()

    @property
    def batch_size(self):
        """The number of matrices."""
        return self.batch_shape.numel()

    @property
    def is_batched(self):
        """Whether it is a batch of matrices."""
        return len(self.batch_shape) > 0

    @property
    def is_block(self):
        """Whether entries have dimensions of their own."""
        return self.trailing > 0

    @property
    def is_square(self):
        """Whether the matrix has as many rows as columns."""
        rows, columns = self._matrix_shape()
        return rows == columns

    # -- the matrix -----------------------------------------------------------------------------------------------

    def slots(self):
        """The values by slots of the pattern, [*batch, nnz, *block]: rows in order, columns ascending, each place
        once. Made anew in each call, and differentiable in `values`."""
        return self.structure.slots(self.values, self.trailing)

    def _require_matrix(self):
        if self.trailing not in (0, 2):
            raise UnsupportedError(
                f"SparseTensor: entries have {self.trailing} dense dimensions; a matrix has single numbers or blocks "
                "of two: give a batch its dimensions in front"
            )

    def _matrix_shape(self):
        """The rows and columns of the matrix in single numbers."""
        rows, columns = self.structure.pattern.shape
        self._require_matrix()
        br, bc = self.block_shape or (1, 1)
        return rows * br, columns * bc

    def _matrix_pattern(self):
        self._require_matrix()
        pattern = self.structure.pattern
        if not self.trailing or self.block_shape == (1, 1):
            return pattern
        return made_of("spread", pattern, arguments=tuple(self.block_shape))[0]

    def _matrix(self):
        """(pattern, values by slots), with blocks where it has them: what spmm, sddmm and solve take."""
        pattern, slots = self._matrix_pattern(), self.slots()
        return pattern, slots[..., 0, 0] if self.trailing and pattern.blocks == (1, 1) else slots

    def _single(self):
        """(pattern, values by slots) of single numbers."""
        pattern, slots = self._matrix()
        if pattern.blocks == (1, 1):
            return pattern, slots
        pattern, order = made_of("scalar", pattern)
        return pattern, moved(order, slots.flatten(-3))

    @classmethod
    def _by_slots(cls, pattern, slots):
        """A tensor of single numbers on a pattern."""
        return cls._on(Structure(pattern), slots)

    def __repr__(self):
        text = f"SparseTensor(shape={tuple(self.shape)}, nnz={self.nnz}, dtype={self.dtype}, device={self.device}"
        extra = ", requires_grad=True" if self.requires_grad else ""
        return f"{text}{extra},\n  {self._shown()})"

    def _shown(self):
        """The first entries of the first matrix."""
        rows, columns = (side[:_SHOWN].tolist() for side in self.structure.rows_and_columns("cpu"))
        values, _ = innermost(self.values.detach())
        while values.ndim > 1 + self.trailing:
            values = values[0] if values.shape[0] else values.new_zeros(values.shape[1:])
        numbers = [str(value.tolist()) if value.ndim else f"{value.item():.6g}" for value in values[:_SHOWN]]
        entries = [f"({row}, {column}): {number}" for row, column, number in zip(rows, columns, numbers)]
        return ", ".join([*entries, "..."] if self.structure.count > _SHOWN else entries) or "no entries"


def _tensor(values):
    if not isinstance(values, torch.Tensor):
        raise ArgumentError(f"SparseTensor: values are a {type(values).__name__}; they must be a torch.Tensor")
    return values


def _hint(trailing):
    return "" if trailing else "; where entries are blocks, say so with sparse_dim, (0, 1) for [M, N, br, bc]"
