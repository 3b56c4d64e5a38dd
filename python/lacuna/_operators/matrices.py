# SPDX-License-Identifier: Apache-2.0
"""Functions over the lines of matrices, over several matrices, and norms, made of operators."""

import operator

import numpy as np

from .._core import lib
from .._handle import expect, word
from ..errors import ArgumentError
from ..pattern import Pattern
from .front import moved

PREPARE = {
    "row_sum": lambda p: ("remap", [p.row_map()], (lib.LAC_N,)),
    "col_sum": lambda p: ("remap", [p.col_map()], (lib.LAC_N,)),
    "diagonal": lambda p: ("remap", [p.diagonal()], (lib.LAC_N,)),
    "scale_rows": lambda p: ("segment_scale", [p.row_map()], ()),
    "scale_cols": lambda p: ("segment_scale", [p.col_map()], ()),
    "hadamard.a": lambda pa, pb: moved(pa.intersection(pb)[1]),
    "hadamard.b": lambda pa, pb: moved(pa.intersection(pb)[2]),
    "kron.z": lambda pa, pb: moved(pa.kron(pb)[1]),
    "line": lambda p, op, rows, *ints: (_LINES[op], [p.row_map() if rows else p.col_map()], ints),
}
_LINES = ("segment_logsumexp", "segment_softmax", "segment_max")
_LOGSUMEXP, _SOFTMAX, _MAX = range(3)
_DIMS = {0: 0, -2: 0, 1: 1, -1: 1}  # 1: a number for each row
_ORDERS = {"fro": "fro", "1": 1, "inf": "inf", "2": 2, 1: 1, 2: 2, np.inf: "inf"}


