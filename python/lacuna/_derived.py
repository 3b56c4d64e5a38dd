# SPDX-License-Identifier: Apache-2.0
"""What is made of patterns: transposes, triangles, unions, maps, solvers. It lives with them, and has their names.

A pattern has two tables of the latest requests: of solvers, whose analyses are dear, and of all else. A key names an
object: (number, *sizes), or, of what is derived, ((what, keys, arguments, place), *sizes).
"""

import operator
import threading
from collections import OrderedDict
from math import isfinite

from ._core import lib, survive_fork
from ._handle import HANDLES, KINDS
from .errors import StaleError

_MAKE = {
    "transpose": lambda p: p._derive(lib.lac_pattern_transpose),
    "tril": lambda p, k: p._derive(lib.lac_pattern_triangle, lib.LAC_TRIANGLE_LOWER, k),
    "triu": lambda p, k: p._derive(lib.lac_pattern_triangle, lib.LAC_TRIANGLE_UPPER, k),
    "mirror": lambda p, triangle: p._join(lib.lac_pattern_mirror, triangle),
    "submatrix": lambda p, *bounds: p._derive(lib.lac_pattern_submatrix, *bounds),
    "scalar": lambda p: p._derive(lib.lac_pattern_scalar),
    "blocked": lambda p, *sizes: p._derive(lib.lac_pattern_blocked, *sizes),
    "augmented": lambda p: p._derive(lib.lac_pattern_augmented),
    "fill": lambda p, ordering: p._fill(ordering),
    "damped": lambda p: p._over_identity(),
    "lstsq_solver": lambda p, method, damped: p._lstsq_solver(method, damped),
    "solver": lambda p, *options: p._solver(dict(options)),
    "select": lambda p, rows, cols: p.select(rows, cols),
    "block_places": lambda p: p._block_places(),
    "spread": lambda p, *blocksize: p._spread(blocksize),
    "followed": lambda m, n: (m._followed(n),),
    "pairs": lambda m: m._pairs(),
    "kron": lambda p, q: p._derive(lib.lac_pattern_kron, q.c),
    "union": lambda p, q: p._join(lib.lac_pattern_union, q.c),
    "intersection": lambda p, q: p._join(lib.lac_pattern_intersection, q.c),
    "vstack": lambda *parts: parts[0]._stacked(lib.lac_pattern_vstack, "vstack", parts),
    "hstack": lambda *parts: parts[0]._stacked(lib.lac_pattern_hstack, "hstack", parts),
    "product": lambda p, q: p._product(q),
    "row_map": lambda p: p._map(lib.lac_pattern_row_map),
    "col_map": lambda p: p._map(lib.lac_pattern_col_map),
    "diagonal": lambda p: p._map(lib.lac_pattern_diagonal),
    "dense": lambda p: p._map(lib.lac_pattern_dense),
    "components": lambda p: p._map(lib.lac_pattern_components),
}
_SOLVERS = ("solver", "lstsq_solver")
_lock = survive_fork(threading.RLock())


class Kept:
    """What is made of one pattern or map; what was used longest ago goes first. Solvers, which hold analyses and
    factors, are fewer, and nothing else takes their place."""

    _MAX_DERIVED, _MAX_SOLVERS = 64, 16

    def __init__(self):
        self.derived, self.solvers = OrderedDict(), OrderedDict()

    def get(self, request):
        table = self.solvers if request[0] in _SOLVERS else self.derived
        made = table.get(request)
        if made is not None:
            try:  # contextlib.suppress takes a tenth of the time of a call
                table.move_to_end(request)
            except KeyError:  # another thread may have let it go
                pass
        return made

    def keep(self, request, made):
        """What is kept for a request: `made`, or what another thread was quicker to make. The solver without options
        stays: compiled code takes a pattern for it."""
        is_solver = request[0] in _SOLVERS
        table, most = (self.solvers, self._MAX_SOLVERS) if is_solver else (self.derived, self._MAX_DERIVED)
        with _lock:
            made = table.setdefault(request, made)
            others = [old for old in table if old != request and old[0::2] != ("solver", ())]
            for old in others[: max(len(table) - most, 0)]:
                del table[old]
            return made


def is_traced():
    """Whether a compiler reads this code; the torch front end puts its own here."""
    return False


