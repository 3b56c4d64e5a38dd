# SPDX-License-Identifier: Apache-2.0
"""Log-determinants and traces of what cannot be factored, estimated from probes, each with its standard error.

Probes are columns z with E[z z^H] = I: a number of them, which are signs at random decided by the seed, or an array
(n, k) of one's own. Both take a Pattern (its solver with default options) or a Solver, an iterative one where nothing
can be factored.
"""

import operator

import numpy as np

from .._core import context, ffi, lib, release
from .._handle import expect
from ..errors import ArgumentError, ShapeError, SymmetryError
from ..pattern import Pattern
from ..solver import Solver
from .front import constant, moved

_COMPLEX = (lib.LAC_C64, lib.LAC_C128)


def _solver(given):
    return given.solver() if isinstance(given, Pattern) else given


def _mirror(given):
    pattern = _solver(given).pattern
    turned, map_ = pattern.transpose()
    if not turned.same(pattern):
        raise SymmetryError("logdet_estimate: the pattern is not symmetric; store both halves of the Hermitian matrix")
    return moved(map_)


def _signs(rows, count, seed):
    """The numbers of lac_probes, which depend on nothing but these."""
    ctx, out = context(), ffi.new("lac_tape **")
    ctx.check(lib.lac_tape_create(ctx.c, lib.LAC_RECORD, out))
    tape = ffi.gc(out[0], release(lib.lac_tape_destroy, "lac_tape"))
    probes = lib.lac_probes(tape, lib.LAC_F64, rows, count, seed)
    ctx.check(lib.lac_tape_status(tape))
    signs = np.empty((rows, count))
    ctx.check(lib.lac_array_read(ctx.c, lib.lac_tape_value(tape, probes), ffi.from_buffer(signs)))
    return signs


PREPARE = {
    "logdet_estimate.mirror": _mirror,
    "logdet_estimate.run": lambda s, steps: ("logdet_estimate", [_solver(s)], (steps,)),
}
_kept_signs = constant(_signs, keep=4)


def functions(front):
    apply, resolve, plain, along = front.apply, front.resolve, front.plain, front.along
    asarray, values, made = front.asarray, front.values, front.made
    mean, norm, scale = (made[name] for name in ("mean", "norm", "scale"))

    def probed(who, solver, a, probes, seed):
        """The probes as an array (n, k) beside a."""
        if hasattr(probes, "shape"):
            z = asarray(probes)
            if z.ndim < 2 or z.shape[-1] < 1:
                raise ShapeError(f"{who}: probes have shape {tuple(z.shape)}; give columns (n, k), at least one")
            return z
        count = operator.index(probes)
        if count < 1:
            raise ArgumentError(f"{who}: {count} probes; give at least one, two for an error")
        return front.placed(_kept_signs(solver.shape[0], count, operator.index(seed)), a)

    def probes(like, rows, count, seed=0):
        """(rows, count) signs at random in the dtype, and on the device, of the array `like`: the same for the same
        seed, and more columns leave the first ones as they are."""
        rows, count, seed = (operator.index(i) for i in (rows, count, seed))
        return front.placed(_kept_signs(rows, count, seed), asarray(like))

    def logdet_estimate(solver, a, probes=20, steps=0, seed=0):
        """(estimate, error) of log det of the Hermitian part of A, positive definite, by Lanczos quadrature: `steps`
        from each probe, 50 by default. Both are real; the error is that of chance alone, and NaN of one probe.

        The gradient is an unbiased estimate of that of log det A, (A^-1 z) z^H with the same probes, and not the
        derivative of the estimate: with random probes gradcheck finds the two apart. Higher orders are derivatives of
        the gradient.
        """
        keys = (expect("logdet_estimate", solver, Pattern, Solver),)
        a = values("logdet_estimate", solver if isinstance(solver, Pattern) else solver.pattern, a)
        half = scale(0.5, a)
        mirror = along(resolve("logdet_estimate.mirror", keys), half)
        h = plain("add", half, plain("conj", mirror) if front.code(a.dtype) in _COMPLEX else mirror)
        z = probed("logdet_estimate", solver, a, probes, seed)
        return apply(resolve("logdet_estimate.run", keys, (operator.index(steps),)), (), h, z)

    def trace_solve_estimate(solver, a, pb, b, probes=20, seed=0):
        """(estimate, error) of tr(A^-1 B), any square A and B with the pattern pb: one solve for each probe. The error
        is the standard error; derivatives are those of the estimate."""
        expect("trace_solve_estimate", solver, Pattern, Solver)
        expect("trace_solve_estimate", pb, Pattern)
        a = asarray(a)
        z = probed("trace_solve_estimate", solver, a, probes, seed)
        b = values("trace_solve_estimate", pb, b)
        x = made["solve"](solver, a, made["spmm"](pb, b, z))
        t = made["sum"](plain("mul", plain("conj", z) if front.code(z.dtype) in _COMPLEX else z, x), axes=-2)
        k = z.shape[-1]
        spread = norm(plain("sub", t, mean(t, axes=-1, keepdims=True)), axes=-1)
        return mean(t, axes=-1), scale((k * (k - 1)) ** -0.5 if k > 1 else float("nan"), spread)

    return probes, logdet_estimate, trace_solve_estimate
