# SPDX-License-Identifier: Apache-2.0
"""Torch's sparse layouts as values and places, which are each other's derivative to every order:

    values -- assembled --> sparse tensor -- values_of --> values

Torch's own constructors and values() are differentiable once: a gradient that is to be differentiated again, and ends
in one of them, is said. A gradient has the layout and places of its tensor.

Transforms of torch.func take a COO tensor in grad and vmap, at any depth, and no other layout; none of torch's sparse
tensors has a tangent. A tensor that no transform was given, which a function closes over, is one of any layout.
"""

import warnings

import torch

from ...errors import LacunaWarning, UnsupportedError
from .. import _private
from .._levels import layout_of, outside

COMPRESSED = {torch.sparse_csr: "csr", torch.sparse_csc: "csc", torch.sparse_bsr: "csr", torch.sparse_bsc: "csc"}
BLOCKS = (torch.sparse_bsr, torch.sparse_bsc)


class Places:
    """Everything of a torch sparse tensor but its values."""

    def __init__(self, layout, indices, size, is_coalesced=True, block=(1, 1)):
        self.layout, self.indices, self.size, self.is_coalesced = layout, indices, torch.Size(size), is_coalesced
        self.block = block

    @classmethod
    def of(cls, tensor):
        if tensor.layout is torch.sparse_coo:
            return cls(tensor.layout, (tensor._indices(),), tensor.shape, tensor.is_coalesced())
        names = ("crow", "col") if COMPRESSED[tensor.layout] == "csr" else ("ccol", "row")
        indices = [getattr(tensor, f"{name}_indices")() for name in names]
        return cls(tensor.layout, indices, tensor.shape, block=tensor.values().shape[-2:])

    def assemble(self, values):
        if self.layout is torch.sparse_coo:
            return torch.sparse_coo_tensor(
                *self.indices, values, self.size, check_invariants=False, is_coalesced=self.is_coalesced
            )
        return torch.sparse_compressed_tensor(
            *self.indices, values, self.size, layout=self.layout, check_invariants=False
        )

    def are_those_of(self, tensor):
        if tensor.layout is not self.layout or tensor.shape != self.size:
            return False
        pairs = zip(self.indices, Places.of(tensor).indices)
        return all([a.shape == b.shape and torch.equal(a, b) for a, b in pairs])

    def mapped(self, count):
        """These places in each of so many tensors, whose dimension is first: what vmap maps over."""
        (sides,) = self.indices
        item = torch.arange(count, device=sides.device).repeat_interleave(sides.shape[1])
        together = torch.cat([item[None], sides.repeat(1, count)])
        return Places(self.layout, (together,), (count, *self.size), self.is_coalesced)

    def sampled(self, tensor):
        """The numbers of any tensor of this size at these places, in the order of values."""
        if layout_of(tensor) is not torch.strided:
            return ValuesAt.apply(self, tensor)
        return tensor[tuple(self.indices[0])] if self.layout is torch.sparse_coo else self._compressed(tensor)

    def read(self, tensor):
        """The same of a sparse tensor, outside of any graph: its own values where these are its places."""
        if self.are_those_of(tensor):
            return _stored(tensor).detach()
        if self.layout is tensor.layout is torch.sparse_coo and tensor.sparse_dim() == len(self.indices[0]):
            return self._found(tensor.coalesce())
        return self.sampled(tensor.to_dense())

    def _found(self, tensor):
        """Looked up among the sorted places of a COO tensor: zero where it stores nothing."""
        sides, values = tensor._indices(), tensor._values()
        if not len(values):
            return values.new_zeros(self.indices[0].shape[1], *values.shape[1:])
        have, want = (_in_line(side, self.size) for side in (sides, self.indices[0]))
        at = torch.searchsorted(have, want).clamp(max=len(have) - 1)
        is_stored = (have[at] == want).reshape(-1, *[1] * (values.ndim - 1))
        return torch.where(is_stored, values[at], torch.zeros_like(values[:1]))

    def _compressed(self, dense):
        """The same of compressed lines, which may be of blocks."""
        offsets, inner = self.indices
        batch, first = offsets.ndim - 1, 1 if COMPRESSED[self.layout] == "csc" else 0
        lines = offsets.shape[-1] - 1
        if self.layout in BLOCKS:
            dense = _in_blocks(dense, batch, self.block)
        items = offsets.flatten(0, -2) if batch else offsets[None]
        outer = torch.stack([_expanded(item, lines) for item in items]).reshape(inner.shape)
        lead = [torch.arange(n, device=inner.device).reshape([-1] + [1] * (batch - d))
                for d, n in enumerate(offsets.shape[:-1])]  # fmt: skip
        return dense[(*lead, *((inner, outer) if first else (outer, inner)))]


