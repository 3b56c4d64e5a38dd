# SPDX-License-Identifier: Apache-2.0
"""Python functions that a solver calls: preconditioners, products and progress.

C gets one function for each kind, which lives for ever, and the name of the Python function as its data. Python
functions live as long as their Solver and its Factors, or what these made; C that outlives them all meets an error, not
freed memory.
"""

import itertools
import weakref

import numpy as np

from ._core import aside, ffi, lib, raise_later, raised
from ._numpy import BY_CODE
from .errors import ArgumentError, DtypeError, ShapeError, StaleError

_KNOWN = weakref.WeakValueDictionary()
_names = itertools.count(1)
_FORMS = {lib.LAC_PLAIN: "N", lib.LAC_TRANSPOSED: "T", lib.LAC_CONJUGATED: "conjugated", lib.LAC_ADJOINT: "H"}


class Callback:
    """A Python function with a name that C can hold, and one for sentences."""

    __slots__ = ("function", "called", "name", "__weakref__")

    def __init__(self, function, called):
        self.function, self.called, self.name = function, called, next(_names)
        _KNOWN[self.name] = self

    @property
    def data(self):
        return ffi.cast("void *", self.name)


def known(data):
    """The Callback of a name that C holds."""
    found = _KNOWN.get(int(ffi.cast("uintptr_t", data)))
    if found is None:
        raise StaleError("Solver: a function of its options is gone; keep the Solver, or a Factor of it, alive")
    return found


def _fitting(called, given, shape, dtype):
    """What a function gave, as the numbers that C waits for."""
    if given is None:
        raise ArgumentError(f"{called} returned None; it must return an array")
    given = np.asarray(given)
    if given.shape != shape:
        raise ShapeError(f"{called} returned an array of shape {given.shape}; it must be {shape}")
    if not np.can_cast(given.dtype, dtype, "same_kind"):
        raise DtypeError(f"{called} returned {given.dtype}; it must be {dtype}")
    return np.ascontiguousarray(given, dtype)


def _meta(array):
    meta = lib.lac_array_meta(array)
    return tuple(meta.shape[0 : meta.ndim]), BY_CODE[meta.dtype]


@ffi.callback("lac_apply", error=lib.LAC_ERR_ARG, onerror=raise_later)
def APPLY(ctx, data, x, op, y):
    if raised():
        return lib.LAC_ERR_ARG
    shape, dtype = _meta(x)
    numbers = np.empty(shape, dtype)
    status = lib.lac_array_read(ctx, x, ffi.from_buffer(numbers))
    if status:
        return status
    held = known(data)
    with aside():
        given = held.function(numbers, _FORMS[op])
    answer = _fitting(held.called, given, *_meta(y))
    return lib.lac_array_write(ctx, y, ffi.from_buffer(answer))


@ffi.callback("lac_iteration_progress", error=1, onerror=raise_later)
def PROGRESS(data, iteration, residual):
    return 1 if raised() or known(data).function(iteration, residual) else 0
