# SPDX-License-Identifier: Apache-2.0
"""Functions number by number: scaling, comparing, choosing, powers. Other operators on arrays need nothing here."""

from numbers import Real

from .._core import lib
from .._handle import word

_SELECTIONS = {"nonzero": lib.LAC_WHERE_NONZERO, "zero": lib.LAC_WHERE_ZERO}
_RELATIONS = {
    "eq": lib.LAC_EQ, "ne": lib.LAC_NE, "lt": lib.LAC_LT, "le": lib.LAC_LE, "gt": lib.LAC_GT, "ge": lib.LAC_GE,
}  # fmt: skip
_INFINITY = float("inf")


def functions(front):
    apply, resolve, plain = front.apply, front.resolve, front.plain
    asarray, number, code, convert = front.asarray, front.number, front.code, front.convert

    def scale(factor, x):
        """factor * x, a frozen number: there is no derivative in it, and compiled code takes any value."""
        x = asarray(x)
        return plain("mul", x, number(factor, x))

    def reshape(x, shape):
        """As many numbers, other shape."""
        return apply(resolve("reshape"), tuple(shape), x)

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
        return x if x.dtype == dtype else apply(resolve("cast", dtype=wanted), (), x)

    def compare(x, y, relation):
        """1 where x and y stand in the relation ("eq", "ne", "lt", "le", "gt", "ge"), else 0, in their dtype."""
        return plain("compare", *beside("compare", x, y), ints=(word("relation", relation, _RELATIONS),))

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
        return plain("select", convert(c, x), x, ints=(word("keep", keep, _SELECTIONS),))

    def where(c, x, y):
        """x where c is not zero, else y, of which one may be a number; no derivative in c, and nothing leaks."""
        x, y = beside("where", x, y)
        return plain("where", convert(c, x), x, y)

    def clamp(x, low=None, high=None):
        """x moved into [low, high]; the derivative is 1 on the closed interval."""
        bounds = (-_INFINITY if low is None else float(low), _INFINITY if high is None else float(high))
        return plain("clamp", x, floats=bounds)

    def pow(x, y):
        """x^y. A y that is a number is frozen: there is no derivative in it, and no logarithm is taken."""
        if not isinstance(y, Real):
            return plain("pow", x, y)
        return plain("power", x, floats=(y,))

    def div_or_zero(x, y):
        """x / y, and exactly 0, with all derivatives, where y is 0."""
        return plain("div", x, y, ints=(1,))

    def neg(x):
        """-x."""
        return scale(-1, x)

    def square(x):
        """x^2."""
        return pow(x, 2)

    def reciprocal(x):
        """1 / x."""
        return pow(x, -1)

    made = (scale, reshape, cast, compare, equal, not_equal, less, less_equal, greater, greater_equal, select, where)
    return (*made, clamp, pow, div_or_zero, neg, square, reciprocal)