def _in_blocks(dense, batch, block):
    """[*batch, M br, N bc] as [*batch, M, N, br, bc]."""
    br, bc = block
    return dense.unflatten(batch + 1, (-1, bc)).unflatten(batch, (-1, br)).transpose(batch + 1, batch + 2)


def _expanded(offsets, lines):
    return torch.arange(lines, device=offsets.device).repeat_interleave(offsets.diff())


def _in_line(sides, size):
    """Each place as one number, in the order of rows."""
    place = torch.zeros_like(sides[0])
    for side, extent in zip(sides, size):
        place = place * extent + side
    return place


def _stored(tensor):
    return tensor._values() if tensor.layout is torch.sparse_coo else tensor.values()


def _is_constructed(tensor):
    """Whether a tensor comes from one of torch's constructors, by way of coalesce and conversions."""
    node = tensor.grad_fn
    while node is not None and node.name().startswith(("Coalesce", "ToSparse")):
        node = node.next_functions[0][0]
    return node is not None and node.name().startswith(("SparseCooTensor", "SparseCompressedTensor"))


def values_of(tensor):
    """The values of a sparse tensor that no transform of torch.func has wrapped, differentiable in the tensor."""
    return outside(lambda: ValuesAt.apply(Places.of(tensor), tensor))


def assembled(places, values):
    """The sparse tensor of values at places, differentiable in the values."""
    if not _private.is_wrapped(values):
        return outside(Assembled.apply, places, values)
    if places.layout is not torch.sparse_coo:
        raise UnsupportedError(
            f"SparseTensor: transforms of torch.func have no tensors of layout {places.layout}; stay with the "
            "SparseTensor or its values within the transform and convert what it returns, or take to_sparse_coo"
        )
    return Assembled.apply(places, values)


class ValuesAt(torch.autograd.Function):
    """The numbers of a sparse tensor at places."""

    @staticmethod
    def forward(places, tensor):
        return places.read(tensor)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.places, tensor = inputs
        ctx.is_last = _is_constructed(tensor)

    @staticmethod
    def backward(ctx, bar):
        if ctx.is_last and torch.is_grad_enabled() and bar.requires_grad:
            warnings.warn(
                "SparseTensor: torch's constructors of sparse tensors are differentiable once, and this gradient is "
                "made to be differentiated again; make the tensor by lacuna.torch.SparseTensor(values, rows, columns, "
                "shape), and .to_sparse_coo() where torch's is needed",
                LacunaWarning, stacklevel=2,
            )  # fmt: skip
        return None, assembled(ctx.places, bar)

    @staticmethod
    def vmap(info, in_dims, places, tensor):
        whole = places.mapped(info.batch_size).sampled(tensor.movedim(in_dims[1], 0))
        return whole.unflatten(0, (info.batch_size, -1)), 0


class Assembled(torch.autograd.Function):
    """The sparse tensor of values at places."""

    @staticmethod
    def forward(places, values):
        return places.assemble(values.detach())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.places, _ = inputs

    @staticmethod
    def backward(ctx, bar):
        return None, ctx.places.sampled(bar)

    @staticmethod
    def jvp(ctx, _places, _dot):
        raise UnsupportedError(
            "SparseTensor: a sparse tensor of torch has no tangent; in forward mode stay with the SparseTensor, which "
            "has the same products and solves, or with its values"
        )

    @staticmethod
    def vmap(info, in_dims, places, values):
        return assembled(places.mapped(info.batch_size), values.movedim(in_dims[1], 0).flatten(0, 1)), 0
