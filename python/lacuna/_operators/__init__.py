# SPDX-License-Identifier: Apache-2.0
"""The operators as Python functions, made from the C table for each front end.

An operator needs nothing here: it is a function of its name, objects first, then arrays. One with sides, choices or
vectors (which are (n, 1) inside) has a wrapper in the module of its group, with its argument order, and where its
attributes go. A group offers `functions(front)`, and `PREPARE` where a spec wants other objects than a user names:
name -> function of the objects and ints that gives (operator, objects, ints), or None for a call that is left out.
"""

from .._core import ffi
from .._derived import found, youngest
from .._handle import Handle
from .._program import OPERATORS
from ..errors import ArgumentError
from ..pattern import Pattern
from . import arrays, determinants, estimates, factors, groups, matrices, movement, products, structured
from .front import CONSTANT, NO_OBJECTS, SIDES, Front  # noqa: F401

# a later one may use what an earlier one made
_GROUPS = (arrays, movement, products, matrices, groups, structured, determinants, factors, estimates)
_PREPARE = {name: prepare for group in _GROUPS for name, prepare in getattr(group, "PREPARE", {}).items()}
# solve, pow and matrix_norm stand for the first three; NumPy and torch have the others
_INSIDE = ("solve_with", "lstsq_with", "power", "norm2", "broadcast", "offset", "embed")


class _Arrays(Handle):
    """The home of operators that take arrays alone; it lives for ever."""

    def __new__(cls):
        return cls.hold(ffi.NULL, 0)


ARRAYS = _Arrays()


def resolve(op, keys, ints=(), floats=(), dtype=0):
    """The name of the spec of an operator with these objects and attributes (floats by float.hex, so that no two are
    taken for one); "" for one that is left out.

    Constant: tracers call it once, and guard on the keys, which is why those come instead of the objects. The spec
    belongs to the youngest of the objects.
    """
    home = found(keys[0]) if len(keys) == 1 else youngest([found(key) for key in keys])
    request, names = (op, keys, ints, floats, dtype), home.family.names
    name = names.get(request)
    if name is None:
        name = names[request] = _make(home.family, *request)
    return name


def is_open(op):
    """Whether the shapes of a call follow from the sizes of the objects that it names. Constant for tracers."""
    return op == "solve" or op not in _PREPARE


def _make(family, op, keys, ints, floats, dtype):
    handles = [found(key) for key in keys]
    if op in _PREPARE:
        prepared = _PREPARE[op](*handles, *ints)
        if prepared is None:
            return ""
        op, handles, ints = prepared
    c = ffi.new("lac_spec *")
    c.op = OPERATORS[op].c
    patterns = [h.c for h in handles if isinstance(h, Pattern)]
    objects = [h.c for h in handles if not isinstance(h, (Pattern, _Arrays))]
    for what, given, room in (
        ("patterns", patterns, c.patterns), ("maps, solvers or factors", objects, [c.object]),
        ("ints", ints, c.attrs.i), ("floats", floats, c.attrs.f),
    ):  # fmt: skip
        if len(given) > len(room):
            raise ArgumentError(f"{op}: {len(given)} {what} came; {len(room)} is the most that an operator takes")
    c.patterns[0 : len(patterns)] = patterns
    c.object = objects[0] if objects else ffi.NULL
    c.attrs.i[0 : len(ints)] = ints
    c.attrs.f[0 : len(floats)] = map(float.fromhex, floats)
    c.attrs.like.dtype = dtype
    return family.intern(c[0], [h.c for h in handles]).name


def _by_name(front):
    """`apply`, which takes any operator of the table."""

    def apply(op, *arguments, ints=(), floats=(), shape=(), dtype=None):
        """Any operator by its name: patterns and objects first, then arrays; the keywords are its attributes."""
        if op not in OPERATORS:
            raise ArgumentError(f"apply: there is no operator {op!r}; there are {', '.join(OPERATORS)}")
        keys = tuple([h.key for h in arguments if isinstance(h, Handle)])
        arrays = [array for array in arguments if not isinstance(array, Handle)]
        code = 0 if dtype is None else front.code(dtype)
        name = front.resolve(op, keys or NO_OBJECTS, tuple(ints), tuple(floats), code)
        return front.apply(name, tuple(shape), *arrays)

    return apply


def _plain(op, apply):
    def function(*arguments, **attributes):
        return apply(op, *arguments, **attributes)

    function.__name__ = op
    function.__doc__ = (
        f"The operator {op}: {OPERATORS[op].signature}, leading dimensions are batch. Arguments as in apply."
    )
    return function


def of(module, package):
    """Every operator of the table as a function of a package, by name, over the module of a front end (see Front)."""
    front = Front(module, getattr(module, "resolve", resolve))
    for group in _GROUPS:
        front.made.update({function.__name__: function for function in group.functions(front)})
    apply, table = _by_name(front), front.made
    table.update({op: _plain(op, apply) for op in OPERATORS if op not in table and op not in _INSIDE})
    table["apply"] = apply
    for function in table.values():  # where users find it: for help, messages and pickles
        function.__module__, function.__qualname__ = package, function.__name__
    return table
