# SPDX-License-Identifier: Apache-2.0
"""Structures of sparse tensors, which keep the indices of whoever gave them on their devices.

Structures of the same indices are one object (_interned.py), so that what is made of a pattern, analyses and plans, is
made once.
"""

import numpy as np
import torch

from ..._interned import csr_kind
from ..._structure import Structure as Entries
from ..._structure import made_of  # noqa: F401
from ...errors import ArgumentError, ShapeError
from ...pattern import Pattern
from .. import remap
from .._levels import outside
from .._tensors import CODES

_MAKERS = {"coo": Pattern.from_coo, "csr": Pattern.from_csr, "csc": Pattern.from_csc}


class Structure(Entries):
    """A pattern, the map from the caller's entries to its slots (None: they are the slots), and the indices as given.

    `frozen` begins with the layout of the indices: "coo" with rows and columns, "csr" with offsets and columns, "csc"
    with offsets and rows; `sides` are these two, None where the pattern itself has them.
    """

    def __init__(self, pattern, entries=None, frozen=None, sides=None, origin=None):
        super().__init__(pattern, entries, origin)
        self.frozen, self.sides, self.kind, self.bytes = frozen, sides, None, 0
        self.coordinates = {}

    @classmethod
    def made(cls, layout, first, second, shape):
        """From indices, which are checked and copied."""
        frozen, sides = cls.described(layout, first, second, shape)
        on_host = sides if first.is_cuda and layout != "csc" else [side.numpy(force=True) for side in sides]
        pattern = _MAKERS[layout](*on_host, shape)
        made = cls(pattern, None if pattern.entries.is_identity else pattern.entries, frozen)
        made.bytes = sum([side.numel() * side.element_size() for side in sides])
        made.kind = None if not first.is_cpu else csr_kind(layout, [side.dtype for side in sides], pattern)
        made.sides = None if made.kind is not None else [side.clone() for side in sides]
        return made

    def slots(self, values, trailing=0):
        """Values [*batch, entries, *trailing] by slots."""
        return values if self.entries is None else moved(self.entries, values, trailing)

    @staticmethod
    def described(layout, first, second, shape):
        """(what is frozen of a structure, its indices), as is_of takes them."""
        sides = first, second
        return (layout, shape, *[(side.dtype, side.device, side.numel()) for side in sides]), sides

    def is_of(self, frozen, indices):
        """Whether it was made of just these indices."""
        if self.frozen is None or self.frozen != frozen:
            return False
        if self.sides is None:
            held = [side.contiguous() for side in indices]
            return self.pattern._same_csr(*[side.data_ptr() for side in held], self.kind)
        return all([torch.equal(a, b) for a, b in zip(self.sides, indices)])

    def rows_and_columns(self, device):
        """The row and the column of each entry as tensors on a device, -1 where an entry is dropped."""
        device = torch.device(device)
        found = self.coordinates.get(device)
        if found is None:
            found = self.coordinates[device] = outside(lambda: tuple([t.to(device) for t in self._coordinates()]))
        return found

    def _coordinates(self):
        if self.origin is not None:
            return self.origin._coordinates()[::-1]
        if self.frozen is not None and self.frozen[0] == "coo":
            return self.sides
        return self._found()

    def _found(self):
        """Rows and columns as the pattern has them."""
        _, columns, rows = self.pattern.structure()
        if self.entries is not None:
            target = self.entries.target
            rows, columns = (np.where(target < 0, -1, side[target]) for side in (rows, columns))
        return [torch.from_numpy(np.array(side)) for side in (rows, columns)]


def moved(map_, values, trailing=0, op="N"):
    """Values [..., entries, *trailing] along a map, in their own dtype, which may be one that C does not have."""
    if values.dtype in CODES:
        return remap(map_, values, op, trailing)
    if values.dtype == torch.int64:  # C's widest dtype holds its halves exactly, and not the whole
        halves = values >> 32, values & 0xFFFFFFFF
        high, low = (remap(map_, half.double(), op, trailing).long() for half in halves)
        return (high << 32) + low
    return remap(map_, values.to(_wider(values.dtype)), op, trailing).to(values.dtype)


def _wider(dtype):
    """A dtype of C that holds every number of another."""
    if dtype.is_complex:
        return torch.complex64
    return torch.float32 if dtype.is_floating_point else torch.float64


def indices(given, what):
    """One-dimensional integers as a tensor, the caller's own where they are one."""
    if not isinstance(given, torch.Tensor):
        given = torch.from_numpy(np.ascontiguousarray(given))
    if given.dtype.is_floating_point or given.is_complex() or given.dtype == torch.bool:
        if given.numel():
            raise ArgumentError(f"SparseTensor: {what} must be integers, got {given.dtype}")
        given = given.long()
    if given.ndim != 1:
        raise ShapeError(f"SparseTensor: {what} must be one-dimensional, got shape {tuple(given.shape)}")
    return given if given.dtype in (torch.int32, torch.int64) else given.long()


def require_entries(who, values, count, block):
    """Refuse values that do not end with the entries and their block."""
    expected = (count, *block)
    if tuple(values.shape[max(values.ndim - len(expected), 0) :]) != expected:
        raise ShapeError(f"{who}: values have shape {tuple(values.shape)}; they must end with {expected}")
