# SPDX-License-Identifier: Apache-2.0
"""Functions over the groups of a map: sums, softmax, and products with one matrix for each group."""

import operator

import numpy as np

from .._core import lib
from .._handle import expect
from ..errors import ArgumentError, ShapeError
from ..pattern import Map, _index
from .front import of_integers


def _groups(index, count):
    """The map of indices, each of which names one of `count`; a Map is taken as it is."""
    if isinstance(index, Map):
        if index.outputs != count:
            raise ShapeError(f"gather_mm: the map names {index.outputs} matrices and there are {count}")
        return index
    return _indexed(index, operator.index(count))


@of_integers
def _indexed(index, count):
    index, _ = _index(index, "idx_b")
    if index.size and index.min() < 0:
        raise ArgumentError(f"gather_mm: index {int(index.argmin())} is {index.min()}; indices are 0..{count - 1}")
    return Map(index, count)


@of_integers
def _segments(lengths):
    """The map of rows to the segments that they lie in."""
    lengths, _ = _index(lengths, "seglen_a")
    if (lengths < 0).any():
        raise ArgumentError(f"segment_mm: length {int(lengths.argmin())} is {lengths.min()}; lengths are 0 or more")
    return Map(np.repeat(np.arange(lengths.size), lengths), lengths.size)


def functions(front):
    apply, resolve, plain = front.apply, front.resolve, front.plain
    asarray, spread = front.asarray, front.spread

    def segment(op, who, map, x, *ints):
        return apply(resolve(op, (expect(who, map, Map),), ints), (), x)

    def segment_sum(map, x):
        """The sum of each group of a map."""
        return segment("remap", "segment_sum", map, x, lib.LAC_N)

    def segment_mean(map, x):
        """The mean of each group of a map; 0 for an empty one."""
        expect("segment_mean", map, Map)
        x = asarray(x)
        counts = segment_sum(map, spread(1, x, map.inputs))
        return plain("div", segment_sum(map, x), counts, ints=(1,))

    def segment_logsumexp(map, x, full=0):
        """log of the sum of exp of each group; with `full`, groups have so many numbers, zeros where none is stored."""
        return segment("segment_logsumexp", "segment_logsumexp", map, x, operator.index(full))

    def segment_softmax(map, x, full=0):
        """The weights exp(x) / sum within each group; `full` as in segment_logsumexp."""
        return segment("segment_softmax", "segment_softmax", map, x, operator.index(full))

    def segment_max(map, x, full=0):
        """The largest of each group; ties share the gradient; `full` as in segment_logsumexp."""
        return segment("segment_max", "segment_max", map, x, operator.index(full), lib.LAC_LARGEST)

    def segment_min(map, x, full=0):
        """The smallest of each group; ties share the gradient; `full` as in segment_logsumexp."""
        return segment("segment_max", "segment_min", map, x, operator.index(full), lib.LAC_SMALLEST)

    def gather_mm(a, b, idx_b):
        """out[i] = a[i] @ b[idx_b[i]]: a (n, d), b (r, d, e); idx_b are integers, or a Map of them, made once."""
        b = asarray(b)
        if b.ndim < 3:
            raise ShapeError(f"gather_mm: b has shape {tuple(b.shape)}; it must be (r, d, e)")
        map_ = _groups(idx_b, b.shape[-3])  # it must live while its key is used
        return apply(resolve("gather_mm", (map_.key,), (lib.LAC_N,)), (), a, b)

    def segment_mm(a, b, seglen_a):
        """The first seglen_a[0] rows of a times b[0], the next seglen_a[1] times b[1], ...: the lengths add up to n."""
        a, b = asarray(a), asarray(b)
        segments = _segments(seglen_a)
        if a.ndim < 2 or b.ndim < 3 or segments.outputs != b.shape[-3] or segments.inputs != a.shape[-2]:
            raise ShapeError(
                f"segment_mm: {segments.outputs} lengths add up to {segments.inputs}; a is {tuple(a.shape)} and b is "
                f"{tuple(b.shape)}, so {b.shape[-3] if b.ndim > 2 else '?'} lengths must add up to the rows of a"
            )
        return gather_mm(a, b, segments)

    made = (segment_sum, segment_mean, segment_logsumexp, segment_softmax, segment_max, segment_min)
    return (*made, gather_mm, segment_mm)
