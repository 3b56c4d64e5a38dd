# SPDX-License-Identifier: Apache-2.0
"""Formats: where the values of a pattern stand in ELL, sliced ELL, ELL + COO and diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._core import ffi, lib
from ._handle import Handle
from ._indices import _data
from .map import Map
from .pattern import Pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KINDS = {lib.LAC_FORMAT_ELL: "ell", lib.LAC_FORMAT_SELL: "sell", lib.LAC_FORMAT_HYB: "hyb", lib.LAC_FORMAT_DIA: "dia"}


class Format(Handle):
    """A layout of the values of `pattern`: its index arrays, and `map` from slots to storage positions.

    `remap(format.map, values)` fills a storage of `size` numbers, zeros where there is padding, and op "T" takes it
    back; `shape` is what to reshape it to. `width` is the entries a row (ell, hyb), the rows a slice (sell), the
    numbers a diagonal (dia). `columns` is -1 in padding.
    """

    name: str
    size: int
    width: int
    pattern: Pattern
    map: Map

    kind = "lac_format"
    made_by = "Pattern.to_ell, to_sell, to_hyb and to_dia make one"

    def _init(self):
        self._set(
            name=_KINDS[lib.lac_format_kind_of(self.c)], size=lib.lac_format_size(self.c),
            width=lib.lac_format_width(self.c),
            pattern=Pattern.wrap(lib.lac_pattern_retain(lib.lac_format_pattern(self.c))),
            map=Map.wrap(lib.lac_map_retain(lib.lac_format_map(self.c))),
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, width) for ell, (diagonals, cols) for dia, (size,) for the others."""
        if self.name == "ell":
            return self.pattern.shape[0], self.width
        return (self.offsets.size, self.width) if self.name == "dia" else (self.size,)

    def _read(self, array):
        out = np.empty(lib.lac_format_count(self.c, array), np.int64)
        lib.lac_format_read(self.c, array, ffi.cast("int64_t *", _data(out)))
        return out

    @property
    def columns(self) -> NDArray[np.int64]:
        """Of every storage position, -1 in padding; dia has none."""
        columns = self._read(lib.LAC_FORMAT_COLUMNS)
        return columns.reshape(self.shape) if self.name == "ell" else columns

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where slices begin (sell); col - row of the diagonals (dia)."""
        return self._read(lib.LAC_FORMAT_OFFSETS)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each lane (sell), of each entry beyond the width (hyb)."""
        return self._read(lib.LAC_FORMAT_ROWS)

    def __repr__(self):
        return f"Format({self.name} of {self.pattern!r}, {self.size} numbers)"
