# SPDX-License-Identifier: Apache-2.0
"""Patterns interned by the content of their index arrays: a loop that makes a matrix anew in each step analyses once.

Index arrays belong to the caller, who may write to them: they are known again by their numbers and not by their
identity. Each is compared with a copy, at the speed of memory. The table holds the last few patterns, and what these
keep (analyses, plans, factors), until others take their place.
"""

import threading

import numpy as np

from ._core import survive_fork

MAX_PATTERNS = 16
MAX_BYTES = 1 << 29  # of the copies, all together; the last pattern is held whatever its size
_lock = survive_fork(threading.RLock())
_table = []  # the most recent last


class _Known:
    """A pattern, and what it was made of."""

    __slots__ = ("frozen", "copies", "bytes", "pattern")

    def __init__(self, frozen, arrays, pattern):
        self.frozen, self.pattern = frozen, pattern
        self.copies = [bytearray(array) for array in arrays]
        self.bytes = sum(map(len, self.copies))

    def is_of(self, frozen, arrays):
        # a bytearray compares itself with any memory in one piece, and copies nothing
        return self.frozen == frozen and all([copy == array for copy, array in zip(self.copies, arrays)])


def interned(make, kind, arrays, *more):
    """make(*arrays, *more), or the pattern that it gave before for the same kind, numbers in `arrays`, and `more`."""
    arrays = [np.ascontiguousarray(array) for array in arrays]
    frozen = (kind, *[(array.dtype.str, array.shape) for array in arrays], *more)
    with _lock:
        known = next((known for known in reversed(_table) if known.is_of(frozen, arrays)), None)
        if known is not None:
            _table.remove(known)
            _table.append(known)
            return known.pattern
    pattern = make(*arrays, *more)
    with _lock:
        _table.append(_Known(frozen, arrays, pattern))
        while len(_table) > MAX_PATTERNS or len(_table) > 1 and sum(known.bytes for known in _table) > MAX_BYTES:
            _table.pop(0)
    return pattern


def forget_patterns():
    """Let go of the patterns that Lacuna remembers of matrices that were given whole, and of what these keep."""
    with _lock:
        _table.clear()
