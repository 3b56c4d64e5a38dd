# SPDX-License-Identifier: Apache-2.0
"""Matrices that nobody stores: a Python function computes their products, and C solves with them, or makes them
tridiagonal."""

import operator
from collections.abc import Iterator

import numpy as np

from ._callbacks import APPLY, Callback
from ._core import context, ffi, lib, sized
from ._numpy import promoted
from ._options import Borrowed, filled
from .errors import ArgumentError, ShapeError
from .solver import read_report

WHO, LANCZOS = "solve_operator", "lanczos"
_PROBE = -2.0  # what a probe is scaled by: neither 1 nor positive, so that |x|, relu(x) and x + c are found out


def require(function, theta, who=WHO):
    """theta as a tuple, where both are what they should be. The parameters of a module come as a generator."""
    if not callable(function):
        raise ArgumentError(f"{who}: the function is a {type(function).__name__}; it must be a function of (*theta, x)")
    if not isinstance(theta, (list, tuple, Iterator)):
        raise ArgumentError(f"{who}: theta is a {type(theta).__name__}; it must be a list or tuple of arrays: [theta]")
    return tuple(theta)


def iterate(product, b, x0=None, method="auto", shape=None, **options):
    """(x, report) with A x = b, b any NumPy array, from a start x0: product(x, "N") computes A x, and product(y, "H")
    A^H y, for which "lsmr" and "lsqr" ask. x has this shape, or that of b; one with another number of entries is the
    solution of least squares.

    A tolerance that is not reached is a ConvergenceError unless accept_unconverged.
    """
    b = promoted(WHO, "b", b)
    ctx, report = context(), sized("lac_solve_report")
    x = np.empty(b.shape if shape is None else shape, b.dtype)
    start = () if x0 is None else (promoted(WHO, "x0", x0),)
    held = Callback(product, f"{WHO}: the function")
    with filled(WHO, ctx, method, "auto", options) as (c, callbacks), Borrowed(ctx, b, x, *start) as (c_b, c_x, *c_x0):
        begin = c_x0[0] if c_x0 else ffi.NULL
        ctx.check(lib.lac_solve_products(ctx.c, APPLY, held.data, c_b, begin, lib.LAC_PLAIN, c, c_x, report))
        del callbacks  # C is done with them
    return x, read_report(report)


def solve(product, b, method="auto", x0=None, shape=None, has_adjoint=False, **options):
    """(x, report) as `iterate` gives them; a product that is not linear is refused, and an adjoint that is not its."""
    b = promoted(WHO, "b", b)
    like = b if shape is None else np.empty(shape, b.dtype)
    _check_linear(product, like, b.shape)
    if has_adjoint:
        _check_adjoint(product, like, b)
    solved = iterate(product, b, x0, method, shape, **options)
    context().warn()
    return solved


def _probe(like):
    """Numbers without order, of the size of 1, in the shape and dtype of a NumPy array."""
    rng = np.random.default_rng(like.size)
    numbers = rng.uniform(-1, 1, like.shape)
    return (numbers + 1j * rng.uniform(-1, 1, like.shape) if like.dtype.kind == "c" else numbers).astype(like.dtype)


def _check_linear(product, like, shape):
    """Refuse a function of arrays like this that does not give -2 y for -2 x where it gives y, of this shape, for x."""
    x = _probe(like)
    probes = x, np.asarray(_PROBE * x, x.dtype)  # both before a call, in which the function may write to its argument
    y, scaled = (np.array(product(probe, "N")) for probe in probes)  # and may give the same memory twice
    if any(given.shape != shape for given in (y, scaled)):
        return  # what the solve refuses, with a sentence
    size, apart = np.max(np.abs(y), initial=0.0), np.max(np.abs(scaled - _PROBE * y), initial=0.0)
    if np.isfinite(size) and not apart <= 1e3 * np.finfo(like.dtype).eps * size:
        raise ArgumentError(f"{WHO}: the function is not linear in x: it does not give {_PROBE} y for {_PROBE} x")


