# SPDX-License-Identifier: Apache-2.0
"""What the functions of a front end are made over: what its module brings, and how arguments become what C takes."""

from numbers import Integral, Number
from operator import index

import numpy as np

from .._handle import expect, form, word
from ..errors import ArgumentError, ShapeError
from ..format import Format
from ..map import Map
from ..pattern import Pattern
from ..solver import Factor, Solver
from .._parameters import words

CONSTANT = []  # functions that tracers call once: what they gave is kept
NO_OBJECTS = ((0,),)  # the keys of operators that take arrays alone


def from_end(who, x, axis):
    """An axis of x, or of the first of a list, as NumPy counts it, counted from the end: 0 is the last."""
    if isinstance(x, list):
        if not x:
            raise ArgumentError(f"{who}: no arrays; give at least one")
        x = x[0]
    if not isinstance(axis, Integral):
        raise ArgumentError(f"{who}: the axis is {axis!r}; give an integer, and for several axes a tuple of them")
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"{who}: axis {axis} of an array with {x.ndim} dimensions")
    return -1 - axis if axis < 0 else x.ndim - 1 - axis


def mask(who, x, axes):
    """Axes as NumPy counts them (None: all) as a mask whose bit d is the d-th axis from the end."""
    mask = 0
    for axis in range(x.ndim) if axes is None else (axes if isinstance(axes, (tuple, list)) else (axes,)):
        bit = 1 << from_end(who, x, axis)
        if mask & bit:
            raise ShapeError(f"{who}: axis {axis} comes twice")
        mask |= bit
    return mask


def squeezed(y):
    """Results of vectors without their columns."""
    return tuple([part[..., 0] for part in y]) if isinstance(y, tuple) else y[..., 0]


def of_integers(make):
    """make(integers, ...), anew in each call; tracers take a list for frozen."""

    def of_list(integers, *more):
        return make(integers, *more)

    def made(integers, *more):
        if isinstance(integers, (list, tuple)) and all([type(i) is int for i in integers]):
            return of_list(tuple(integers), *more)
        return make(np.asarray(integers.detach().cpu()) if hasattr(integers, "detach") else integers, *more)

    CONSTANT.append(of_list)
    return made


def scope(module, resolve):
    """The names that the functions of a front end use. The module brings

    apply(name, like, *arrays)  runs the operator or function of a spec's name
    asarray(x)  an array of anything
    number(factor, x, who)  an array of a frozen number beside x
    ARRAY  the type of its arrays
    RENAMED  parameters of C's texts that have another name here
    code(dtype)  the code of a dtype
    convert(c, x)  a condition as an array of x's dtype
    """
    asarray, number, array = module.asarray, module.number, module.ARRAY

    def beside(who, x, y):
        """Both as arrays; one of them may be a frozen number."""
        if isinstance(x, array) and isinstance(y, array):
            return x, y
        if isinstance(x, Number):
            y = asarray(y)
            return number(x, y, who), y
        x = asarray(x)
        return x, number(y, x, who) if isinstance(y, Number) else y

    return {
        "apply": module.apply, "asarray": asarray, "number": number, "code": module.code, "convert": module.convert,
        "beside": beside, "resolve": resolve, "index": index, "expect": expect, "word": word, "form": form,
        "words": words, "from_end": from_end, "mask": mask, "squeezed": squeezed,
        "NO_OBJECTS": NO_OBJECTS, "Pattern": Pattern, "Map": Map, "Format": Format, "Solver": Solver, "Factor": Factor,
    }  # fmt: skip
