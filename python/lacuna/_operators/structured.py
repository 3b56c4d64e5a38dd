# SPDX-License-Identifier: Apache-2.0
"""Structured matrices as Python functions: banded, tridiagonal, diagonal, circulant, Toeplitz, Kronecker."""

from operator import index

import numpy as np

from .._handle import expect, word
from ..errors import ShapeError
from ..pattern import Map, Pattern
from ..solver import Factor, Solver
from .front import NO_OBJECTS, SIDES, constant


@constant
def _tridiagonal(n):
    """The maps of the upper, main and lower diagonal into a band."""
    i = np.arange(n)
    return Map(i[1:], 3 * n), Map(n + i, 3 * n), Map(2 * n + i[: max(n - 1, 0)], 3 * n)


@constant
def _toeplitz(m, n):
    """The maps of the first column and row into the first column of a circulant."""
    size = 1 << max(m + n - 2, 0).bit_length()
    j = np.arange(n)
    return Map(np.arange(m), size), Map(np.where(j > 0, size - j, -1), size)


def functions(front):
    apply, resolve, plain = front.apply, front.resolve, front.plain
    asarray, column = front.asarray, front.column
    spmm, solve, remap = (front.made[name] for name in ("spmm", "solve", "remap"))

    def bands(lower_and_upper, ab, name):
        lower, upper = lower_and_upper
        ab = asarray(ab)
        if ab.ndim < 2 or ab.shape[-2] != lower + upper + 1:
            raise ShapeError(f"{name}: ab has shape {tuple(ab.shape)}; it must be ({lower} + {upper} + 1, n)")
        return lower, upper, ab

    def banded_mm(lower_and_upper, ab, x, rows=None, side="N"):
        """y = op(A) x for a banded A stored as SciPy stores it, ab[upper + i - j, j] = A[i, j]; square unless `rows`
        says."""
        lower, upper, ab = bands(lower_and_upper, ab, "banded_mm")
        ints = (word("side", side, SIDES), lower, upper, ab.shape[-1] if rows is None else rows)
        return column(resolve("banded_mm", NO_OBJECTS, ints), ab, x)

    def banded_outer(lower_and_upper, u, v):
        """The band of u v^H: u (rows, k), v (cols, k), or vectors."""
        u, v = asarray(u), asarray(v)
        u, v = (x[:, None] if x.ndim == 1 else x for x in (u, v))
        return plain("banded_outer", u, v, ints=(0, *lower_and_upper))

    def banded_gemm(bands_of_x, x, bands_of_y, y, target=None, sides=("N", "N")):
        """op(X) op(Y) of two square banded matrices on the band `target`, which by default holds all of it."""
        lx, ux, x = bands(bands_of_x, x, "banded_gemm")
        ly, uy, y = bands(bands_of_y, y, "banded_gemm")
        sx, sy = (word("side", s, SIDES) for s in sides)
        if target is None:
            down, up = ((ux, lx) if sx & 1 else (lx, ux)), ((uy, ly) if sy & 1 else (ly, uy))
            target = (down[0] + up[0], down[1] + up[1])
        return plain("banded_gemm", x, y, ints=(sx + 4 * sy, lx, ux, ly, uy, *target))

    def banded_solve(lower_and_upper, ab, b, side="N"):
        """x = op(A)^-1 b as scipy.linalg.solve_banded: (lower, upper), then the band, then b (n,) or (n, k)."""
        lower, upper, ab = bands(lower_and_upper, ab, "banded_solve")
        return column(resolve("banded_solve", NO_OBJECTS, (word("side", side, SIDES), lower, upper)), ab, b)

    def tridiagonal_solve(lower, diag, upper, b):
        """x = A^-1 b: lower (n - 1), diag (n), upper (n - 1)."""
        lower, diag, upper = asarray(lower), asarray(diag), asarray(upper)
        n = diag.shape[-1]
        off = max(n - 1, 0)
        if lower.shape[-1] != off or upper.shape[-1] != off:
            raise ShapeError(f"tridiagonal_solve: diag has {n} numbers; lower and upper must have {off}")
        maps = _tridiagonal(index(n))
        parts = [remap(m, x) for m, x in zip(maps, (upper, diag, lower))]
        ab = plain("add", plain("add", parts[0], parts[1]), parts[2])
        return banded_solve((1, 1), ab.reshape(ab.shape[:-1] + (3, n)), b)

    def diag_mm(d, x):
        """diag(d) x."""
        d = asarray(d)
        return banded_mm((0, 0), d[..., None, :], x)

    def diag_solve(d, b):
        """diag(d)^-1 b; a zero is an error that names it."""
        d = asarray(d)
        return banded_solve((0, 0), d[..., None, :], b)

    def circulant_mm(c, x, side="N"):
        """y = op(C) x with C[i, j] = c[(i - j) mod n], in O(n log n)."""
        return column(resolve("circulant_mm", NO_OBJECTS, (word("side", side, SIDES),)), c, x)

    def circulant_solve(c, b, side="N"):
        """x = op(C)^-1 b, as scipy.linalg.solve_circulant."""
        return column(resolve("circulant_solve", NO_OBJECTS, (word("side", side, SIDES),)), c, b)

    def toeplitz_mm(c, r, x, side="N"):
        """y = op(T) x, T = scipy.linalg.toeplitz(c, r) and never formed; r[0] is not read."""
        c, r, x = asarray(c), asarray(r), asarray(x)
        m, n = c.shape[-1], r.shape[-1]
        rows, out = (m, n) if SIDES.get(side, 0) & 1 else (n, m)
        if x.ndim == 1:
            return toeplitz_mm(c, r, x[:, None], side)[..., 0]
        if x.shape[-2] != rows:
            raise ShapeError(f"toeplitz_mm: x has {x.shape[-2]} rows; op(T) has {rows} columns")
        of_c, of_r = _toeplitz(index(m), index(n))
        first = plain("add", remap(of_c, c), remap(of_r, r))
        size = of_c.outputs
        long = apply(resolve("embed", NO_OBJECTS, (1, 0, rows, 1)), tuple(x.shape[:-2]) + (size, x.shape[-1]), x)
        y = plain("circulant_mm", first, long, ints=(word("side", side, SIDES),))
        return plain("slice", y, ints=(1, 0, out, 1))

    def columns(who, x, rows):
        """x, which must have so many rows, as (..., rows, k)."""
        x = asarray(x)
        if x.ndim < 1 or x.shape[-1 if x.ndim == 1 else -2] != rows:
            raise ShapeError(f"{who}: the operand has shape {tuple(x.shape)}; it must have {rows} rows")
        return x[:, None] if x.ndim == 1 else x

    def kron_mm(pa, a, pb, b, x, side="N"):
        """y = op(A (x) B) x, the Kronecker product never formed: rows of A outside, rows of B inside."""
        expect("kron_mm", pa, Pattern), expect("kron_mm", pb, Pattern)
        t, x, b = word("side", side, SIDES) & 1, asarray(x), asarray(b)
        (ma, na), (mb, nb) = (pa.shape[::-1], pb.shape[::-1]) if t else (pa.shape, pb.shape)
        is_vector, x = x.ndim == 1, columns("kron_mm", x, na * nb)
        batch, k = x.shape[:-2], x.shape[-1]
        y = spmm(pa, a, x.reshape(batch + (na, nb * k)), side)
        y = spmm(pb, b[..., None, :] if b.ndim > 1 else b, y.reshape(y.shape[:-2] + (ma, nb, k)), side)
        y = y.reshape(y.shape[:-3] + (ma * mb, k))
        return y[..., 0] if is_vector else y

    def kronsum_mm(pa, a, pb, b, x, side="N"):
        """y = op(A (x) I + I (x) B) x for square A and B."""
        expect("kronsum_mm", pa, Pattern), expect("kronsum_mm", pb, Pattern)
        (n, _), (m, _), x, b = pa.shape, pb.shape, asarray(x), asarray(b)
        if pa.shape != (n, n) or pb.shape != (m, m):
            raise ShapeError(f"kronsum_mm: A is {pa.shape} and B is {pb.shape}; both must be square")
        is_vector, x = x.ndim == 1, columns("kronsum_mm", x, n * m)
        batch, k = x.shape[:-2], x.shape[-1]
        outer = spmm(pa, a, x.reshape(batch + (n, m * k)), side)
        inner = spmm(pb, b[..., None, :] if b.ndim > 1 else b, x.reshape(batch + (n, m, k)), side)
        y = plain("add", outer.reshape(outer.shape[:-2] + (n * m, k)), inner.reshape(inner.shape[:-3] + (n * m, k)))
        return y[..., 0] if is_vector else y

    def kron_solve(sa, a, sb, b, y, side="N"):
        """x = op(A (x) B)^-1 y by a pattern, solver or factor of A and one of B."""
        for s in (sa, sb):
            expect("kron_solve", s, Pattern, Solver, Factor)
        n, m, y = sa.shape[0], sb.shape[0], asarray(y)
        is_vector, y = y.ndim == 1, columns("kron_solve", y, n * m)
        batch, k = y.shape[:-2], y.shape[-1]
        x = solve(sa, a, y.reshape(batch + (n, m * k)), side)
        x = x.reshape(x.shape[:-2] + (n, m, k)).swapaxes(-3, -2)  # b must stay as it is: a factor knows its values
        x = solve(sb, b, x.reshape(x.shape[:-3] + (m, n * k)), side)
        x = x.reshape(x.shape[:-2] + (m, n, k)).swapaxes(-3, -2)
        x = x.reshape(x.shape[:-3] + (n * m, k))
        return x[..., 0] if is_vector else x

    return (
        banded_mm, banded_outer, banded_gemm, banded_solve, tridiagonal_solve, diag_mm, diag_solve, circulant_mm,
        circulant_solve, toeplitz_mm, kron_mm, kronsum_mm, kron_solve,
    )  # fmt: skip
