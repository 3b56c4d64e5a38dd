# SPDX-License-Identifier: Apache-2.0
"""Pickles of patterns, maps and solvers. Integers are bytes in them: torch.load with weights_only refuses NumPy's
arrays."""

import numpy as np

from .map import Map
from .pattern import Pattern


def _packed(integers):
    return np.asarray(integers, "<i8").tobytes()


def _unpacked(data):
    return np.frombuffer(data, "<i8")


def of_map(given):
    """What pickle asks for: a function and what it is given."""
    return restored_map, (_packed(given.target), given.outputs)


def of_pattern(given):
    """The slots, and the map of entries; None if the pattern was derived."""
    offsets, columns, _ = given.structure()
    return restored_pattern, (
        _packed(offsets), _packed(columns), given.shape, given.width, given.entries, given.blocks,
    )  # fmt: skip


def of_solver(given):
    """The pattern and the options, of which functions and factors are pickled as far as they can be."""
    return restored_solver, (given.pattern, given._options)


def restored_solver(pattern, options):
    """A solver from its pickle, which the pattern keeps; it is analysed anew."""
    return pattern.solver(**options)


def restored_map(target, outputs):
    """A map from its pickle."""
    return Map(_unpacked(target), outputs)


def restored_pattern(offsets, columns, shape, width, entries, blocks):
    """A pattern from its pickle."""
    more = (shape,) if blocks == (1, 1) else (shape, blocks)
    make = Pattern.from_csr if blocks == (1, 1) else Pattern.from_bsr
    pattern = make(_unpacked(offsets), _unpacked(columns), *more, width)
    pattern._set(entries=entries)
    return pattern
