# SPDX-License-Identifier: Apache-2.0
"""Other shapes of the same entries: transposes, conjugates, triangles, blocks, batches."""

import torch

from ...errors import ArgumentError, ShapeError
from .structure import Structure, made_of, moved


class Shapes:
    """What has the entries of a SparseTensor, or some of them, in other places."""

    def transposed(self):
        """The transpose of each matrix, entries in their order; the values are the same tensor where there are no
        blocks."""
        values = self.values.mT if self.trailing == 2 else self.values
        return self._on(self.structure.transposed(), values, self.trailing)

    @property
    def T(self):
        """transposed()."""
        return self.transposed()

    mT = T

    @property
    def H(self):
        """The conjugate transpose of each matrix."""
        return self.T.conj()

    mH = H

    def t(self):
        """The transpose."""
        return self.T

    def transpose(self, dim0=-2, dim1=-1):
        """The transpose; the two dimensions must be those of the matrix."""
        dims = self._dims("transpose", (dim0, dim1))
        if dims.others or not dims.rows or not dims.columns:
            raise ShapeError(f"transpose: dimensions {(dim0, dim1)}; those of the matrix are {self.sparse_dim}")
        return self.T

    def conj(self):
        """The conjugate, differentiable."""
        return self._with(self.values.conj()) if self.is_complex() else self

    def coalesce(self):
        """The same matrix with values by slots: rows in order, columns ascending, each place once."""
        return self if self.structure.entries is None else self._on(
            self.structure.by_slots(), self.slots(), self.trailing
        )

    def is_coalesced(self):
        """Whether entries are in the order of slots, each place once."""
        return self.structure.entries is None

    def merged(self):
        """Itself where each place has one entry; else coalesce()."""
        return self if self.structure.is_merged else self.coalesce()

    def _moved_to(self, derived):
        """The tensor of (pattern, the map that takes slots there)."""
        pattern, map_ = derived
        return self._on(Structure(pattern), moved(map_, self.slots(), self.trailing), self.trailing)

    def tril(self, k=0):
        """The entries on and below the k-th diagonal, of blocks where it has them."""
        return self._moved_to(made_of("tril", self.structure.pattern, arguments=(k,)))

    def triu(self, k=0):
        """The entries on and above the k-th diagonal, of blocks where it has them."""
        return self._moved_to(made_of("triu", self.structure.pattern, arguments=(k,)))

    def diagonal(self):
        """The main diagonal as a dense tensor [*batch, min(rows, columns)], 0 where it is not stored."""
        pattern, slots = self._single()
        (places,) = made_of("diagonal", pattern)
        return moved(places, slots)

    diag_part = diagonal

    def flatten_blocks(self):
        """The matrix of single numbers, [*batch, M br, N bc]."""
        return self._by_slots(*self._single())

    def unflatten_blocks(self, block_shape):
        """The matrix of blocks (br, bc), [*batch, M / br, N / bc, br, bc]: every block that holds an entry is stored
        whole."""
        if self.trailing:
            raise ArgumentError("unflatten_blocks: the entries are blocks already; flatten_blocks() takes them apart")
        pattern, map_ = made_of("blocked", self.structure.pattern, arguments=tuple(block_shape))
        values = moved(map_, self.slots()).unflatten(-1, (pattern.nnz, *block_shape))
        return self.from_pattern(pattern, values if pattern.blocks != (1, 1) else values[..., 0, 0])

    def expand(self, *batch_shape):
        """The same matrices for a larger batch, as torch.Tensor.expand, without copying values."""
        batch = batch_shape[0] if len(batch_shape) == 1 and not isinstance(batch_shape[0], int) else batch_shape
        core = self.values.shape[self.values.ndim - 1 - self.trailing :]
        return self._with(self.values.expand(*batch, *core))

    def unsqueeze(self, dim=0):
        """One more dimension of the batch."""
        return self._with(self.values.unsqueeze(self._batch_dim("unsqueeze", dim, len(self.batch_shape) + 1)))

    def squeeze(self, dim=0):
        """Without a dimension of the batch that has the size 1."""
        return self._with(self.values.squeeze(self._batch_dim("squeeze", dim, len(self.batch_shape))))

    def _batch_dim(self, who, dim, count):
        at = dim + count if dim < 0 else dim
        if not 0 <= at < count:
            raise ShapeError(f"{who}: dimension {dim}; the batch has {count}, and those of the matrix stay")
        return at


def stack(tensors, dim=0):
    """Sparse tensors with the same entries as a batch of them; by slots where the entries come in different orders."""
    _require_sparse("stack", tensors)
    first = tensors[0]
    if dim != 0:
        raise ShapeError(f"stack: dim is {dim}; sparse tensors are stacked along a new first dimension, 0")
    if all([first.structure.is_alike(other.structure) for other in tensors]):
        return first._with(torch.stack([tensor.values for tensor in tensors]))
    if are_on_one_pattern(tensors):
        return first.coalesce()._with(torch.stack([tensor.slots() for tensor in tensors]))
    raise ArgumentError("stack: the tensors have different entries; SparseTensorList takes those")


def cat(tensors, dim=0):
    """Matrices one above the other, dim -2, or side by side, dim -1, differentiable in the values of all."""
    _require_sparse("cat", tensors)
    first = tensors[0]
    at = dim - first.ndim if dim >= 0 else dim
    if at not in (-2, -1) or any([tensor.is_block for tensor in tensors]):
        raise ShapeError(f"cat: dim is {dim}; sparse matrices without blocks are joined along their rows or columns, "
                         "dims -2 and -1")  # fmt: skip
    parts = [tensor._matrix() for tensor in tensors]
    pattern, places = made_of("vstack" if at == -2 else "hstack", *[pattern for pattern, _ in parts])
    batch = torch.broadcast_shapes(*[tensor.batch_shape for tensor in tensors])
    slots = torch.cat([slots.expand(*batch, slots.shape[-1]) for _, slots in parts], -1)
    return first._by_slots(pattern, moved(places, slots))


def _require_sparse(who, tensors):
    if len(tensors) == 0:
        raise ArgumentError(f"{who}: there are no tensors")
    strange = [type(tensor).__name__ for tensor in tensors if not isinstance(tensor, Shapes)]
    if strange:
        raise ArgumentError(f"{who}: of sparse and other tensors; make a SparseTensor of each {strange[0]}")


def are_on_one_pattern(tensors):
    """Whether the same places are stored in all of them."""
    first = tensors[0].structure.pattern
    return all([first.same(other.structure.pattern) for other in tensors])


def first_sparse(shape, sparse_dim):
    """The place of M in a shape."""
    count = len(shape)
    try:
        first, second = (dim + count if dim < 0 else dim for dim in sparse_dim)
    except (TypeError, ValueError):
        raise ArgumentError(f"SparseTensor: sparse_dim is {sparse_dim!r}; it must be two dimensions") from None
    if count < 2 or not 0 <= first < count or second != first + 1:
        raise ShapeError(
            f"SparseTensor: sparse_dim {tuple(sparse_dim)} of the shape {tuple(shape)}; it must name two dimensions "
            "that follow each other"
        )
    return first
