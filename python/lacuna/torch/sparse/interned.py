# SPDX-License-Identifier: Apache-2.0
"""Structures that are found again by their indices.

A loop that makes a tensor of the same indices in each turn gets the same structure each time, and with it the analyses
and plans of its pattern. Indices are compared in full with a copy that the structure has, so that what was written to
them in the meantime, by NumPy or another process too, is noticed. A structure lives as long as anything uses it; the
last few are kept beyond that, at most as many as _MAX_KEPT and, but for the very last, with _MAX_ENTRIES together.
"""

import threading
import weakref
from collections import OrderedDict

from ..._core import survive_fork
from ...errors import ArgumentError
from .structure import Structure, indices

_MAX_KEPT, _MAX_ENTRIES = 8, 4_000_000
_MAX_ALIKE = 4  # structures whose samples agree
_SAMPLES, _MAX_ADDRESSES = 8, 1024
_lock = survive_fork(threading.RLock())
_by_sample = weakref.WeakValueDictionary()  # (sample, place) -> Structure
_by_address = weakref.WeakValueDictionary()  # where indices lay when they were last asked for -> Structure
_kept = OrderedDict()  # id -> Structure, the latest last


def interned(layout, first, second, shape):
    """The structure of these indices: `first` and `second` as in Structure, shape (rows, columns)."""
    first, second = (indices(given, what) for given, what in zip((first, second), _WORDS[layout]))
    if first.device != second.device:
        raise ArgumentError(f"SparseTensor: {_WORDS[layout][0]} lies on {first.device} and {_WORDS[layout][1]} on "
                            f"{second.device}; move one of them with .to()")  # fmt: skip
    if first.dtype != second.dtype:
        first, second = first.long(), second.long()
    shape = tuple(map(int, shape))
    address = layout, shape, first.data_ptr(), second.data_ptr(), first.numel(), second.numel()
    found = _by_address.get(address)
    if found is None or not found.has(layout, first, second, shape):
        found = _sampled(layout, first, second, shape)
    elif id(found) in _kept:
        return found
    with _lock:
        if len(_by_address) >= _MAX_ADDRESSES:
            _by_address.clear()
        _by_address[address] = found
        _keep(found)
    return found


_WORDS = {
    "coo": ("row_indices", "col_indices"),
    "csr": ("crow_indices", "col_indices"),
    "csc": ("ccol_indices", "row_indices"),
}


def _sample(tensor):
    """A few numbers of it, the same for the same content."""
    return tuple(tensor[:: max(1, tensor.numel() // _SAMPLES)].tolist())


def _sampled(layout, first, second, shape):
    """The structure by content, made where there is none."""
    sample = layout, shape, first.numel(), second.numel(), first.dtype, first.device, _sample(first), _sample(second)
    found = _alike(sample, layout, first, second, shape)
    if found is None:
        made = Structure.made(layout, first, second, shape)
        with _lock:
            found = _alike(sample, layout, first, second, shape)
            if found is None:  # another thread may have made it
                found = made
                _by_sample[sample, _place(sample)] = made
    return found


def _alike(sample, layout, first, second, shape):
    for place in range(_MAX_ALIKE):
        found = _by_sample.get((sample, place))
        if found is not None and found.has(layout, first, second, shape):
            return found
    return None


def _place(sample):
    """The first place that is free, else the first."""
    return next((place for place in range(_MAX_ALIKE) if (sample, place) not in _by_sample), 0)


def _keep(structure):
    _kept[id(structure)] = structure
    _kept.move_to_end(id(structure))
    while len(_kept) > 1 and (len(_kept) > _MAX_KEPT or sum(s.count for s in _kept.values()) > _MAX_ENTRIES):
        _kept.popitem(last=False)


def forget():
    """Let go of the structures that are kept for indices which may come back; those in use live on."""
    with _lock:
        _kept.clear()
