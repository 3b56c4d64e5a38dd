# SPDX-License-Identifier: Apache-2.0
"""Names that Python has besides those of C's tables, and the few functions whose arguments need a word here."""

from numbers import Real
from operator import index

import numpy as np

from .._derived import derived
from .._handle import expect, word
from .._indices import _index
from ..errors import ArgumentError, ShapeError
from ..map import Map
from ..pattern import Pattern
from ..solver import Solver
from .front import from_end, of_integers

# name: (operator or function of C, parameters that the name gives, its sentence)
NAMED = {
    "solve": ("solve_with", {}, ""),
    "div_or_zero": ("div", {"zeros": "zero"}, "x / y, and exactly 0, with all derivatives, where y is 0."),
    "equal": ("compare", {"relation": "eq"}, "1 where x = y, else 0."),
    "not_equal": ("compare", {"relation": "ne"}, "1 where x and y differ, else 0."),
    "less": ("compare", {"relation": "lt"}, "1 where x < y, else 0."),
    "less_equal": ("compare", {"relation": "le"}, "1 where x <= y, else 0."),
    "greater": ("compare", {"relation": "gt"}, "1 where x > y, else 0."),
    "greater_equal": ("compare", {"relation": "ge"}, "1 where x >= y, else 0."),
    "segment_sum": ("remap", {"op": "N", "axes": 0}, "The sum of each group of a map."),
    "segment_min": ("segment_max", {"extreme": "smallest"}, "The smallest of each group; ties share the gradient."),
    "sparse_min": (
        "sparse_max", {"extreme": "smallest"},
        "The smallest number of each row (axis 1) or column (axis 0); ties share the gradient.",
    ),
}  # fmt: skip
# The functions below, and why C has not all of their text.
STAYS = {
    "scale": "the factor is an input, so that compiled code takes any number",
    "cast": "an array that has the dtype already is itself",
    "pow": "a number and an array are two operators",
    "slice": "ends that are negative or missing, as NumPy counts them",
    "gather": "a Map is made of integers",
    "scatter_add": "a Map is made of integers",
    "gather_mm": "a Map is made of integers",
    "segment_mm": "a Map is made of lengths",
    "lstsq": "the solver is the pattern's own unless one is given, and damp may be a number",
}
map_of = of_integers(Map)


@of_integers
def _indexed(integers, count):
    integers, _ = _index(integers, "idx_b")
    if integers.size and integers.min() < 0:
        least, at = integers.min(), int(integers.argmin())
        raise ArgumentError(f"gather_mm: index {at} is {least}; indices are 0..{count - 1}")
    return Map(integers, count)


@of_integers
def _segments(lengths):
    """The map of rows to the segments that they lie in."""
    lengths, _ = _index(lengths, "seglen_a")
    if (lengths < 0).any():
        raise ArgumentError(f"segment_mm: length {int(lengths.argmin())} is {lengths.min()}; lengths are 0 or more")
    return Map(np.repeat(np.arange(lengths.size), lengths), lengths.size)


def _place(given, missing, size):
    """An end of a slice, as NumPy counts it; compilers do not follow slice.indices in all versions of torch."""
    if given is None:
        return missing
    given = index(given)
    return max(given + size, 0) if given < 0 else min(given, size)


