# SPDX-License-Identifier: Apache-2.0
"""Torch's own sparse tensors, in and out: COO, CSR, CSC, BSR and BSC, batched too."""

import torch

from ...errors import ArgumentError
from ...pattern import Map, Pattern
from .interned import interned
from .places import BLOCKS, COMPRESSED, Assembled, Places, ValuesOf
from .structure import Structure, moved


class Layouts:
    """from_torch, and to_sparse_... for each layout. Gradients have the layout of their tensor."""

    @classmethod
    def from_torch(cls, tensor):
        """Of a torch sparse tensor of any layout. Matrices of a batch may have different places: what any of them
        stores is stored for all. Blocks (BSR, BSC) stay blocks; dense dimensions of COO and CSR follow M and N."""
        if not isinstance(tensor, torch.Tensor) or tensor.layout is torch.strided:
            raise ArgumentError("from_torch: a sparse torch.Tensor is needed; from_dense takes a dense one")
        if tensor.layout is torch.sparse_coo:
            return cls._from_coo(tensor if tensor.is_coalesced() else tensor.coalesce())
        return cls._from_compressed(tensor)

    from_torch_sparse = from_torch

    @classmethod
    def _from_coo(cls, tensor):
        values, indices = ValuesOf.apply(tensor), tensor._indices()
        count, trailing = tensor.sparse_dim(), tensor.dense_dim()
        if count < 2:
            raise ArgumentError(f"from_torch: a tensor with {count} sparse dimensions is no matrix")
        shape = tensor.shape[count - 2 : count]
        if count == 2:
            return cls._on(interned("coo", *indices, shape), values, trailing)
        return cls._union(indices[:-2], indices[-2:], tensor.shape[: count - 2], shape, values, trailing)

    @classmethod
    def _from_compressed(cls, tensor):
        kind, places = COMPRESSED[tensor.layout], Places.of(tensor)
        offsets, inner = places.indices
        batch, block = offsets.ndim - 1, places.block if tensor.layout in BLOCKS else (1, 1)
        shape = [size // one for size, one in zip(tensor.shape[batch : batch + 2], block)]
        values, trailing = ValuesOf.apply(tensor), tensor.values().ndim - batch - 1
        if batch and _are_alike(offsets, batch) and _are_alike(inner, batch):
            offsets, inner = (t.flatten(0, batch - 1)[0] for t in (offsets, inner))
        if offsets.ndim == 1:
            return cls._on(interned(kind, offsets, inner, shape), values, trailing)
        return cls._lines_union(kind, offsets, inner, shape, values, trailing)

    @classmethod
    def _lines_union(cls, kind, offsets, inner, shape, values, trailing):
        """Of compressed matrices that have places of their own."""
        batch, each = offsets.shape[:-1], inner.shape[-1]
        lines = torch.arange(offsets.shape[-1] - 1, device=inner.device)
        outer = torch.cat([lines.repeat_interleave(one.diff()) for one in offsets.flatten(0, -2)])
        item = torch.arange(batch.numel(), device=inner.device).repeat_interleave(each)
        sides = (outer, inner.flatten()) if kind == "csr" else (inner.flatten(), outer)
        index = torch.stack(torch.unravel_index(item, batch))
        return cls._union(index, sides, batch, shape, values.flatten(0, len(batch)), trailing)

    @classmethod
    def _union(cls, items, sides, batch, shape, values, trailing):
        """Of entries with an index in the batch each: the places of all of them."""
        pattern = Pattern.from_coo(*[side.cpu().numpy() for side in sides], shape)
        item, batch = torch.zeros_like(items[0]), torch.Size(batch)
        for index, size in zip(items, batch):
            item = item * size + index
        target = item.cpu().numpy() * pattern.nnz + pattern.entries.target
        spread = moved(Map(target, batch.numel() * pattern.nnz), values, trailing)
        return cls._on(Structure(pattern), spread.unflatten(0, (*batch, pattern.nnz)), trailing)

    def to_sparse_coo(self):
        """A torch COO tensor in the order of `values`; of a batch, coalesced, with the batch among its indices."""
        whole = self if self.structure.is_merged and not self.is_batched else self.coalesce()
        sides = torch.stack(whole.structure.rows_and_columns(self.device)).long()
        batch, count = whole.batch_shape, whole.structure.count
        if batch:
            item = torch.arange(batch.numel(), device=self.device).repeat_interleave(count)
            sides = torch.cat([torch.stack(torch.unravel_index(item, batch)), sides.repeat(1, batch.numel())])
        places = Places(torch.sparse_coo, (sides,), self.shape, whole.is_coalesced)
        return Assembled.apply(places, whole.values.flatten(0, len(batch)))

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
        offsets, inner, _ = pattern.structure()
        batch, shape = self.batch_shape, self.sparse_shape if dense else self._matrix_shape()
        lines = [torch.tensor(side, device=self.device).expand(*batch, -1).contiguous() for side in (offsets, inner)]
        block = tuple(self.block_shape) if layout in BLOCKS else (1, 1)
        return Assembled.apply(Places(layout, lines, (*batch, *shape, *dense), block=block), values)


def _are_alike(indices, batch):
    """Whether all of a batch are the same."""
    flat = indices.flatten(0, batch - 1)
    return bool((flat == flat[:1]).all())
