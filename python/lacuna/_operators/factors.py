# SPDX-License-Identifier: Apache-2.0
"""Factors of matrices as arrays, and least squares: functions made of operators."""

import numpy as np

from .._core import lib
from .._handle import expect, word
from ..errors import DtypeError, PatternError, ShapeError
from ..pattern import Pattern
from ..solver import ORDERINGS, Solver
from .front import NO_OBJECTS, moved

_OWN, _BOTH = -1, -2  # places beside the orderings: the pattern itself, with its transpose
_NONZERO, _POSITIVE = lib.LAC_PIVOTS_NONZERO, lib.LAC_PIVOTS_POSITIVE
_COMPLEX = (lib.LAC_C64, lib.LAC_C128)
_FULL_RANK = 1  # asked of solve_with: a system whose matrix has not full rank is refused
_ALPHA = {code: 2.0**-13 if code in (lib.LAC_F32, lib.LAC_C64) else 2.0**-36 for code in range(4)}  # small beside A


def _place(pattern, place):
    """Where elimination takes place: (pattern, the map of values there, [the map of steps to rows])."""
    if place == _OWN:
        return pattern, None, []
    if place == _BOTH:
        both, map_, _ = pattern.union(pattern.transpose()[0])
        return both, map_, []
    filled, map_, steps = pattern._fill(place)
    return filled, map_, [steps]


def _lu(pattern, place, pivots):
    where, _, steps = _place(pattern, place)
    return "lu_values", [where, *steps], (pivots,)


def _system(pattern, solver):
    if solver is None:
        solver = pattern.lstsq_solver()
    if not solver.pattern.same(pattern.augmented()[0]):
        raise PatternError("lstsq: the solver is one of another pattern; make it of pattern.augmented()[0]")
    (m, n), shorter = pattern.shape, min(pattern.shape)
    begin = m if m >= n else 0
    return "solve_with", [solver], (lib.LAC_N, _FULL_RANK, begin, begin + shorter)


PREPARE = {
    "factors.in": lambda p, place: None if place == _OWN else moved(_place(p, place)[1]),
    "factors.transpose": lambda p, place: moved(_place(p, place)[0].transpose()[1]),
    "factors.lu": _lu,
    "factors.below": lambda p, place: moved(_place(p, place)[0].tril(-1)[1]),
    "factors.put": lambda p, place: ("remap", [_place(p, place)[0].tril()[0].tril(-1)[1]], (lib.LAC_T,)),
    "factors.ones": lambda p, place: ("remap", [_place(p, place)[0].tril()[0].diagonal()], (lib.LAC_T,)),
    "factors.upper": lambda p, place: moved(_place(p, place)[0].triu()[1]),
    "factors.diagonal": lambda p, place: ("remap", [_place(p, place)[0].diagonal()], (lib.LAC_N,)),
    "factors.scale": lambda p, place: ("segment_scale", [_place(p, place)[0].tril()[0].col_map()], ()),
    "lstsq.system": lambda p: ("remap", [p.augmented()[1]], (lib.LAC_N,)),
    "lstsq.solve": lambda p, solver=None: _system(p, solver),
    "lstsq.matrix": lambda solver: ("lstsq_with", [solver], (lib.LAC_N,)),
}