def functions(front, made):
    """The functions that stay, over those that are made of C's texts."""
    asarray, number = front["asarray"], front["number"]
    mul, power, remap = (made[name] for name in ("mul", "power", "remap"))
    of_slice, of_map, of_cast, of_lstsq, of_pow = (made[n] for n in ("slice", "gather_mm", "cast", "lstsq", "pow"))

    def scale(factor, x):
        """factor * x, a frozen number: there is no derivative in it, and compiled code takes any value."""
        x = asarray(x)
        return mul(x, number(factor, x))

    def cast(x, dtype):
        x = asarray(x)
        return x if x.dtype == dtype else of_cast(x, dtype)

    def pow(x, y):
        """x^y. A y that is a number is frozen: there is no derivative in it, and no logarithm is taken."""
        return power(x, y) if isinstance(y, Real) else of_pow(x, y)

    def slice(x, axis, begin=None, end=None, step=1):
        """x[begin:end:step] along an axis, with NumPy's meaning of negative and missing ends; the step is positive."""
        x = asarray(x)
        if step < 1:
            raise ArgumentError(f"slice: the step is {step}; it must be positive")
        size = x.shape[x.ndim - 1 - from_end("slice", x, axis)]
        begin, end = _place(begin, 0, size), _place(end, size, size)
        return of_slice(x, axis, begin, max(begin, end), step)

    def rows(who, given, x, outputs, op):
        """Rows (or, of a vector, numbers) of x along a map, or along integers of which one is made."""
        x = asarray(x)
        block = 0 if x.ndim == 1 else 1
        if not isinstance(given, Map):
            given = map_of(given, index(x.shape[-1 - block] if outputs is None else outputs))
        return remap(given, x, op, block)

    def gather(index, x):
        """y[i] = x[index[i]] for the rows of x (..., n, k) or the numbers of a vector; 0 where the index is -1.

        `index` is frozen: a Map whose target it is, or integers, of which one is made in each call.
        """
        return rows("gather", index, x, None, "T")

    def scatter_add(index, x, n=None):
        """y[index[i]] += x[i]: the adjoint of gather, in one order on any number of threads. Integers need n, the rows
        of y; a Map has them."""
        if n is None and not isinstance(index, Map):
            raise ArgumentError("scatter_add: say how many rows the result has (n), or give a Map")
        return rows("scatter_add", index, x, n, "N")

    def gather_mm(a, b, idx_b):
        """out[i] = a[i] @ b[idx_b[i]]: a (n, d), b (r, d, e); idx_b are integers, or a Map of them, made once."""
        b = asarray(b)
        if b.ndim < 3:
            raise ShapeError(f"gather_mm: b has shape {tuple(b.shape)}; it must be (r, d, e)")
        count, is_map = b.shape[-3], isinstance(idx_b, Map)
        if is_map and idx_b.outputs != count:
            raise ShapeError(f"gather_mm: the map names {idx_b.outputs} matrices and there are {count}")
        return of_map(idx_b if is_map else _indexed(idx_b, index(count)), a, b)

    def segment_mm(a, b, seglen_a):
        """The first seglen_a[0] rows of a times b[0], the next seglen_a[1] times b[1], ...: the lengths add up to n."""
        a, b, segments = asarray(a), asarray(b), _segments(seglen_a)
        if a.ndim < 2 or b.ndim < 3 or segments.outputs != b.shape[-3] or segments.inputs != a.shape[-2]:
            raise ShapeError(
                f"segment_mm: {segments.outputs} lengths add up to {segments.inputs}; a is {tuple(a.shape)} and b is "
                f"{tuple(b.shape)}, so {b.shape[-3] if b.ndim > 2 else '?'} lengths must add up to the rows of a"
            )
        return of_map(segments, a, b)

    def lstsq(pattern, a, b, damp=None, solver=None, residual=False):
        """x that minimises |A x - b|^2 + |damp x|^2, and of all such x, where A is wide, is the shortest.

        A of any shape, b (m,) or (m, k); damp is a number, or an array with one for each of the batch. Differentiable
        in a, b and damp. residual: (x, b - A x). solver: a Solver of pattern.augmented()[0]: a matrix that has not full
        rank, and is not damped, is a SingularError. Or "lsmr", "lsqr", or a Solver that is one of them, of the pattern
        (with damp: of pattern.damped()), which iterates to its tolerance.
        """
        expect("lstsq", pattern, Pattern)
        if solver is None or isinstance(solver, str):
            solver and word("solver", solver, dict.fromkeys(("lsmr", "lsqr")))
            solver = derived("lstsq_solver", (pattern.key,), solver, damp is not None)[0]
        expect("lstsq", solver, Solver)
        a = asarray(a)
        if damp is not None and (isinstance(damp, np.generic) or not hasattr(damp, "dtype")):
            damp = number(damp, a.real, "lstsq")
        return of_lstsq(pattern, a, b, damp, solver, residual)

    return scale, cast, pow, slice, gather, scatter_add, gather_mm, segment_mm, lstsq
