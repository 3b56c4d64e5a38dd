# SPDX-License-Identifier: Apache-2.0
"""Structures: where the entries of a matrix are, in the order of whoever gave them.

    slots = remap(entries, values)         values by slots of the pattern; the values themselves where entries is None

A structure is shared by all matrices with these entries, and is frozen. Matrix has one, and so has SparseTensor, whose
class (torch/sparse/structure.py) keeps the caller's indices too.
"""

import numpy as np

from ._derived import derived


class Structure:
    """A pattern and the map from the caller's entries to its slots (None: they are the slots).

    `origin` is the structure that this one is the transpose of. `count` is how many numbers the caller has, or blocks
    where these are the slots; where it `is_merged`, each has a slot of its own, so that a function of values is one of
    slots.
    """

    def __init__(self, pattern, entries=None, origin=None):
        self.pattern, self.entries, self.origin = pattern, entries, origin
        self.count = pattern.nnz if entries is None else entries.inputs
        self.is_merged = self.count == pattern.nnz

    def is_same(self, other):
        """Whether values of both are in the same order on one pattern."""
        return self is other or (self.pattern is other.pattern and self.entries is other.entries)

    def is_alike(self, other):
        """The same by what they hold: patterns that were made one by one may have the same entries."""
        if self.is_same(other):
            return True
        if self.count != other.count or not self.pattern.same(other.pattern):
            return False
        return np.array_equal(self._target(), other._target())

    def _target(self):
        """The slot of each entry."""
        return np.arange(self.count) if self.entries is None else self.entries.target

    def by_slots(self):
        """The structure whose entries are the slots."""
        return self if self.entries is None else type(self)(self.pattern)

    def transposed(self):
        """The structure of the transpose, entries in the same order."""
        if self.origin is not None:
            return self.origin
        pattern, turn = made_of("transpose", self.pattern)
        if self.entries is not None:
            (turn,) = made_of("followed", self.entries, turn)
        return type(self)(pattern, turn, origin=self)

    def __eq__(self, other):
        return isinstance(other, Structure) and self.is_same(other)

    def __hash__(self):
        return hash((self.pattern.key, self.entries and self.entries.key))

    def __repr__(self):
        rows, columns = self.pattern.shape
        return f"Structure({rows} x {columns}, {self.count} entries, nnz={self.pattern.nnz})"


def made_of(what, *handles, arguments=()):
    """What is derived of patterns and maps. Compilers do not follow their methods where they have made them."""
    return derived(what, tuple([handle.key for handle in handles]), *arguments)
