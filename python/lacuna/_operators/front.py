# SPDX-License-Identifier: Apache-2.0
"""What the functions of all groups are made over: a front end's ways, and a few steps that many of them take."""

from .._core import lib
from ..errors import ShapeError

SIDES = {"N": lib.LAC_N, "T": lib.LAC_T, "C": lib.LAC_C, "H": lib.LAC_H}


def moved(map):
    """What prepares values to go along a map: nothing where it is the identity."""
    return None if map.is_identity else ("remap", [map], (lib.LAC_N,))


class Front:
    """A front end: what its module brings, and more.

    apply(name, like, *arrays)  runs the operator of a spec's name
    resolve(op, keys, ints, floats, dtype)  the name of a spec; the keys of no objects are ("0",), the default
    asarray(x)  an array of anything
    number(factor, x, who)  an array of a frozen number beside x
    code(dtype)  the code of a dtype
    convert(c, x)  a condition as an array of x's dtype
    made  {name: function} of the groups before
    """

    def __init__(self, module, resolve):
        self.apply, self.asarray, self.resolve = module.apply, module.asarray, resolve
        self.number, self.code, self.convert = module.number, module.code, module.convert
        self.made = {}

    def plain(self, op, *arrays, ints=(), floats=()):
        """An operator on arrays alone."""
        return self.apply(self.resolve(op, ("0",), ints, floats), (), *arrays)

    def column(self, name, a, x):
        """Apply to the columns of x, which may be a vector."""
        x = self.asarray(x)
        if x.ndim == 1:
            return self.apply(name, (), a, x[:, None])[..., 0]
        return self.apply(name, (), a, x)

    def values(self, who, pattern, x):
        """Values of a pattern of single entries."""
        x = self.asarray(x)
        if tuple(x.shape[-1:]) != (pattern.nnz,):
            raise ShapeError(f"{who}: values have shape {tuple(x.shape)}; their last dimension must be {pattern.nnz}")
        return x

    def spread(self, value, x, length):
        """A frozen number, so many times, beside x."""
        name = self.resolve("broadcast", ("0",), (1, 0))
        return self.apply(name, (length,), self.number(value, x, "spread"))

    def along(self, name, x):
        """Values along a map; no name is the identity."""
        return self.apply(name, (), x) if name else x
