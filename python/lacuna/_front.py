# SPDX-License-Identifier: Apache-2.0
"""The operators as Python functions, made from the C table for each front end.

An operator needs nothing here: it is a function of its name, objects first, then arrays. One with sides, choices or
vectors (which are (n, 1) inside) has a wrapper line in `operators`: its argument order, and where its attributes go.
"""

from numbers import Real

from ._core import ffi, lib
from ._handle import HANDLES, Handle, expect, word
from ._movement import movement
from ._program import OPERATORS
from ._structured import structured
from .errors import ArgumentError, ShapeError
from .pattern import Map, Pattern
from .solver import Factor, Solver

SIDES = {"N": lib.LAC_N, "T": lib.LAC_T, "C": lib.LAC_C, "H": lib.LAC_H}
TRIANGLES = {"lower": lib.LAC_LOWER, "upper": lib.LAC_UPPER}
DIAGONALS = {"stored": lib.LAC_STORED, "unit": lib.LAC_UNIT}
SELECTIONS = {"nonzero": lib.LAC_WHERE_NONZERO, "zero": lib.LAC_WHERE_ZERO}
RELATIONS = {
    "eq": lib.LAC_EQ, "ne": lib.LAC_NE, "lt": lib.LAC_LT, "le": lib.LAC_LE, "gt": lib.LAC_GT, "ge": lib.LAC_GE,
}  # fmt: skip


INFINITY = float("inf")


class _Arrays(Handle):
    """The home of operators that take arrays alone; it lives for ever."""

    def __new__(cls):
        return cls.hold(ffi.NULL, "0")


ARRAYS = _Arrays()


def _triangle(pattern, triangle, diagonal):
    """The part that trisolve reads, and the map that takes values there: without the diagonal when it is unit."""
    if triangle == lib.LAC_LOWER:
        return pattern.tril(-1 if diagonal == lib.LAC_UNIT else 0)
    return pattern.triu(1 if diagonal == lib.LAC_UNIT else 0)


# Where a spec wants other objects than those a user names: (operator, objects, attributes).
_PREPARE = {
    "solve": lambda s, side: ("solve_with", [s.solver() if isinstance(s, Pattern) else s], (side,)),
    "spgemm.c": lambda pa, pb: ("spgemm", [pa, pb, pa.product(pb)], ()),
    "spadd.a": lambda pa, pb: ("remap", [pa.union(pb)[1]], (lib.LAC_N,)),
    "spadd.b": lambda pa, pb: ("remap", [pa.union(pb)[2]], (lib.LAC_N,)),
    "to_dense": lambda p: ("remap", [p.dense()], (lib.LAC_N,)),
    "trisolve.x": lambda p, side, *part: ("trisolve", [_triangle(p, *part)[0]], (side, *part)),
    "trisolve.a": lambda p, *part: ("remap", [_triangle(p, *part)[1]], (lib.LAC_N,)),
}
_ELIDED = ("spadd.a", "spadd.b", "trisolve.a")  # remaps that are left out when they change nothing


def resolve(op, keys, ints=(), floats=(), dtype=0):
    """The name of the spec of an operator with these objects and attributes; "" for one that is left out.

    Constant: tracers call it once, and guard on the keys, which is why those come instead of the objects. The spec
    belongs to the youngest of the objects.
    """
    home = HANDLES[keys[0] if len(keys) == 1 else max(keys, key=int)]
    request = (op, keys, ints, floats, dtype)
    name = home.family.names.get(request)
    if name is None:
        name = home.family.names[request] = _make(home.family, *request)
    return name


def _make(family, wanted, keys, ints, floats, dtype):
    op, handles = wanted, [HANDLES[key] for key in keys]
    if wanted in _PREPARE:
        op, handles, ints = _PREPARE[wanted](*handles, *ints)
        if wanted in _ELIDED and handles[0].is_identity:
            return ""
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
    c.attrs.f[0 : len(floats)] = floats
    c.attrs.like.dtype = dtype
    return family.intern(c[0], [h.c for h in handles]).name


