# SPDX-License-Identifier: Apache-2.0
"""Products, sums and solves of sparse matrices, and values along maps."""

from .._core import lib
from .._handle import expect, word
from ..format import Format
from ..pattern import Map, Pattern
from ..solver import Factor, Solver
from .front import SIDES, moved

_TRIANGLES = {"lower": lib.LAC_LOWER, "upper": lib.LAC_UPPER}
_DIAGONALS = {"stored": lib.LAC_STORED, "unit": lib.LAC_UNIT}


def _triangle(pattern, triangle, diagonal):
    """The part that trisolve reads, and the map that takes values there: without the diagonal when it is unit."""
    if triangle == lib.LAC_LOWER:
        return pattern.tril(-1 if diagonal == lib.LAC_UNIT else 0)
    return pattern.triu(1 if diagonal == lib.LAC_UNIT else 0)


def _solving(solver):
    """A solver or factor, and the pattern of its values where that has blocks."""
    return [solver] if solver.pattern.blocks == (1, 1) else [solver, solver.pattern]


PREPARE = {
    "solve": lambda s, side: ("solve_with", _solving(s.solver() if isinstance(s, Pattern) else s), (side,)),
    "spgemm.c": lambda pa, pb: ("spgemm", [pa, pb, pa.product(pb)], ()),
    "spadd.a": lambda pa, pb: moved(pa.union(pb)[1]),
    "spadd.b": lambda pa, pb: moved(pa.union(pb)[2]),
    "to_dense": lambda p: ("remap", [p.dense()], (lib.LAC_N,)),
    "trisolve.x": lambda p, side, *part: ("trisolve", [_triangle(p, *part)[0]], (side, *part)),
    "trisolve.a": lambda p, *part: moved(_triangle(p, *part)[1]),
}


def functions(front):
    apply, resolve, plain = front.apply, front.resolve, front.plain
    column, values, along = front.column, front.values, front.along

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

    def sell_mm(format, a, x):
        """y = A x with A in sliced ELL: a is remap(format.map, values), x (n, k) or (n,)."""
        return column(resolve("sell_mm", (expect("sell_mm", format, Format),)), a, x)

    def spadd(pa, a, pb, b):
        """The values of A + B on the first of pa.union(pb)."""
        keys = (expect("spadd", pa, Pattern), expect("spadd", pb, Pattern))
        names = resolve("spadd.a", keys), resolve("spadd.b", keys)
        return plain("add", along(names[0], values("spadd", pa, a)), along(names[1], values("spadd", pb, b)))

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
        part = (word("triangle", triangle, _TRIANGLES), word("diagonal", diagonal, _DIAGONALS))
        name = resolve("trisolve.x", keys, (word("side", side, SIDES), *part))
        return column(name, along(resolve("trisolve.a", keys, part), values("trisolve", pattern, a)), b)

    def solve(solver, a, b, side="N"):
        """x = op(A)^-1 b, with a Pattern (solver with default options), a Solver, or a Factor of just these values."""
        key = expect("solve", solver, Pattern, Solver, Factor)
        return column(resolve("solve", (key,), (word("side", side, SIDES),)), a, b)

    return (spmm, sddmm, spgemm, sampled_spgemm, sell_mm, spadd, remap, to_dense, trisolve, solve)