def functions(front):
    apply, resolve, plain = front.apply, front.resolve, front.plain
    asarray, number, values, along, spread = front.asarray, front.number, front.values, front.along, front.spread
    made = front.made
    cast, scale, square, reciprocal = (made[name] for name in ("cast", "scale", "square", "reciprocal"))
    concat, slice_, sparse_max = (made[name] for name in ("concat", "slice", "sparse_max"))

    def is_complex(x):
        return front.code(x.dtype) in _COMPLEX

    def named(name, pattern, place, *arrays):
        return apply(resolve(name, (pattern.key,), (place,)), (), *arrays)

    def start(who, pattern, a):
        """Values of a square matrix."""
        expect(who, pattern, Pattern)
        if pattern.shape[0] != pattern.shape[1]:
            raise ShapeError(f"{who}: the pattern has shape {pattern.shape}; it must be square")
        return values(who, pattern, a)

    def eliminate(pattern, place, pivots, c):
        return apply(resolve("factors.lu", (pattern.key,), (place, pivots)), (), c)

    def lower(pattern, place, lu):
        """L of L\\U, its ones put in."""
        below = along(resolve("factors.below", (pattern.key,), (place,)), lu)
        ones = named("factors.ones", pattern, place, spread(1, lu, pattern.shape[0]))
        return plain("add", named("factors.put", pattern, place, below), ones)

    def both(pattern, place, a):
        c = along(resolve("factors.in", (pattern.key,), (place,)), a)
        lu = eliminate(pattern, place, _NONZERO, c)
        return lower(pattern, place, lu), along(resolve("factors.upper", (pattern.key,), (place,)), lu)

    def symmetric(pattern, place, pivots, a):
        """L and D of the Hermitian part."""
        half = along(resolve("factors.in", (pattern.key,), (place,)), scale(0.5, a))
        mirror = along(resolve("factors.transpose", (pattern.key,), (place,)), half)
        h = plain("add", half, plain("conj", mirror) if is_complex(mirror) else mirror)
        lu = eliminate(pattern, place, pivots, h)
        d = named("factors.diagonal", pattern, place, lu)
        return lower(pattern, place, lu), plain("real", d) if is_complex(d) else d

    def rooted(pattern, place, a):
        l, d = symmetric(pattern, place, _POSITIVE, a)
        return named("factors.scale", pattern, place, cast(plain("sqrt", d), l.dtype), l)

    def lu(pattern, a, ordering="auto"):
        """(L, U) of A[order][:, order] = L U without pivoting, on the triangles of F = pattern.fill(ordering)[0]: L on
        F.tril()[0], its ones stored, U on F.triu()[0]."""
        a = start("lu", pattern, a)
        return both(pattern, word("ordering", ordering, ORDERINGS), a)

    def ldlt(pattern, a, ordering="auto"):
        """(L, D) of H[order][:, order] = L D L^H without pivoting, H = (A + A^H) / 2; L on F.tril()[0] of
        F = pattern.fill(ordering)[0], its ones stored; D (n), real."""
        a = start("ldlt", pattern, a)
        return symmetric(pattern, word("ordering", ordering, ORDERINGS), _NONZERO, a)

    def cholesky(pattern, a, ordering="auto"):
        """L of H[order][:, order] = L L^H, H = (A + A^H) / 2, on F.tril()[0] of F = pattern.fill(ordering)[0]. A matrix
        that is not positive definite is an error that names the row."""
        a = start("cholesky", pattern, a)
        return rooted(pattern, word("ordering", ordering, ORDERINGS), a)

    def ilu0(pattern, a):
        """(L, U) with L U = A where A has entries: L on pattern.tril()[0], its ones stored, U on pattern.triu()[0]."""
        return both(pattern, _OWN, start("ilu0", pattern, a))

    def ic0(pattern, a):
        """L with L L^H = (A + A^H) / 2 where A has entries, on its lower triangle (and that of A^H where A is not
        symmetric in structure)."""
        return rooted(pattern, _BOTH, start("ic0", pattern, a))

    def damping(damp, most):
        """damp as (.., 1), of a real dtype."""
        if isinstance(damp, np.generic) or not hasattr(damp, "dtype"):
            damp = number(damp, most, "lstsq")
        damp = asarray(damp)
        if damp.dtype != most.dtype:
            raise DtypeError(f"lstsq: damp has dtype {damp.dtype}; beside these values it must be {most.dtype}")
        return damp[..., None]

    def lstsq(pattern, a, b, damp=None, solver=None, residual=False):
        """x that minimises |A x - b|^2 + |damp x|^2, and of all such x, where A is wide, is the shortest.

        A of any shape, b (m,) or (m, k); damp is a number, or an array with one for each of the batch. Differentiable
        in a, b and damp. residual: (x, b - A x). solver: a Solver of pattern.augmented()[0]: a matrix that has not full
        rank, and is not damped, is a SingularError. Or "lsmr", "lsqr", or a Solver that is one of them, of the pattern
        (with damp: of pattern.damped()), which iterates to its tolerance.
        """
        key, (m, n) = expect("lstsq", pattern, Pattern), pattern.shape
        a, b, tall = values("lstsq", pattern, a), asarray(b), m >= n
        if b.ndim == 1:
            both = lstsq(pattern, a, b[:, None], damp, solver, True)
            return (both[0][..., 0], both[1][..., 0]) if residual else both[0][..., 0]
        if b.ndim < 2 or b.shape[-2] != m:
            raise ShapeError(f"lstsq: b has shape {tuple(b.shape)}; it must be ({m},) or (.., {m}, k)")
        if by_matrix(pattern, solver, damp is not None):
            return iterated(pattern, a, b, damp, solver, residual)
        small = _ALPHA[front.code(a.dtype)]
        most = sparse_max(pattern, plain("abs", a), 0 if tall else 1)
        delta = None if damp is None else damping(damp, most)
        if delta is not None:
            most = plain("add", most, plain("abs", delta))
            delta = cast(delta, a.dtype)
        d = cast(reciprocal(plain("magnitude", most)), a.dtype)
        scaled = (made["scale_cols"](pattern, a, d)) if tall else made["scale_rows"](pattern, d, a)
        alpha = spread(small, a, m if tall else n)
        damped = spread(0, a, n if tall else m) if delta is None else scale(-1 / small, square(plain("mul", d, delta)))
        first, second = (alpha, damped) if tall else (damped, alpha)
        mirror = plain("conj", scaled) if is_complex(a) else scaled
        system = apply(resolve("lstsq.system", (key,)), (), concat([first, scaled, mirror, second], -1))
        right = b if tall else plain("mul", d[..., None], b)
        right = apply(resolve("embed", NO_OBJECTS, (1, 0, m, 1)), (*right.shape[:-2], m + n, right.shape[-1]), right)
        keys = (key,) if solver is None else (key, expect("lstsq", solver, Solver))
        z = apply(resolve("lstsq.solve", keys, (), (small,)), (), system, right)
        x = slice_(z, -2, m, m + n)
        x = plain("mul", d[..., None], x) if tall else x
        return (x, rest(slice_(z, -2, 0, m), small, d, delta, tall)) if residual else x

    def by_matrix(pattern, solver, damped):
        """Whether it is a solver of the matrix itself, or over the identity."""
        if solver is None or isinstance(solver, str):
            return solver is not None
        expect("lstsq", solver, Solver)
        if damped and solver.pattern.shape == (sum(pattern.shape), pattern.shape[1]):
            return solver.pattern.same(pattern.damped())
        return not damped and solver.pattern.same(pattern)

    def iterated(pattern, a, b, damp, solver, residual):
        if isinstance(solver, str):
            word("solver", solver, dict.fromkeys(("lsmr", "lsqr")))
            solver = pattern.lstsq_solver(solver, damp is not None)
        (m, n), stack, right = pattern.shape, a, b
        if damp is not None:
            delta = damping(damp, plain("abs", a))
            stack = concat([a, plain("mul", spread(1, a, n), cast(delta, a.dtype))], -1)
            right = apply(resolve("embed", NO_OBJECTS, (1, 0, m, 1)), (*b.shape[:-2], m + n, b.shape[-1]), b)
        x = apply(resolve("lstsq.matrix", (solver.key,)), (), stack, right)
        return (x, plain("sub", b, made["spmm"](pattern, a, x))) if residual else x

    def rest(s, small, d, delta, tall):
        """b - A x of the first part of the system's solution."""
        if tall or delta is None:
            return scale(small if tall else 0, s)
        return scale(-1 / small, plain("mul", plain("mul", plain("mul", d, delta), delta)[..., None], s))

    return (lu, ldlt, cholesky, ilu0, ic0, lstsq)
