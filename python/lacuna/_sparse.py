# SPDX-License-Identifier: Apache-2.0
"""Functions over the lines of matrices, over several matrices and over groups, made of operators for each front end."""

import operator

import numpy as np

from ._core import lib
from ._handle import expect, word
from .errors import ArgumentError, ShapeError
from .pattern import Map, Pattern

# Where a spec wants the maps of a pattern: (operator, objects, attributes), as in _front.
PREPARE = {
    "row_sum": lambda p: ("remap", [p.row_map()], (lib.LAC_N,)),
    "col_sum": lambda p: ("remap", [p.col_map()], (lib.LAC_N,)),
    "diagonal": lambda p: ("remap", [p.diagonal()], (lib.LAC_N,)),
    "scale_rows": lambda p: ("segment_scale", [p.row_map()], ()),
    "scale_cols": lambda p: ("segment_scale", [p.col_map()], ()),
    "hadamard.a": lambda pa, pb: ("remap", [pa.intersection(pb)[1]], (lib.LAC_N,)),
    "hadamard.b": lambda pa, pb: ("remap", [pa.intersection(pb)[2]], (lib.LAC_N,)),
    "kron.z": lambda pa, pb: ("remap", [pa.kron(pb)[1]], (lib.LAC_N,)),
    "line": lambda p, op, rows, *ints: (_LINES[op], [p.row_map() if rows else p.col_map()], ints),
}
ELIDED = ("hadamard.a", "hadamard.b", "kron.z")
_LINES = ("segment_logsumexp", "segment_softmax", "segment_max")
_LOGSUMEXP, _SOFTMAX, _MAX = range(3)
_DIMS = {0: 0, -2: 0, 1: 1, -1: 1}  # 1: a number for each row
_ORDERS = {"fro": "fro", "1": 1, "inf": "inf", "2": 2, 1: 1, 2: 2, np.inf: "inf"}


def groups(who, index, count):
    """The map of indices, each of which names one of `count`; a Map is taken as it is."""
    if isinstance(index, Map):
        if index.outputs != count:
            raise ShapeError(f"{who}: the map names {index.outputs} matrices and there are {count}")
        return index
    index = np.asarray(index.detach().cpu() if hasattr(index, "detach") else index)
    if index.size and index.dtype.kind in "iu" and index.min() < 0:
        raise ArgumentError(f"{who}: index {int(index.argmin())} is {index.min()}; indices are 0..{count - 1}")
    return Map(index, count)