def derived(what, keys, *arguments):
    """What is made of patterns: the same objects each time, for they live with the youngest of the patterns. A graph
    that names a temporary, P.row_map() within a function, is good for as long as P.
    """
    if not is_traced():
        return kept_or_made(what, keys, arguments)
    arguments = _settled(arguments)
    if what in _PROMISED and all([len(key) > 1 for key in keys]) and is_plain(arguments):
        return _promised(what, keys, arguments)
    return kept_or_made(what, tuple([fixed(key) for key in keys]), arguments)


def made_once(what, keys, *arguments):
    """The same for what few ask for again: nobody keeps it, but for compiled code, which names it."""
    return derived(what, keys, *arguments) if is_traced() else _MAKE[what](*map(found, keys), *arguments)


def kept_or_made(what, keys, arguments):
    """Constant: tracers call it once, and guard on the keys. A pattern that comes back as it went in is not held, or
    two would hold each other.
    """
    patterns = [found(key) for key in keys]
    kept, request = youngest(patterns)._derived, (what, keys, arguments)
    made = kept.get(request)
    if made is None:
        made = _MAKE[what](*patterns, *arguments)
        made = kept.keep(request, tuple([handle.key if handle in patterns else handle for handle in made]))
        for place, handle in enumerate(made):
            if not isinstance(handle, tuple):
                handle._set(origin=(what, keys, arguments, place))  # by which other processes find it (_content.py)
    for handle in made:
        if type(handle) is tuple:
            return tuple([found(handle) if type(handle) is tuple else handle for handle in made])
    return made


def found(key):
    """The object of a key."""
    name = key[0]
    if type(name) is tuple:
        what, keys, arguments, place = name
        return kept_or_made(what, keys, arguments)[place]
    try:
        return HANDLES[name]
    except KeyError:
        raise StaleError(
            f"lacuna: object {name} no longer exists, or never did in this process; keep a pattern, map, solver or "
            "factor alive for as long as a compiled function or its backward uses it"
        ) from None


def youngest(handles):
    return handles[0] if len(handles) == 1 else max(handles, key=lambda handle: handle.key[0])


def fixed(key):
    """A key whose numbers a tracer holds open no more: index() fixes and guards them."""
    name = key[0]
    if isinstance(name, tuple):
        what, keys, arguments, place = name
        name = what, tuple([fixed(k) for k in keys]), arguments, place
    else:
        name = operator.index(name)
    return (name, *[operator.index(size) for size in key[1:]])


_PROMISED = {  # of the sizes of what it is made of: the kinds and sizes of what is made
    "row_map": lambda rows, cols, nnz: (("lac_map", (nnz, rows)),),
    "col_map": lambda rows, cols, nnz: (("lac_map", (nnz, cols)),),
    "diagonal": lambda rows, cols, nnz: (("lac_map", (nnz, min(rows, cols))),),
    "dense": lambda rows, cols, nnz: (("lac_map", (nnz, rows * cols)),),
    "transpose": lambda rows, cols, nnz: (("lac_pattern", (cols, rows, nnz)), ("lac_map", (nnz, nnz))),
    "solver": lambda rows, cols, nnz: (("lac_solver", (rows, cols, nnz)),),
    "followed": lambda inputs, _, __, outputs: (("lac_map", (inputs, outputs)),),
}


def is_plain(argument):
    """Whether a text says all of it."""
    if isinstance(argument, tuple):
        return all([is_plain(one) for one in argument])
    return argument is None or type(argument) in (str, bool, int) or type(argument) is float and isfinite(argument)


def _settled(argument):
    """An argument whose numbers a tracer holds open no more."""
    if isinstance(argument, tuple):
        return tuple([_settled(one) for one in argument])
    if type(argument) is float:
        return float.fromhex(argument.hex())
    return operator.index(argument) if type(argument) is int else argument


def _promised(what, keys, arguments):
    """What is derived when compiled code runs: a compiler knows its sizes, and names it by the pattern's own key, which
    it may hold open."""
    parts = _PROMISED[what](*[size for key in keys for size in key[1:]])
    return tuple([
        KINDS[kind].Promise().named((what, keys, arguments, i), sizes) for i, (kind, sizes) in enumerate(parts)
    ])  # fmt: skip