def operators(apply, asarray, number, code, convert):
    """Every operator of the table as a function, over a front end's `apply(name, like, *arrays)`, its way to make an
    array of anything, `number(factor, x, who)`, which makes one of a frozen number beside x, `code(dtype)`, the code of
    a dtype, and `convert(c, x)`, which makes a condition an array of x's dtype."""

    def move(name, pattern, x):
        """Values of a pattern along a map; no name is the identity."""
        if name:
            return apply(name, (), x)
        x = asarray(x)
        if x.shape[-1:] != (pattern.nnz,):
            raise ShapeError(f"remap: values have shape {tuple(x.shape)}; their last dimension must be {pattern.nnz}")
        return x

    def column(name, a, x):
        """Apply to the columns of x, which may be a vector."""
        x = asarray(x)
        if x.ndim == 1:
            return apply(name, (), a, x[:, None])[..., 0]
        return apply(name, (), a, x)

    def spmm(pattern, a, x, side="N"):
        """y = op(A) x: a (nnz), x (n, k) or (n,); side is "N" (A), "T" (A^T), "C" (conj A) or "H" (A^H).

        A pattern with blocks takes a (nnz, *blocks).
        """
        return column(resolve("spmm", (expect("spmm", pattern, Pattern),), (word("side", side, SIDES),)), a, x)

    def sddmm(pattern, u, v):
        """s_z = sum_k u[row z, k] conj(v[col z, k]) for each slot z: u (rows, k), v (cols, k), s (nnz)."""
        return apply(resolve("sddmm", (expect("sddmm", pattern, Pattern),)), (), u, v)

    def spgemm(pa, a, pb, b):
        """The values of C = A B on pa.product(pb)."""
        return apply(resolve("spgemm.c", (expect("spgemm", pa, Pattern), expect("spgemm", pb, Pattern))), (), a, b)

    def sampled_spgemm(target, px, x, py, y, sides=("N", "N")):
        """t = op(X) op(Y) at the slots of `target` alone."""
        keys = tuple([expect("sampled_spgemm", p, Pattern) for p in (target, px, py)])
        return apply(resolve("sampled_spgemm", keys, tuple([word("side", s, SIDES) for s in sides])), (), x, y)

    def spadd(pa, a, pb, b):
        """The values of A + B on the first of pa.union(pb)."""
        keys = (expect("spadd", pa, Pattern), expect("spadd", pb, Pattern))
        return apply(
            resolve("add", ("0",)), (), move(resolve("spadd.a", keys), pa, a), move(resolve("spadd.b", keys), pb, b)
        )

    def remap(map, x, side="N"):
        """y = M x or, with side "T", M^T x on the last axis."""
        return apply(resolve("remap", (expect("remap", map, Map),), (word("side", side, SIDES),)), (), x)

    def to_dense(pattern, a):
        """The dense matrix, (rows, cols)."""
        dense = apply(resolve("to_dense", (expect("to_dense", pattern, Pattern),)), (), a)
        return dense.reshape(dense.shape[:-1] + pattern.shape)

    def trisolve(pattern, a, b, triangle="lower", diagonal="stored", side="N"):
        """op(T) x = b with T the named triangle of the matrix; diagonal "unit" does not read a stored one."""
        keys = (expect("trisolve", pattern, Pattern),)
        part = (word("triangle", triangle, TRIANGLES), word("diagonal", diagonal, DIAGONALS))
        name = resolve("trisolve.x", keys, (word("side", side, SIDES), *part))
        return column(name, move(resolve("trisolve.a", keys, part), pattern, a), b)

    def solve(solver, a, b, side="N"):
        """x = op(A)^-1 b, with a Pattern (solver with default options), a Solver, or a Factor of just these values."""
        key = expect("solve", solver, Pattern, Solver, Factor)
        return column(resolve("solve", (key,), (word("side", side, SIDES),)), a, b)

    def scale(factor, x):
        """factor * x, a frozen number: there is no derivative in it, and compiled code takes any value."""
        x = asarray(x)
        return apply(resolve("mul", ("0",)), (), x, number(factor, x))

    def reshape(x, shape):
        """As many numbers, other shape."""
        return apply(resolve("reshape", ("0",)), tuple(shape), x)

    def beside(who, x, y):
        """Both as arrays; one of them may be a frozen number."""
        if isinstance(x, Real):
            y = asarray(y)
            return number(x, y, who), y
        x = asarray(x)
        return x, number(y, x, who) if isinstance(y, Real) else y

    def cast(x, dtype):
        """x in another dtype, itself where that is its own. Complex to real is refused: say real, imag or abs."""
        x, wanted = asarray(x), code(dtype)
        return x if x.dtype == dtype else apply(resolve("cast", ("0",), dtype=wanted), (), x)

    def compare(x, y, relation):
        """1 where x and y stand in the relation ("eq", "ne", "lt", "le", "gt", "ge"), else 0, in their dtype."""
        name = resolve("compare", ("0",), (word("relation", relation, RELATIONS),))
        return apply(name, (), *beside("compare", x, y))

    def equal(x, y):
        """1 where x = y, else 0."""
        return compare(x, y, "eq")

    def not_equal(x, y):
        """1 where x and y differ, else 0."""
        return compare(x, y, "ne")

    def less(x, y):
        """1 where x < y, else 0."""
        return compare(x, y, "lt")

    def less_equal(x, y):
        """1 where x <= y, else 0."""
        return compare(x, y, "le")

    def greater(x, y):
        """1 where x > y, else 0."""
        return compare(x, y, "gt")

    def greater_equal(x, y):
        """1 where x >= y, else 0."""
        return compare(x, y, "ge")

    def select(c, x, keep="nonzero"):
        """x where c is not zero (keep="zero": where it is), exactly 0 elsewhere; no derivative in c."""
        x = asarray(x)
        return apply(resolve("select", ("0",), (word("keep", keep, SELECTIONS),)), (), convert(c, x), x)

    def where(c, x, y):
        """x where c is not zero, else y, of which one may be a number; no derivative in c, and nothing leaks."""
        x, y = beside("where", x, y)
        return apply(resolve("where", ("0",)), (), convert(c, x), x, y)

    def clamp(x, low=None, high=None):
        """x moved into [low, high]; the derivative is 1 on the closed interval."""
        bounds = (-INFINITY if low is None else float(low), INFINITY if high is None else float(high))
        return apply(resolve("clamp", ("0",), (), bounds), (), x)

    def pow(x, y):
        """x^y. A y that is a number is frozen: there is no derivative in it, and no logarithm is taken."""
        if not isinstance(y, Real):
            return apply(resolve("pow", ("0",)), (), x, y)
        return asarray(x) if y == 1 else apply(resolve("power", ("0",), (), (float(y),)), (), x)

    def div_or_zero(x, y):
        """x / y, and exactly 0, with all derivatives, where y is 0."""
        return apply(resolve("div", ("0",), (1,)), (), x, y)

    def neg(x):
        """-x."""
        return scale(-1, x)

    def square(x):
        """x^2."""
        return pow(x, 2)

    def reciprocal(x):
        """1 / x."""
        return pow(x, -1)

    def any_operator(op, *arguments, ints=(), floats=(), shape=(), dtype=None):
        """Any operator by its name: patterns and objects first, then arrays; the keywords are its attributes."""
        if op not in OPERATORS:
            raise ArgumentError(f"apply: there is no operator {op!r}; there are {', '.join(OPERATORS)}")
        keys = tuple([h.key for h in arguments if isinstance(h, Handle)])
        arrays = [array for array in arguments if not isinstance(array, Handle)]
        name = resolve(op, keys or ("0",), tuple(ints), tuple(floats), 0 if dtype is None else code(dtype))
        return apply(name, tuple(shape), *arrays)

    def plain(op):
        def function(*arguments, **attributes):
            return any_operator(op, *arguments, **attributes)

        function.__name__ = function.__qualname__ = op
        function.__doc__ = (
            f"The operator {op}: {OPERATORS[op].signature}, leading dimensions are batch. Arguments as in apply."
        )
        return function

    wrapped = (spmm, sddmm, spgemm, sampled_spgemm, spadd, remap, to_dense, trisolve, solve, scale, reshape)
    wrapped += (cast, compare, equal, not_equal, less, less_equal, greater, greater_equal, select, where, clamp, pow)
    wrapped += (div_or_zero, neg, square, reciprocal)
    wrapped += structured(apply, asarray, column, resolve, SIDES, spmm, solve)
    table = {function.__name__: function for function in wrapped}
    table.update(movement(apply, asarray, number, resolve, SIDES))
    # solve and pow stand for the first two; NumPy and torch have the others
    inside = ("solve_with", "power", "broadcast", "offset", "embed")
    table.update({op: plain(op) for op in OPERATORS if op not in table and op not in inside})
    return {**table, "apply": any_operator}
