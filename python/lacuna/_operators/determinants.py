# SPDX-License-Identifier: Apache-2.0
"""Determinants, inverses where a pattern has entries, traces and quadratic forms, by factors.

All take a Pattern (its solver with default options) or a Solver; logdet, slogdet, det and selected_inverse also a
Factor of just these values. Nothing is estimated, and every derivative of every order is there.
"""

from .._core import lib
from .._handle import expect
from ..errors import ShapeError
from ..pattern import Pattern
from ..solver import Factor, Solver
from .front import moved

_COMPLEX = (lib.LAC_C64, lib.LAC_C128)


def _solver(given):
    return given.solver() if isinstance(given, Pattern) else given


def _wide(solver, target):
    """The solver whose pattern has the entries of the target too."""
    return _solver(solver).covering(target)


def _embed(solver, target):
    return moved(_wide(solver, target).pattern.union(_solver(solver).pattern)[2])


def _invert(solver, target):
    return "selected_inverse", [_wide(solver, target)], ()


def _take(solver, target):
    map = _wide(solver, target).pattern.union(target)[2]
    return None if map.is_identity else ("remap", [map], (lib.LAC_T,))


def _diagonal(step):
    return lambda solver: step(solver, Pattern.eye(solver.shape[0]))


def _turned(step):
    return lambda solver, target: step(solver, target.transpose()[0])


_STEPS = {"embed": _embed, "invert": _invert, "take": _take}
PREPARE = {
    "logdet": lambda s: ("logdet", [_solver(s)], ()),
    "selected_inverse": lambda s: ("selected_inverse", [_solver(s)], ()),
    "inverse_on.turn": lambda t: ("remap", [t.transpose()[1]], (lib.LAC_T,)),
}
for _name, _step in _STEPS.items():
    PREPARE["trace_solve." + _name] = _step
    PREPARE["inverse_on." + _name] = _turned(_step)
    PREPARE["inverse_diagonal." + _name] = _diagonal(_step)


def functions(front):
    apply, resolve, plain, along = front.apply, front.resolve, front.plain, front.along
    asarray, values, made = front.asarray, front.values, front.made

    def of_factor(who, solver):
        return (expect(who, solver, Pattern, Solver, Factor),)

    def of_solver(who, solver):
        return (expect(who, solver, Pattern, Solver),)

    def both(who, solver, a):
        """(log det A, its sign), and whether they are complex."""
        a = asarray(a)
        return *apply(resolve("logdet", of_factor(who, solver)), (), a), front.code(a.dtype) in _COMPLEX

    def logdet(solver, a):
        """log|det A|; of a complex matrix log|det A| + i arg(det A), the principal branch."""
        return both("logdet", solver, a)[0]

    def slogdet(solver, a):
        """(sign, logabs) with det A = sign exp(logabs): sign is 1 or -1, of complex matrices the phase; logabs is
        real."""
        log, sign, is_complex = both("slogdet", solver, a)
        return sign, plain("real", log) if is_complex else log

    def det(solver, a):
        """det A. It overflows and underflows where the number does: slogdet does not."""
        log, sign, is_complex = both("det", solver, a)
        return plain("exp", log) if is_complex else plain("mul", sign, plain("exp", log))

    def selected_inverse(solver, a):
        """A^-T where A has entries: in the slot of (i, j) stands (A^-1)(j, i). The gradient of log|det A|,
        conjugated."""
        return apply(resolve("selected_inverse", of_factor("selected_inverse", solver)), (), a)

    def read_off(who, keys, a):
        """A^-T at the entries of the target of `who`."""
        a = along(resolve(who + ".embed", keys), asarray(a))
        return along(resolve(who + ".take", keys), apply(resolve(who + ".invert", keys), (), a))

    def inverse_on(solver, a, target):
        """A^-1 where the target pattern has entries, in its slots. Entries that A^T lacks widen what is factored."""
        keys = (*of_solver("inverse_on", solver), expect("inverse_on", target, Pattern))
        return apply(resolve("inverse_on.turn", keys[1:]), (), read_off("inverse_on", keys, a))

    def inverse_diagonal(solver, a):
        """The diagonal of A^-1: (nnz) -> (n)."""
        return read_off("inverse_diagonal", of_solver("inverse_diagonal", solver), a)

    def trace_solve(solver, a, pb, b):
        """tr(A^-1 B), B sparse with the pattern pb. Entries that A lacks widen what is factored."""
        keys = (*of_solver("trace_solve", solver), expect("trace_solve", pb, Pattern))
        z, b = read_off("trace_solve", keys, a), values("trace_solve", pb, b)
        return plain("dot", plain("conj", z)[..., None], b[..., None])

    def form(who, x, y, times):
        """x^H times(y) of each column; of vectors one number."""
        x, y = asarray(x), asarray(x if y is None else y)
        if x.ndim == 1 and y.ndim == 1:
            return form(who, x[:, None], y[:, None], times)[..., 0]
        if min(x.ndim, y.ndim) < 2:
            shapes = f"x has shape {tuple(x.shape)} and y {tuple(y.shape)}"
            raise ShapeError(f"{who}: {shapes}; they must be two vectors, or both have columns, (.., n, k)")
        y = times(y)
        if tuple(x.shape[-2:]) != tuple(y.shape[-2:]):
            raise ShapeError(
                f"{who}: x has shape {tuple(x.shape)}; it must end in {tuple(y.shape[-2:])}, rows and columns"
            )
        return made["sum"](plain("mul", plain("conj", x), y), axes=-2)

    def quadratic_form(pattern, a, x, y=None):
        """x^H A y of each column, y = x unless given: x (m, k), y (n, k), result (k); of vectors one number."""
        return form("quadratic_form", x, y, lambda y: made["spmm"](pattern, a, y))

    def inverse_quadratic_form(solver, a, x, y=None):
        """x^H A^-1 y of each column, y = x unless given: x (n, k), y (n, k), result (k); of vectors one number."""
        return form("inverse_quadratic_form", x, y, lambda y: made["solve"](solver, a, y))

    inverses = (selected_inverse, inverse_on, inverse_diagonal, trace_solve)
    return (logdet, slogdet, det, *inverses, quadratic_form, inverse_quadratic_form)
