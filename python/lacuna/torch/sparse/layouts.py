# SPDX-License-Identifier: Apache-2.0
"""Torch's own sparse tensors, in and out: COO, CSR, CSC, BSR and BSC, batched too."""

import torch

from ...errors import ArgumentError
from ...pattern import Map, Pattern
from .. import _private
from .._levels import innermost, layout_of, outside
from .interned import interned
from .places import BLOCKS, COMPRESSED, Places, ValuesAt, assembled, values_of
from .structure import Structure, moved


class Layouts:
    """from_torch, and to_sparse_... for each layout. Gradients have the layout of their tensor."""

    @classmethod
    def from_torch(cls, tensor):
        """Of a torch sparse tensor of any layout. Matrices of a batch may have different places: what any of them
        stores is stored for all. Blocks (BSR, BSC) stay blocks; dense dimensions of COO and CSR follow M and N."""
        if not isinstance(tensor, torch.Tensor) or layout_of(tensor) is torch.strided:
            raise ArgumentError("from_torch: a sparse torch.Tensor is needed; from_dense takes a dense one")
        if _private.is_wrapped(tensor):
            return cls._from_wrapped(tensor)
        return outside(cls._from_plain, tensor)

    from_torch_sparse = from_torch

    @classmethod
    def _from_plain(cls, tensor):
        if tensor.layout is torch.sparse_coo and not tensor.is_coalesced():
            tensor = tensor.coalesce()
        return _Entries.of(tensor).tensor(cls, values_of(tensor))

    @classmethod
    def _from_wrapped(cls, tensor):
        """Of a COO tensor within torch.func. Those that vmap maps over may have different places, as in a batch."""
        entries, places, batch = outside(_wrapped_entries, cls, tensor)
        values = ValuesAt.apply(places, tensor)
        return entries.tensor(cls, values if batch is None else values.unflatten(0, batch))

    def to_sparse_coo(self):
        """A torch COO tensor in the order of `values`; of a batch, coalesced, with the batch among its indices."""
        whole = self if self.structure.is_merged and not self.is_batched else self.coalesce()
        return assembled(outside(whole._coo_places), whole.values.flatten(0, len(whole.batch_shape)))

    def _coo_places(self):
        sides = torch.stack(self.structure.rows_and_columns(self.device)).long()
        batch = self.batch_shape
        if batch:
            item = torch.arange(batch.numel(), device=self.device).repeat_interleave(self.structure.count)
            sides = torch.cat([torch.stack(torch.unravel_index(item, batch)), sides.repeat(1, batch.numel())])
        return Places(torch.sparse_coo, (sides,), self.shape, self.is_coalesced())

    to_torch_sparse = to_sparse_coo

    def to_sparse_csr(self):
        """A torch CSR tensor; blocks are taken apart, and to_sparse_bsr keeps them."""
        if self.trailing in (0, 2):
            return self._compressed(torch.sparse_csr, *self._single())
        return self._compressed(torch.sparse_csr, self.structure.pattern, self.slots(), self.block_shape)

    def to_sparse_csc(self):
        """A torch CSC tensor; blocks are taken apart, and to_sparse_bsc keeps them."""
        pattern, slots = self._single()
        turned, order = pattern.transpose()
        return self._compressed(torch.sparse_csc, turned, moved(order, slots))

    def to_sparse_bsr(self, blocksize=None):
        """A torch BSR tensor of these blocks, or of others."""
        whole = self._blocked(blocksize)
        return whole._compressed(torch.sparse_bsr, whole.structure.pattern, whole.slots())

    def to_sparse_bsc(self, blocksize=None):
        """A torch BSC tensor of these blocks, or of others."""
        whole = self._blocked(blocksize)
        turned, order = whole.structure.pattern.transpose()
        return whole._compressed(torch.sparse_bsc, turned, moved(order, whole.slots(), 2))

    def _blocked(self, blocksize):
        if self.trailing == 2 and (blocksize is None or tuple(blocksize) == tuple(self.block_shape)):
            return self
        if blocksize is None:
            raise ArgumentError("to_sparse_bsr: entries are single numbers; say which blocks, blocksize=(br, bc)")
        return self.flatten_blocks().unflatten_blocks(tuple(blocksize))

    def _compressed(self, layout, pattern, values, dense=()):
        """The tensor of a pattern's lines."""
        return assembled(outside(self._compressed_places, layout, pattern, dense), values)

    def _compressed_places(self, layout, pattern, dense):
        offsets, inner, _ = pattern.structure()
        batch, shape = self.batch_shape, self.sparse_shape if dense else self._matrix_shape()
        lines = [torch.tensor(side, device=self.device).expand(*batch, -1).contiguous() for side in (offsets, inner)]
        block = tuple(self.block_shape) if layout in BLOCKS else (1, 1)
        return Places(layout, lines, (*batch, *shape, *dense), block=block)


