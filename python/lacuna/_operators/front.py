# SPDX-License-Identifier: Apache-2.0
"""What the functions of all groups are made over: a front end's ways, and a few steps that many of them take."""

import functools
from operator import index

import numpy as np

from .._core import lib
from ..errors import ShapeError, UnsupportedError
from ..pattern import Map

SIDES = {"N": lib.LAC_N, "T": lib.LAC_T, "C": lib.LAC_C, "H": lib.LAC_H}
CONSTANT = []  # all functions of that kind
NO_OBJECTS = ((0,),)  # the keys of operators that take arrays alone


def moved(map):
    """What prepares values to go along a map: nothing where it is the identity."""
    return None if map.is_identity else ("remap", [map], (lib.LAC_N,))


def constant(function, keep=64):
    """A function of frozen arguments whose last results are kept; tracers call it once, and keep what it gave."""
    kept = functools.lru_cache(keep)(function)

    def once(*arguments):
        return kept(*arguments)

    CONSTANT.append(once)
    return once


def of_integers(make):
    """make(integers, ...), anew in each call; tracers take a list for frozen."""
    of_list = constant(make, keep=0)

    def made(integers, *more):
        if isinstance(integers, (list, tuple)) and all([type(i) is int for i in integers]):
            return of_list(tuple(integers), *more)
        return make(np.asarray(integers.detach().cpu()) if hasattr(integers, "detach") else integers, *more)

    return made


map_of = of_integers(Map)


class Front:
    """A front end: what its module brings, and more.

    apply(name, like, *arrays)  runs the operator of a spec's name
    asarray(x)  an array of anything
    number(factor, x, who)  an array of a frozen number beside x
    code(dtype)  the code of a dtype
    convert(c, x)  a condition as an array of x's dtype
    placed(numbers, x)  a NumPy array as one of x's dtype, where x is
    made  {name: function} of the groups before
    """

    def __init__(self, module, resolve):
        self.apply, self.asarray, self._resolve = module.apply, module.asarray, resolve
        self.number, self.code, self.convert, self.placed = module.number, module.code, module.convert, module.placed
        self.made = {}

    def resolve(self, op, keys=NO_OBJECTS, ints=(), floats=(), dtype=0):
        """The name of the spec of an operator.

        Its numbers are frozen: those that a tracer holds open are fixed, and guarded, by index() and hex().
        """
        ints, floats = tuple([index(i) for i in ints]), tuple([float(x).hex() for x in floats])
        return self._resolve(op, keys, ints, floats, dtype)

    def plain(self, op, *arrays, ints=(), floats=()):
        """An operator on arrays alone."""
        return self.apply(self.resolve(op, ints=ints, floats=floats), (), *arrays)

    def column(self, name, a, x):
        """Apply to the columns of x, which may be a vector."""
        x = self.asarray(x)
        if x.ndim == 1:
            return self.apply(name, (), a, x[:, None])[..., 0]
        return self.apply(name, (), a, x)

    def values(self, who, pattern, x):
        """Values of a pattern of single entries."""
        if pattern.blocks != (1, 1):
            raise UnsupportedError(f"{who}: the pattern has blocks; pattern.scalar() gives one of single entries")
        x = self.asarray(x)
        if tuple(x.shape[-1:]) != (pattern.nnz,):
            raise ShapeError(f"{who}: values have shape {tuple(x.shape)}; their last dimension must be {pattern.nnz}")
        return x

    def spread(self, value, x, length):
        """A frozen number, so many times, beside x."""
        name = self.resolve("broadcast", ints=(1, 0))
        return self.apply(name, (length,), self.number(value, x, "spread"))

    def along(self, name, x):
        """Values along a map; no name is the identity."""
        return self.apply(name, (), x) if name else x
