# SPDX-License-Identifier: Apache-2.0
"""Maps: frozen index maps between entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._core import check, context, ffi, lib
from ._derived import Kept, derived
from ._handle import Handle, expect
from ._indices import _data, _index, _ready
from ._pairs import pairs_of
from .errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Map(Handle):
    """A frozen index map between entries: out[j] = sum of in[i] over the sources i of j. `remap` applies it.

    `inputs` and `outputs` are how many there are.

    >>> lacuna.remap(lacuna.Map([1, 0, 1, -1], 2), np.array([1.0, 2.0, 3.0, 4.0]))
    array([2., 4.])
    """

    inputs: int
    outputs: int

    kind = "lac_map"

    def __new__(cls, target: ArrayLike, outputs: int) -> Map:
        """Entry i is added to out[target[i]]; a target of -1 drops it."""
        target = _ready(_index(target, "target")[0], np.int64)
        ctx, out = context(), ffi.new("lac_map **")
        pointer = ffi.cast("const int64_t *", _data(target))
        ctx.check(lib.lac_map_create(ctx.c, target.size, outputs, pointer, out))
        return cls.wrap(out[0])

    def _init(self):
        inputs, outputs = lib.lac_map_inputs(self.c), lib.lac_map_outputs(self.c)
        self._set(inputs=inputs, outputs=outputs, sizes=(inputs, outputs), _derived=Kept())

    @staticmethod
    def sized(inputs, outputs):
        return {"inputs": inputs, "outputs": outputs}

    @property
    def is_identity(self) -> bool:
        """Whether each entry is its own target."""
        return bool(lib.lac_map_is_identity(self.c))

    @property
    def target(self) -> NDArray[np.int64]:
        """The target of each input entry, -1 where it is dropped."""
        target = np.empty(self.inputs, np.int64)
        check(lib.lac_map_read(self.c, ffi.cast("int64_t *", _data(target))))
        return target

    def followed_by(self, other: Map) -> Map:
        """The map that does both: first this one, then the other. It lives with them."""
        return derived("followed", (self.key, expect("followed_by", other, Map)))[0]

    def _followed(self, other):
        if self.outputs != other.inputs:
            raise ShapeError(f"followed_by: a map to {self.outputs} entries, and then one of {other.inputs}")
        target = self.target
        return Map(np.where(target < 0, -1, other.target[target]) if other.inputs else target, other.outputs)

    def pairs(self) -> tuple[Map, ...]:
        """(firsts, seconds, firsts, seconds, ..., groups): maps that join the inputs of each output two by two until
        one is left, and the one from there to the outputs."""
        return derived("pairs", (self.key,))

    def _pairs(self):
        levels, groups = pairs_of(self.target)
        maps = [Map(side, count) for *sides, count in levels for side in sides]
        return *maps, Map(groups, self.outputs)

    def __reduce__(self):
        from ._pickled import of_map

        return of_map(self)

    def __repr__(self):
        return f"Map({self.inputs} -> {self.outputs})"