class _Entries:
    """Where the values of a torch sparse tensor belong: on a structure, along the map `spread` where matrices of a
    batch have places of their own."""

    def __init__(self, structure, trailing, batch=(), spread=None):
        self.structure, self.trailing, self.batch, self.spread = structure, trailing, batch, spread

    @classmethod
    def of(cls, tensor):
        """Of a tensor that is coalesced, or compressed."""
        return cls._of_coo(tensor) if tensor.layout is torch.sparse_coo else cls._of_compressed(tensor)

    def tensor(self, made, values):
        """The SparseTensor, of the class `made`."""
        if self.spread is not None:
            flat = values.reshape(-1, *values.shape[values.ndim - self.trailing :])
            values = moved(self.spread, flat, self.trailing).unflatten(0, (*self.batch, self.structure.count))
        return made._on(self.structure, values, self.trailing)

    @classmethod
    def _of_coo(cls, tensor):
        indices, count, trailing = tensor._indices(), tensor.sparse_dim(), tensor.dense_dim()
        if count < 2:
            raise ArgumentError(f"from_torch: a tensor with {count} sparse dimensions is no matrix")
        shape = tensor.shape[count - 2 : count]
        if count == 2:
            return cls(interned("coo", *indices, shape), trailing)
        return cls._union(indices[:-2], indices[-2:], tensor.shape[: count - 2], shape, trailing)

    @classmethod
    def _of_compressed(cls, tensor):
        kind, places = COMPRESSED[tensor.layout], Places.of(tensor)
        offsets, inner = places.indices
        batch, block = offsets.ndim - 1, places.block if tensor.layout in BLOCKS else (1, 1)
        shape = [size // one for size, one in zip(tensor.shape[batch : batch + 2], block)]
        trailing = tensor.values().ndim - batch - 1
        if batch and _are_alike(offsets, batch) and _are_alike(inner, batch):
            offsets, inner = (t.flatten(0, batch - 1)[0] for t in (offsets, inner))
        if offsets.ndim == 1:
            return cls(interned(kind, offsets, inner, shape), trailing)
        return cls._lines_union(kind, offsets, inner, shape, trailing)

    @classmethod
    def _lines_union(cls, kind, offsets, inner, shape, trailing):
        """Of compressed matrices that have places of their own."""
        batch, each = offsets.shape[:-1], inner.shape[-1]
        lines = torch.arange(offsets.shape[-1] - 1, device=inner.device)
        outer = torch.cat([lines.repeat_interleave(one.diff()) for one in offsets.flatten(0, -2)])
        item = torch.arange(batch.numel(), device=inner.device).repeat_interleave(each)
        sides = (outer, inner.flatten()) if kind == "csr" else (inner.flatten(), outer)
        return cls._union(torch.stack(torch.unravel_index(item, batch)), sides, batch, shape, trailing)

    @classmethod
    def _union(cls, items, sides, batch, shape, trailing):
        """Of entries with an index in the batch each: the places of all of them."""
        pattern = Pattern.from_coo(*[side.cpu().numpy() for side in sides], shape)
        item, batch = torch.zeros_like(items[0]), torch.Size(batch)
        for index, size in zip(items, batch):
            item = item * size + index
        target = item.cpu().numpy() * pattern.nnz + pattern.entries.target
        return cls(Structure(pattern), trailing, batch, Map(target, batch.numel() * pattern.nnz))


def _wrapped_entries(cls, tensor):
    """(entries, places of the values, batch and entries of the values where they are of a batch) of a COO tensor that
    transforms have wrapped, where they are not there."""
    inside, mapped = innermost(tensor)
    inside = inside.detach().coalesce()
    entries = _Entries.of(inside)
    if not mapped:
        return entries, Places.of(inside), None
    whole = entries.tensor(cls, inside._values())
    one = whole.with_values(whole.values.flatten(0, mapped - 1)[0])
    places, batch = one._coo_places(), (*one.batch_shape, one.structure.count)
    return _Entries(whole.structure, whole.trailing), places, batch


def _are_alike(indices, batch):
    """Whether all of a batch are the same."""
    flat = indices.flatten(0, batch - 1)
    return bool((flat == flat[:1]).all())
