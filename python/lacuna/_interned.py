# SPDX-License-Identifier: Apache-2.0
"""Patterns interned by the content of their indices: a loop that makes a matrix anew in each step analyses once.

Indices belong to the caller, who may write to them: they are known again by their numbers and not by their identity.
Where they lay before, or a few of their numbers, say which record may be theirs; then they are compared in full, at the
speed of memory, with a copy that the record has, or with its pattern, where that has them as they came. The table holds
the last few records, and what their patterns keep (analyses, plans, factors), until others take their place. A record
that something else holds too is found for as long as it lives.

    Table  --  NumPy's arrays (here): a record is a pattern, which the table alone holds
           --  torch's tensors (torch/sparse/interned.py): a record is a Structure, which sparse tensors hold
"""

import threading
import weakref
from collections import OrderedDict

import numpy as np

from ._core import ffi, lib, survive_fork
from ._indices import _ready
from .errors import ArgumentError

_MAX_BYTES = 1 << 28  # of the indices, all together; the last record is held whatever its size
_MAX_ALIKE = 4  # records whose samples agree
_SAMPLES, _MAX_ADDRESSES = 8, 1024
INDEX_KINDS = {"int32": lib.LAC_I32, "int64": lib.LAC_I64}
INDEX_KINDS.update({np.dtype(name): kind for name, kind in INDEX_KINDS.items()})
_ADDRESS = ffi.typeof("uintptr_t")


class Table:
    """Records by what is `frozen` of them and by arrays of indices.

    A record has is_of(frozen, arrays), which compares in full, and `bytes`, the size of its indices.
    """

    def __init__(self, limit=16, max_bytes=_MAX_BYTES):
        self.limit, self.max_bytes = limit, max_bytes
        self._lock = survive_fork(threading.RLock())
        self._by_sample = weakref.WeakValueDictionary()  # (frozen, samples, place) -> record
        self._by_address = weakref.WeakValueDictionary()  # (frozen, where arrays lay when last asked for) -> record
        self._kept = OrderedDict()  # id -> record, the latest last
        self._made = 0  # records so far
        self._latest = None

    def __len__(self):
        return len(self._kept)

    def record(self, frozen, arrays, address, make):
        """The record of these arrays, each of which lies at address(array) now; make() where there is none."""
        place = frozen, tuple([(address(array), len(array)) for array in arrays])
        found = self._by_address.get(place)
        if found is None or not found.is_of(frozen, arrays):
            found = self._by_content(frozen, arrays, make)
        elif found is self._latest:
            return found
        with self._lock:
            if len(self._by_address) >= _MAX_ADDRESSES:
                self._by_address.clear()
            self._by_address[place] = found
            self._keep(found)
        return found

    def _by_content(self, frozen, arrays, make):
        sample, before = (frozen, tuple([_sample(array) for array in arrays])), self._made
        found = self._alike(sample, frozen, arrays)
        if found is None:
            made = make()
            with self._lock:
                if self._made != before:  # another thread may have made it
                    found = self._alike(sample, frozen, arrays)
                if found is None:
                    found = self._by_sample[sample, self._free_place(sample)] = made
                    self._made += 1
        return found

    def _alike(self, sample, frozen, arrays):
        for place in range(_MAX_ALIKE):
            found = self._by_sample.get((sample, place))
            if found is not None and found.is_of(frozen, arrays):
                return found
        return None

    def _free_place(self, sample):
        """The first place that is free, else the first."""
        return next((place for place in range(_MAX_ALIKE) if (sample, place) not in self._by_sample), 0)

    def _keep(self, record):
        self._kept[id(record)] = record
        self._kept.move_to_end(id(record))
        self._latest = record
        self._trim()

    def _trim(self):
        while len(self) > max(self.limit, 1) or len(self) > 1 and self._bytes() > self.max_bytes:
            self._kept.popitem(last=False)

    def _bytes(self):
        return sum([record.bytes for record in self._kept.values()])

    def keep(self, limit):
        with self._lock:
            self.limit = limit
            self._trim()

    def forget(self):
        with self._lock:
            self._kept.clear()
            self._latest = None


def _sample(array):
    """A few numbers of it, the same for the same content."""
    return tuple(array[:: max(1, len(array) // _SAMPLES)].tolist())


TABLE = Table()


def csr_kind(layout, dtypes, pattern):
    """C's name of the integers, where the pattern has compressed rows just as they were given and nobody else needs to
    keep them; else None."""
    if layout != "csr" or dtypes[0] != dtypes[1] or not pattern.entries.is_identity:
        return None
    kind = INDEX_KINDS.get(dtypes[0])  # the name of a dtype takes longer
    return INDEX_KINDS.get(str(dtypes[0]).removeprefix("torch.")) if kind is None else kind


class _Known:
    """A pattern, and what it was made of."""

    def __init__(self, frozen, arrays, pattern):
        self.frozen, self.pattern = frozen, pattern
        self.bytes = sum([array.nbytes for array in arrays])
        self.kind = csr_kind(frozen[0], [array.dtype for array in arrays], pattern)
        self.copies = None if self.kind is not None else [bytearray(array) for array in arrays]

    def is_of(self, frozen, arrays):
        if self.frozen != frozen:
            return False
        if self.copies is None:
            return self.pattern._same_csr(*map(_address, arrays), self.kind)
        # a bytearray compares itself with any memory in one piece, and copies nothing
        return all([copy == array for copy, array in zip(self.copies, arrays)])


def _address(array):
    return int(ffi.cast(_ADDRESS, ffi.from_buffer(array)))  # quicker than asking NumPy


def interned(make, kind, arrays, *more):
    """make(*arrays, *more), or the pattern that it gave before for the same kind, numbers in `arrays`, and `more`."""
    arrays = [_ready(array) for array in arrays]
    frozen = (kind, *[(array.dtype, array.shape) for array in arrays], *more)
    return TABLE.record(frozen, arrays, _address, lambda: _Known(frozen, arrays, make(*arrays, *more))).pattern


def forget_patterns():
    """Let go of the patterns that Lacuna remembers for indices which may come back, and of what these keep (analyses,
    plans, factors): those of SciPy's matrices and of torch's sparse tensors. What is in use lives on."""
    TABLE.forget()


def keep_patterns(limit):
    """Remember at most `limit` patterns from now on, 16 unless it is called; the last one is always remembered."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise ArgumentError(f"keep_patterns: limit is {limit!r}; it must be a number of patterns, 0 or more")
    TABLE.keep(limit)


def pattern_stats():
    """{"kept": how many patterns are remembered, "limit": how many may be}."""
    return {"kept": len(TABLE), "limit": TABLE.limit}
