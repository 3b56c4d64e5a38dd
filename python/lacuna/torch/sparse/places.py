# SPDX-License-Identifier: Apache-2.0
"""Torch's sparse layouts as values and places, which are each other's derivative to every order:

    values -- Assembled --> sparse tensor -- ValuesOf --> values

Torch's own constructors and values() are differentiable once. A gradient has the layout and places of its tensor.
"""

import torch

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

    def sampled(self, tensor):
        """The numbers of any tensor of this size at these places, in the order of values."""
        if self.are_those_of(tensor):
            return ValuesOf.apply(tensor)
        if tensor.layout is not torch.strided:
            tensor = tensor.to_dense()
        if self.layout is torch.sparse_coo:
            return tensor[tuple(self.indices[0])]
        return self._compressed(tensor)

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


class ValuesOf(torch.autograd.Function):
    """The values of a sparse tensor."""

    @staticmethod
    def forward(ctx, tensor):
        ctx.places = Places.of(tensor)
        values = tensor._values() if tensor.layout is torch.sparse_coo else tensor.values()
        return values.detach()

    @staticmethod
    def backward(ctx, bar):
        return Assembled.apply(ctx.places, bar)


class Assembled(torch.autograd.Function):
    """The sparse tensor of values at places."""

    @staticmethod
    def forward(ctx, places, values):
        ctx.places = places
        return places.assemble(values.detach())

    @staticmethod
    def backward(ctx, bar):
        return None, ctx.places.sampled(bar)