def functions(front):
    apply, resolve, plain = front.apply, front.resolve, front.plain
    values, along, spread, concat = front.values, front.along, front.spread, front.made["concat"]

    def named(op, pattern, *arrays):
        return apply(resolve(op, (expect(op, pattern, Pattern),)), (), *arrays)

    def row_sum(pattern, a):
        """The sum of each row: (nnz) -> (rows)."""
        return named("row_sum", pattern, a)

    def col_sum(pattern, a):
        """The sum of each column: (nnz) -> (cols)."""
        return named("col_sum", pattern, a)

    def diagonal(pattern, a):
        """The diagonal, 0 where it is not stored: (nnz) -> (min(rows, cols))."""
        return named("diagonal", pattern, a)

    def trace(pattern, a):
        """The sum of the diagonal."""
        return plain("sum", diagonal(pattern, a), ints=(1, 0))

    def scale_rows(pattern, d, a):
        """The values of diag(d) A."""
        return named("scale_rows", pattern, d, a)

    def scale_cols(pattern, a, d):
        """The values of A diag(d)."""
        return named("scale_cols", pattern, d, a)

    def hadamard(pa, a, pb, b):
        """The values of A .* B on the first of pa.intersection(pb)."""
        keys = (expect("hadamard", pa, Pattern), expect("hadamard", pb, Pattern))
        a, b = values("hadamard", pa, a), values("hadamard", pb, b)
        return plain("mul", along(resolve("hadamard.a", keys), a), along(resolve("hadamard.b", keys), b))

    def kron(pa, a, pb, b):
        """The values of the Kronecker product on the first of pa.kron(pb)."""
        keys = (expect("kron", pa, Pattern), expect("kron", pb, Pattern))
        outer = plain("mul", values("kron", pa, a)[..., :, None], values("kron", pb, b)[..., None, :])
        return along(resolve("kron.z", keys), outer.reshape((*outer.shape[:-2], pa.nnz * pb.nnz)))

    def block_diag(patterns, arrays):
        """The values on the first of Pattern.block_diag(patterns): one matrix's behind the other's."""
        patterns, arrays = list(patterns), list(arrays)
        for pattern in patterns:
            expect("block_diag", pattern, Pattern)
        if len(patterns) != len(arrays) or not patterns:
            raise ArgumentError(f"block_diag: {len(patterns)} patterns and {len(arrays)} arrays; give as many, some")
        return concat([values("block_diag", p, a) for p, a in zip(patterns, arrays)], -1)

    def line(op, who, pattern, a, dim, include_zeros, *ints):
        """A reduction of each row (dim 1 or -1) or column (0 or -2)."""
        key, rows = expect(who, pattern, Pattern), word("dim", dim, _DIMS)
        full = pattern.shape[1 if rows else 0] if include_zeros else 0
        return apply(resolve("line", (key,), (op, rows, full, *ints)), (), a)

    def kept(y, dim, keepdim):
        return y if not keepdim else y[..., :, None] if _DIMS[dim] else y[..., None, :]

    def sparse_logsumexp(pattern, a, dim, keepdim=False, include_zeros=True):
        """log of the sum of exp of each row (dim=1) or column (dim=0), the reduced dimension kept with size 1 if asked.

        include_zeros: absent entries are zeros, as in the dense matrix; else they are nothing, an empty line is -inf.
        """
        y = line(_LOGSUMEXP, "sparse_logsumexp", pattern, a, dim, include_zeros)
        return kept(y, dim, keepdim)

    def sparse_bidir_logsumexp(pattern, a, keepdim=False, include_zeros=True, output_layout="tuple"):
        """(over each column, over each row); output_layout "padded": (2, max(rows, cols)), the shorter ends with
        -inf."""
        padded = word("output_layout", output_layout, {"tuple": False, "padded": True})
        both = [sparse_logsumexp(pattern, a, d, keepdim and not padded, include_zeros) for d in (0, 1)]
        if not padded:
            return tuple(both)
        longest = max(pattern.shape)
        return plain("concat", *[pad(y, longest)[..., None, :] for y in both], ints=(1,))

    def pad(y, length):
        missing = length - y.shape[-1]
        if not missing:
            return y
        return plain("concat", y, spread(-np.inf, y, missing), ints=(0,))

    def sparse_softmax(pattern, a, dim, include_zeros=False):
        """The weights exp(a) / sum of the stored entries of each row (dim=1) or column (dim=0)."""
        return line(_SOFTMAX, "sparse_softmax", pattern, a, dim, include_zeros)

    def sparse_max(pattern, a, dim, keepdim=False, include_zeros=True):
        """The largest number of each row (dim=1) or column (dim=0); ties share the gradient."""
        return kept(line(_MAX, "sparse_max", pattern, a, dim, include_zeros, lib.LAC_LARGEST), dim, keepdim)

    def sparse_min(pattern, a, dim, keepdim=False, include_zeros=True):
        """The smallest number of each row (dim=1) or column (dim=0); ties share the gradient."""
        return kept(line(_MAX, "sparse_min", pattern, a, dim, include_zeros, lib.LAC_SMALLEST), dim, keepdim)

    def matrix_norm(pattern, a, ord="fro", tolerance=0.0, steps=0):
        """The norm of a matrix: "fro", 1, inf, or 2: the largest singular value, to a relative residual in so many
        steps (0: the defaults), else a ConvergenceError. Norm 2 can be differentiated once."""
        expect("matrix_norm", pattern, Pattern)
        kind, a = word("ord", ord, _ORDERS), values("matrix_norm", pattern, a)
        if kind == 2 and pattern.nnz:
            return apply(resolve("norm2", (pattern.key,), (operator.index(steps),), (float(tolerance),)), (), a)[0]
        if kind == "fro" or not pattern.nnz:
            return plain("norm", a, ints=(1, 0))
        sums = (col_sum if kind == 1 else row_sum)(pattern, plain("abs", a))
        return plain("max", sums, ints=(1, 0))

    made = (row_sum, col_sum, diagonal, trace, scale_rows, scale_cols, hadamard, kron, block_diag, matrix_norm)
    return (*made, sparse_logsumexp, sparse_bidir_logsumexp, sparse_softmax, sparse_max, sparse_min)
