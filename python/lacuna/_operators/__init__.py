# SPDX-License-Identifier: Apache-2.0
"""The operators and functions of C's tables as Python functions, made from the texts of their parameters for each front
end (_parameters.py). What Python has besides: other names, and a few functions whose arguments need a word (names.py).
"""

import functools

from .. import _parameters as parameters
from .._docstrings import written
from .._handle import Handle
from .._requests import ARRAYS, resolve  # noqa: F401
from .._tables import FUNCTIONS, OPERATORS
from ..errors import ArgumentError
from . import names
from .front import CONSTANT, NO_OBJECTS, scope  # noqa: F401

# solve, pow, lstsq and matrix_norm stand for the first four; NumPy and torch have the others
_INSIDE = ("solve_with", "power", "lstsq_with", "norm2", "broadcast", "offset", "embed", "full", "extent")


def _by_name(front):
    """`apply`, which takes any operator of the table."""
    index, code, resolve, run = (front[name] for name in ("index", "code", "resolve", "apply"))

    def apply(op, *arguments, ints=(), floats=(), shape=(), dtype=None):
        """Any operator by its name: patterns and objects first, then arrays; the keywords are its attributes."""
        if op not in OPERATORS:
            raise ArgumentError(f"apply: there is no operator {op!r}; there are {', '.join(OPERATORS)}")
        keys = tuple([h.key for h in arguments if isinstance(h, Handle)])
        arrays = [array for array in arguments if not isinstance(array, Handle)]
        ints, floats = tuple([index(i) for i in ints]), tuple([float(x).hex() for x in floats])
        name = resolve(op, keys or NO_OBJECTS, ints, floats, 0 if dtype is None else code(dtype))
        return run(name, tuple(shape), *arrays)

    return apply


def _rows():
    """{name: (what is asked of C, its row, parameters that the name gives, its sentence)}."""
    rows = {name: (name, row, {}, row.about) for name, row in OPERATORS.items()}
    rows.update({row.name: (request, row, {}, row.about) for request, row in FUNCTIONS.items()})
    for name, (of, fixed, about) in names.NAMED.items():
        rows[name] = (*rows[of][:2], fixed, about or rows[of][3])
    return rows


def takes():
    """{name: its parameters}, without those that the name gives itself."""
    return {
        name: [p for p in parameters.read(row.parameters) if p.name not in fixed]
        for name, (_, row, fixed, _) in _rows().items()
    }


@functools.lru_cache(None)
def _code(scoped, renamed):
    """All functions as one piece of Python, over what a front end brings."""
    texts = [
        parameters.source(name, request, row.parameters, fixed, renamed)
        for name, (request, row, fixed, _) in _rows().items()
    ]
    text = f"def made({', '.join(scoped)}):\n{''.join(texts)}    return locals()\n"
    return compile(text, "<lacuna functions>", "exec")


def _rename(function, names):
    """Parameters of a function that is written by hand, by their names in a front end."""
    code = function.__code__
    function.__code__ = code.replace(co_varnames=tuple([names.get(name, name) for name in code.co_varnames]))


def of(module, package):
    """Every operator and function as a function of a package, by name, over the module of a front end (front.scope)."""
    front, space = scope(module, getattr(module, "resolve", resolve)), {"__name__": __name__}
    exec(_code(tuple(front), module.RENAMED), space)
    made = space["made"](**front)
    rows = _rows()
    table = {name: made[name] for name in rows}
    for name, function in table.items():
        _, row, fixed, about = rows[name]
        function.__doc__ = written(row, fixed, about)
    table.update({function.__name__: function for function in names.functions(front, table)})
    table["cast"].__doc__ = written(rows["cast"][1], {}, rows["cast"][3])
    table["apply"] = _by_name(front)
    _rename(table["slice"], dict(module.RENAMED))
    for function in table.values():  # where users find it: for help, messages and pickles
        function.__module__, function.__qualname__ = package, function.__name__
    return {name: function for name, function in table.items() if name not in _INSIDE}
