# SPDX-License-Identifier: Apache-2.0
"""Structures that are found again by their indices, on any device, in Lacuna's one table of them (_interned.py).

A loop that makes a tensor of the same indices in each turn gets the same structure each time, and with it the analyses
and plans of its pattern. What was written to indices in the meantime, by NumPy or another process too, is noticed.
"""

import torch

from ..._indices import _sizes
from ..._interned import TABLE
from ...errors import ArgumentError
from .._levels import innermost, outside
from .structure import Structure, indices

_WORDS = {
    "coo": ("row_indices", "col_indices"),
    "csr": ("crow_indices", "col_indices"),
    "csc": ("ccol_indices", "row_indices"),
}


def interned(layout, first, second, shape):
    """The structure of these indices: `first` and `second` as in Structure, shape (rows, columns)."""
    return outside(_interned, layout, first, second, _sizes(shape))


def _interned(layout, first, second, shape):
    first, second = (indices(_frozen(given, what), what) for given, what in zip((first, second), _WORDS[layout]))
    if first.device != second.device:
        raise ArgumentError(f"SparseTensor: {_WORDS[layout][0]} lies on {first.device} and {_WORDS[layout][1]} on "
                            f"{second.device}; move one of them with .to()")  # fmt: skip
    if first.dtype != second.dtype:
        first, second = first.long(), second.long()
    frozen, given = Structure.described(layout, first, second, shape)
    return TABLE.record(frozen, given, torch.Tensor.data_ptr, lambda: Structure.made(layout, first, second, shape))


def _frozen(given, what):
    """Indices that were made within a transform of torch.func, as they are outside of it."""
    if not isinstance(given, torch.Tensor):
        return given
    inside, mapped = innermost(given)
    if mapped:
        raise ArgumentError(f"SparseTensor: vmap maps over {what}; all matrices of a batch have the same indices: map "
                            "over values, and give indices from outside")  # fmt: skip
    return inside