def _check_adjoint(product, like, b):
    """Refuse an adjoint with (v, L x) != (L^H v, x)."""
    x, v = _probe(like), _probe(b)
    y, z = (np.array(product(given.copy(), op)) for given, op in ((x, "N"), (v, "H")))
    if y.shape != b.shape or z.shape != like.shape:
        return  # what the solve refuses, with a sentence
    size = np.linalg.norm(v) * np.linalg.norm(y) + np.linalg.norm(z) * np.linalg.norm(x)
    if np.isfinite(size) and not abs(np.vdot(v, y) - np.vdot(z, x)) <= 1e3 * np.finfo(like.dtype).eps * size:
        raise ArgumentError(f"{WHO}: adjoint does not compute L^H y: (v, L x) is not (L^H v, x)")


def _sided(function, adjoint):
    """The product in both directions, where the adjoint is known."""

    def product(x, op):
        if op == "N":
            return function(x)
        if adjoint is None:
            raise ArgumentError(
                f"{WHO}: \"lsmr\" and \"lsqr\" multiply by L^H too; give adjoint, a function of (*theta, y) that "
                "computes it, or take another method"
            )
        return adjoint(x)

    return product


def solve_operator(
    function, theta, b, method="auto", x0=None, adjoint=None, shape=None, return_info=False, **options
):  # fmt: skip
    """x with L(theta) x = b, by iteration and without a matrix: function(*theta, x) computes L(theta) x.

    theta is a list of arrays, b an array of any shape, all of whose numbers together are one vector. The function is
    linear in x, and gives an array like b. x has the shape of b, or this one: where its number of entries is another, x
    minimises |b - L x|, and is the shortest such x, or the one nearest x0. method is a Krylov method, "gmres" by
    default, and of a rectangle "lsmr" or "lsqr", which need adjoint(*theta, y), L(theta)^H y, too; the other options
    are those of Solver that need no matrix: rtol, max_iterations, preconditioner (a Factor, or a function; none where x
    has more numbers than b, which is an UnsupportedError), progress, ...
    It begins at x0, an array like x, or at zero; the residual that counts is relative to b either way.
    A tolerance that is not reached is a ConvergenceError; return_info: (x, report), a dict as of Factor.iterate, and it
    is no error. lacuna.torch.solve_operator is differentiable.
    """
    theta = require(function, theta)
    product = _sided(lambda x: function(*theta, x), adjoint and (lambda y: adjoint(*theta, y)))
    if return_info:
        options["accept_unconverged"] = True
    x, report = solve(product, b, method, x0, shape, adjoint is not None, **options)
    return (x, report) if return_info else x


def tridiagonal(product, start, steps, preconditioner=None):
    """(alpha, beta) of lanczos for product(x, "N") of arrays like start."""
    start, steps = promoted(LANCZOS, "start", start), operator.index(steps)
    if start.ndim == 0 or steps < 0:
        raise ShapeError(
            f"{LANCZOS}: start has shape {start.shape} and steps is {steps}; they must be (*batch, n), and 0 or more"
        )
    alpha, beta = (np.empty((*start.shape[:-1], steps), start.real.dtype) for _ in range(2))
    held = Callback(product, f"{LANCZOS}: the function")
    inner = None if preconditioner is None else Callback(preconditioner, f"{LANCZOS}: the preconditioner")
    by = (ffi.NULL, ffi.NULL) if inner is None else (APPLY, inner.data)
    ctx = context()
    with Borrowed(ctx, start, alpha, beta) as (c_start, c_alpha, c_beta):
        ctx.check(lib.lac_lanczos_products(ctx.c, APPLY, held.data, *by, c_start, c_alpha, c_beta))
    return alpha, beta


def lanczos(function, theta, start, steps, preconditioner=None):
    """(alpha, beta) of Lanczos' process for a Hermitian L(theta), without a matrix: function(*theta, x) computes
    L(theta) x.

    T = V^H L(theta) V has alpha (*batch, steps) on its diagonal and beta (*batch, steps) beside it; the last beta is
    the norm of what is left. V is orthonormal and begins with start (*batch, n), each of which has a process of its
    own; the function gives arrays like start. preconditioner(x, op) computes B x of NumPy arrays like start, B
    Hermitian positive definite: T is then that of B^1/2 L(theta) B^1/2 from B^1/2 start. Where the space is exhausted
    beta is 0, and behind it alpha is 1 and beta 0. There are no derivatives.
    """
    theta = require(function, theta, LANCZOS)
    return tridiagonal(lambda x, op: function(*theta, x), start, steps, preconditioner)
