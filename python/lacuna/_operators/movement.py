# SPDX-License-Identifier: Apache-2.0
"""Operators that have axes: parts of arrays, rows along indices, reductions, dense products."""

import builtins
import operator

from .._handle import expect, word
from ..errors import ArgumentError, ShapeError
from ..pattern import Map
from .front import SIDES, map_of


def _axes_mask(who, x, axes):
    """Axes as NumPy counts them (None: all) as a mask whose bit d is the d-th axis from the end."""
    mask = 0
    for axis in range(x.ndim) if axes is None else (axes if isinstance(axes, (tuple, list)) else (axes,)):
        bit = 1 << _from_end(who, x, axis)
        if mask & bit:
            raise ShapeError(f"{who}: axis {axis} comes twice")
        mask |= bit
    return mask


def _from_end(who, x, axis):
    """An axis as NumPy counts it, counted from the end: 0 is the last."""
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"{who}: axis {axis} of an array with {x.ndim} dimensions")
    return -1 - axis if axis < 0 else x.ndim - 1 - axis


def functions(front):
    apply, resolve, plain = front.apply, front.resolve, front.plain
    asarray, number = front.asarray, front.number

    def reduction(op, x, axes, keepdims):
        x = asarray(x)
        return plain(op, x, ints=(_axes_mask(op, x, axes), int(keepdims)))

    def slice(x, axis, begin=None, end=None, step=1):
        """x[begin:end:step] along an axis, with NumPy's meaning of negative and missing ends; the step is positive."""
        x = asarray(x)
        if step < 1:
            raise ArgumentError(f"slice: the step is {step}; it must be positive")
        place = _from_end("slice", x, axis)
        begin, end, step = builtins.slice(begin, end, step).indices(x.shape[x.ndim - 1 - place])
        return plain("slice", x, ints=(place, begin, builtins.max(begin, end), step))

    def concat(arrays, axis=0):
        """Arrays behind each other along an axis; axes before it broadcast."""
        arrays = [asarray(x) for x in arrays]
        if not arrays:
            raise ArgumentError("concat: no arrays; give at least one")
        place = _from_end("concat", arrays[0], axis)
        if len(arrays) == 1:
            return slice(arrays[0], axis)  # a copy, as of many
        while len(arrays) > 1:
            odd = arrays[-1:] if len(arrays) % 2 else []
            arrays = [plain("concat", *arrays[i : i + 2], ints=(place,)) for i in range(0, len(arrays) - 1, 2)] + odd
        return arrays[0]

    def rows(who, index, x, outputs, side):
        """Rows (or, of a vector, numbers) of x along a map, or along indices of which one is made."""
        x = asarray(x)
        block = 0 if x.ndim == 1 else 1
        if not isinstance(index, Map):
            index = map_of(index, operator.index(x.shape[-1 - block] if outputs is None else outputs))
        return apply(resolve("remap", (expect(who, index, Map),), (SIDES[side], block)), (), x)

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

    def matmul(x, y, side_x="N", side_y="N"):
        """op(X) op(Y), dense: "N", "T" (transpose), "C" (conjugate) or "H" (both) for each."""
        return plain("matmul", x, y, ints=(word("side", side_x, SIDES), word("side", side_y, SIDES)))

    def sum(x, axes=None, keepdims=False):
        """The sum over the given axes, all by default."""
        return reduction("sum", x, axes, keepdims)

    def mean(x, axes=None, keepdims=False):
        """The mean over the given axes, all by default; NaN of no numbers."""
        x, count = asarray(x), 1
        mask = _axes_mask("mean", x, axes)
        for d in range(x.ndim):
            if mask >> (x.ndim - 1 - d) & 1:
                count = count * x.shape[d]
        total = plain("sum", x, ints=(mask, int(keepdims)))
        return plain("mul", total, number(1 / count if count else float("nan"), total))

    def prod(x, axes=None, keepdims=False):
        """The product over the given axes, all by default, pair by pair: exact with zeros; 1 of no numbers."""
        x = asarray(x)
        mask = _axes_mask("prod", x, axes)
        for d in range(x.ndim):
            if mask >> d & 1:
                x = prod_along(x, d)
        return plain("sum", x, ints=(mask, int(keepdims)))

    def prod_along(x, place):
        size, rest = x.shape[x.ndim - 1 - place], None
        if size == 0:
            zero = plain("sum", x, ints=(1 << place, 1))
            return plain("compare", zero, zero, ints=(0,))  # equal to itself: 1
        while size > 1:
            half = size // 2
            if size % 2:
                odd = plain("slice", x, ints=(place, size - 1, size, 1))
                rest = odd if rest is None else plain("mul", rest, odd)
            first, second = (plain("slice", x, ints=(place, at, at + half, 1)) for at in (0, half))
            x, size = plain("mul", first, second), half
        return x if rest is None else plain("mul", x, rest)

    def max(x, axes=None, keepdims=False):
        """The largest number over the given axes, of reals; ties share the gradient evenly, NaN is handed on."""
        return reduction("max", x, axes, keepdims)

    def min(x, axes=None, keepdims=False):
        """The smallest number over the given axes, of reals; ties share the gradient evenly, NaN is handed on."""
        return reduction("min", x, axes, keepdims)

    def norm(x, axes=None, keepdims=False, order=2):
        """The vector norm over the given axes, all by default, of order 1, 2 or inf: real, its gradient at zero is
        zero."""
        if order == 2:
            return reduction("norm", x, axes, keepdims)
        if order not in (1, float("inf")):
            raise ArgumentError(f"norm: order {order!r} is not one of 1, 2 and inf")
        return reduction("sum" if order == 1 else "max", plain("abs", x), axes, keepdims)

    def logsumexp(x, axes=None, keepdims=False):
        """log(sum(exp(x))) over the given axes, of reals, without overflow; all -inf gives -inf, with a gradient of
        zero."""
        return reduction("logsumexp", x, axes, keepdims)

    def softmax(x, axes=-1):
        """exp(x) / sum(exp(x)), the sum over the given axes, of reals; 0 where all are -inf."""
        return reduction("softmax", x, axes, False)

    def log_softmax(x, axes=-1):
        """log(softmax(x)) = y - logsumexp(y) for y = x - max(x), which loses no digits however large x is."""
        x = asarray(x)
        y = plain("sub", x, reduction("max", x, axes, True))
        return plain("sub", y, reduction("logsumexp", y, axes, True))

    def cumsum(x, axis=-1, backwards=False):
        """Running sums along an axis, from its first place on, or from its last."""
        x = asarray(x)
        return plain("cumsum", x, ints=(_from_end("cumsum", x, axis), int(backwards)))

    made = (slice, concat, gather, scatter_add, matmul, sum, mean, prod, max, min, norm, logsumexp, softmax)
    return (*made, log_softmax, cumsum)
