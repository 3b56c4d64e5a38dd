# SPDX-License-Identifier: Apache-2.0
"""What front ends ask of C, an operator or function with its objects and attributes, and the specs made of it."""

import functools

from . import _parameters as parameters
from ._core import ffi
from ._derived import found, youngest
from ._handle import Handle
from ._tables import FUNCTIONS, OPERATORS
from .errors import ArgumentError
from .pattern import Pattern


class _Arrays(Handle):
    """The home of operators that take arrays alone; it lives for ever."""

    def __new__(cls):
        return cls.hold(ffi.NULL, 0)


ARRAYS = _Arrays()


def spec_of(op, keys, ints=(), floats=(), dtype=0):
    """The spec of an operator, or of a function ("functions.NAME"), with these objects and attributes (floats by
    float.hex, so that no two are taken for one). It belongs to the youngest of the objects.
    """
    if not keys:
        raise ArgumentError(f"{op.removeprefix('functions.')}: there is no pattern; give at least one")
    home = found(keys[0]) if len(keys) == 1 else youngest([found(key) for key in keys])
    request, asked = (op, keys, ints, floats, dtype), home.family.asked
    spec = asked.get(request)
    if spec is None:
        spec = asked[request] = _make(home.family, *request)
    return spec


def resolve(op, keys, ints=(), floats=(), dtype=0):
    """The name of that spec. Constant: tracers call it once, and guard on the keys, which is why those come instead of
    the objects.
    """
    return spec_of(op, keys, ints, floats, dtype).name


@functools.lru_cache(None)
def _kinds(row):
    """Of the objects that a row of a table takes."""
    return [p.kind for p in parameters.read(row.parameters) if p.kind in parameters.OBJECTS]


def _make(family, op, keys, ints, floats, dtype):
    row = FUNCTIONS.get(op) or OPERATORS[op]
    handles = [h for h in map(found, keys) if h is not ARRAYS]
    for at, kind in enumerate(_kinds(row)[: len(handles)]):
        if kind in ("solver", "factor") and isinstance(handles[at], Pattern):
            handles[at] = handles[at].solver()
    floats = tuple(map(float.fromhex, floats))
    if op in FUNCTIONS:
        return family.intern_function(row, [h.c for h in handles], ints, floats)
    return family.intern(_spec(row, handles, ints, floats, dtype), [h.c for h in handles])


def _spec(row, handles, ints, floats, dtype):
    """The C struct; the pattern of a solver or factor is there too where that has blocks."""
    c, solving = ffi.new("lac_spec *"), getattr(handles[0], "pattern", None) if row.is_doubtful and handles else None
    patterns = [h.c for h in handles if isinstance(h, Pattern)]
    patterns += [solving.c] if solving and solving.blocks != (1, 1) else []
    objects = [h.c for h in handles if not isinstance(h, Pattern)]
    for what, given, room in (
        ("patterns", patterns, c.patterns), ("maps, solvers or factors", objects, [c.object]),
        ("ints", ints, c.attrs.i), ("floats", floats, c.attrs.f),
    ):  # fmt: skip
        if len(given) > len(room):
            raise ArgumentError(f"{row.name}: {len(given)} {what} came; {len(room)} is the most that an operator takes")
    c.op, c.attrs.like.dtype = row.c, dtype
    c.patterns[0 : len(patterns)] = patterns
    c.object = objects[0] if objects else ffi.NULL
    c.attrs.i[0 : len(ints)], c.attrs.f[0 : len(floats)] = ints, floats
    return c[0]
