# SPDX-License-Identifier: Apache-2.0
"""Structures of indices within compiled code: they are found while the graph is made, and the graph checks, each time
that it runs, that the indices are still those.
"""

import itertools
from operator import index

import torch

from ...errors import StaleError, UnsupportedError
from ...pattern import Pattern
from .._private import keep_in_graphs
from .interned import interned
from .structure import Structure

_named, _numbers = {}, itertools.count(1)  # structures that stand in graphs, for as long as the process
_eyes = {}  # and patterns of diagonals


def _named_structure(layout, first, second, *shape):
    """(pattern, entries, number) of the structure of indices as they are while a compiler reads."""
    structure = interned(layout, first, second, shape)
    number = next((number for number, other in _named.items() if other is structure), None) or next(_numbers)
    _named[number] = structure
    return structure.pattern, structure.entries, number


torch.compiler.assume_constant_result(_named_structure)


def _named_eye(*sizes):
    return _eyes.setdefault(sizes, Pattern.eye(*sizes))


torch.compiler.assume_constant_result(_named_eye)


def eye_pattern(rows, columns=None, k=0):
    """Pattern.eye, one and the same in all graphs."""
    if not torch.compiler.is_dynamo_compiling():
        return Pattern.eye(rows, columns, k)
    return _named_eye(index(rows), None if columns is None else index(columns), index(k))


def _described(structure, first, second):
    if first.dtype != second.dtype:
        first, second = first.long(), second.long()
    return Structure.described(structure.frozen[0], first, second, structure.pattern.shape)


@torch.library.custom_op("lacuna::same_indices", mutates_args=())
def _same_indices(first: torch.Tensor, second: torch.Tensor, number: int) -> torch.Tensor:
    """False, or an error where the indices are not those of a structure."""
    structure = _named.get(number)
    if structure is None or not structure.is_of(*_described(structure, first, second)):
        raise StaleError(
            "SparseTensor: it is made within a compiled function, which was compiled for other indices; make it "
            "outside and pass it in, or pass values and use A.with_values(values)"
        )
    return torch.zeros((), dtype=torch.bool, device=first.device)


@_same_indices.register_fake
def _(first, second, number):
    return torch.zeros((), dtype=torch.bool, device=first.device)


_is_kept = keep_in_graphs(torch.ops.lacuna.same_indices.default)  # nobody reads what the check returns


def structured(layout, first, second, shape):
    """The structure of indices; while a compiler reads, the graph gets the check of them."""
    if not torch.compiler.is_dynamo_compiling():
        return interned(layout, first, second, shape)
    if not _is_kept:
        raise UnsupportedError("SparseTensor: this torch's compiler cannot check indices when compiled code runs; make "
                               "the tensor outside and pass it in")  # fmt: skip
    first, second = (torch.tensor(side) if isinstance(side, (list, tuple)) else side for side in (first, second))
    for side in (first, second):
        index(side.shape[0])  # fixed and guarded, as the shape is: other sizes are another graph
    pattern, entries, number = _named_structure(layout, first, second, *[index(size) for size in shape])
    _same_indices(first, second, number)
    return Structure(pattern, entries)