def functions(resolve, apply, asarray, number):
    """The functions by name, over a front end's way to apply an operator (see _front.operators)."""

    def named(op, who, pattern, *arrays, ints=()):
        return apply(resolve(op, (expect(who, pattern, Pattern),), ints), (), *arrays)

    def values(who, pattern, x):
        x = asarray(x)
        if tuple(x.shape[-1:]) != (pattern.nnz,):
            raise ShapeError(f"{who}: values have shape {tuple(x.shape)}; their last dimension must be {pattern.nnz}")
        return x

    def along(name, x):
        return apply(name, (), x) if name else x

    def spread(value, x, length):
        """A frozen number, so many times, beside x."""
        return apply(resolve("broadcast", ("0",), (1, 0)), (length,), number(value, x, "spread"))

    def mul(x, y):
        return apply(resolve("mul", ("0",)), (), x, y)

    def row_sum(pattern, a):
        """The sum of each row: (nnz) -> (rows)."""
        return named("row_sum", "row_sum", pattern, a)

    def col_sum(pattern, a):
        """The sum of each column: (nnz) -> (cols)."""
        return named("col_sum", "col_sum", pattern, a)

    def diagonal(pattern, a):
        """The diagonal, 0 where it is not stored: (nnz) -> (min(rows, cols))."""
        return named("diagonal", "diagonal", pattern, a)

    def trace(pattern, a):
        """The sum of the diagonal."""
        return apply(resolve("sum", ("0",), (1, 0)), (), diagonal(pattern, a))

    def scale_rows(pattern, d, a):
        """The values of diag(d) A."""
        return named("scale_rows", "scale_rows", pattern, d, a)

    def scale_cols(pattern, a, d):
        """The values of A diag(d)."""
        return named("scale_cols", "scale_cols", pattern, d, a)

    def hadamard(pa, a, pb, b):
        """The values of A .* B on the first of pa.intersection(pb)."""
        keys = (expect("hadamard", pa, Pattern), expect("hadamard", pb, Pattern))
        a, b = values("hadamard", pa, a), values("hadamard", pb, b)
        return mul(along(resolve("hadamard.a", keys), a), along(resolve("hadamard.b", keys), b))

    def kron(pa, a, pb, b):
        """The values of the Kronecker product on the first of pa.kron(pb)."""
        keys = (expect("kron", pa, Pattern), expect("kron", pb, Pattern))
        outer = mul(values("kron", pa, a)[..., :, None], values("kron", pb, b)[..., None, :])
        return along(resolve("kron.z", keys), outer.reshape((*outer.shape[:-2], pa.nnz * pb.nnz)))

    def block_diag(patterns, arrays):
        """The values on the first of Pattern.block_diag(patterns): one matrix's behind the other's."""
        for pattern in patterns:
            expect("block_diag", pattern, Pattern)
        if len(patterns) != len(arrays) or not patterns:
            raise ArgumentError(f"block_diag: {len(patterns)} patterns and {len(arrays)} arrays; give as many, some")
        z, *rest = [values("block_diag", p, a) for p, a in zip(patterns, arrays)]
        for a in rest:
            z = apply(resolve("concat", ("0",), (0,)), (), z, a)
        return z

    def line(op, who, pattern, a, dim, include_zeros, *ints):
        """A reduction of each row (dim 1 or -1) or column (0 or -2)."""
        expect(who, pattern, Pattern)
        rows = word("dim", dim, _DIMS)
        full = pattern.shape[1 if rows else 0] if include_zeros else 0
        return named("line", who, pattern, a, ints=(op, rows, full, *ints))

    def kept(y, dim, keepdim):
        return y if not keepdim else y[..., :, None] if _DIMS[dim] else y[..., None, :]

    def sparse_logsumexp(pattern, a, dim, keepdim=False, include_zeros=True):
        """log of the sum of exp of each row (dim=1) or column (dim=0), the reduced dimension kept with size 1 if asked.

        include_zeros: absent entries are zeros, as in the dense matrix; else they are nothing, an empty line is -inf.
        """
        y = line(_LOGSUMEXP, "sparse_logsumexp", pattern, a, dim, include_zeros)
        return kept(y, dim, keepdim)

    def sparse_bidir_logsumexp(pattern, a, keepdim=False, include_zeros=True, output_layout="tuple"):
        """(over each column, over each row); output_layout "padded": (2, max(rows, cols)), the shorter ends with -inf."""
        padded = word("output_layout", output_layout, {"tuple": False, "padded": True})
        both = [sparse_logsumexp(pattern, a, d, keepdim and not padded, include_zeros) for d in (0, 1)]
        if not padded:
            return tuple(both)
        longest = max(pattern.shape)
        return apply(resolve("concat", ("0",), (1,)), (), *[pad(y, longest)[..., None, :] for y in both])

    def pad(y, length):
        missing = length - y.shape[-1]
        if not missing:
            return y
        return apply(resolve("concat", ("0",), (0,)), (), y, spread(-np.inf, y, missing))

    def sparse_softmax(pattern, a, dim, include_zeros=False):
        """The weights exp(a) / sum of the stored entries of each row (dim=1) or column (dim=0)."""
        return line(_SOFTMAX, "sparse_softmax", pattern, a, dim, include_zeros)

    def sparse_max(pattern, a, dim, keepdim=False, include_zeros=True):
        """The largest number of each row (dim=1) or column (dim=0); ties share the gradient."""
        return kept(line(_MAX, "sparse_max", pattern, a, dim, include_zeros, lib.LAC_LARGEST), dim, keepdim)

    def sparse_min(pattern, a, dim, keepdim=False, include_zeros=True):
        """The smallest number of each row (dim=1) or column (dim=0); ties share the gradient."""
        return kept(line(_MAX, "sparse_min", pattern, a, dim, include_zeros, lib.LAC_SMALLEST), dim, keepdim)

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
        return apply(resolve("div", ("0",), (1,)), (), segment_sum(map, x), counts)

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
        map_ = groups("gather_mm", idx_b, b.shape[-3])  # it must live while its key is used
        return apply(resolve("gather_mm", (map_.key,), (lib.LAC_N,)), (), a, b)

    def segment_mm(a, b, seglen_a):
        """The first seglen_a[0] rows of a times b[0], the next seglen_a[1] times b[1], ...: the lengths add up to n."""
        a, b = asarray(a), asarray(b)
        lengths = np.asarray(seglen_a.detach().cpu() if hasattr(seglen_a, "detach") else seglen_a)
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
            raise ArgumentError("segment_mm: lengths are a list of integers, 0 or more")
        if a.ndim < 2 or b.ndim < 3 or lengths.size != b.shape[-3] or lengths.sum() != a.shape[-2]:
            raise ShapeError(
                f"segment_mm: {lengths.size} lengths add up to {lengths.sum()}; a is {tuple(a.shape)} and b is "
                f"{tuple(b.shape)}, so {b.shape[-3] if b.ndim > 2 else '?'} lengths must add up to the rows of a"
            )
        return gather_mm(a, b, np.repeat(np.arange(lengths.size), lengths))

    def matrix_norm(pattern, a, ord="fro", tolerance=0.0, steps=0):
        """The norm of a matrix: "fro", 1, inf, or 2: the largest singular value, to a relative residual in so many
        steps (0: the defaults), else a ConvergenceError. Norm 2 can be differentiated once."""
        expect("matrix_norm", pattern, Pattern)
        kind, a = word("ord", ord, _ORDERS), values("matrix_norm", pattern, a)
        if kind == 2 and pattern.nnz:
            return apply(resolve("norm2", (pattern.key,), (operator.index(steps),), (float(tolerance),)), (), a)[0]
        if kind == "fro" or not pattern.nnz:
            return apply(resolve("norm", ("0",), (1, 0)), (), a)
        a = apply(resolve("abs", ("0",)), (), a)
        return apply(resolve("max", ("0",), (1, 0)), (), (col_sum if kind == 1 else row_sum)(pattern, a))

    made = (row_sum, col_sum, diagonal, trace, scale_rows, scale_cols, hadamard, kron, block_diag, matrix_norm)
    made += (sparse_logsumexp, sparse_bidir_logsumexp, sparse_softmax, sparse_max, sparse_min, gather_mm, segment_mm)
    made += (segment_sum, segment_mean, segment_logsumexp, segment_softmax, segment_max, segment_min)
    return {function.__name__: function for function in made}
