# SPDX-License-Identifier: Apache-2.0
"""The derivative of a solve, whoever solves: C with products of a torch function (_called.py), or a user's solver.

    x         = L(theta)^-1 b                          by solve
    lambda    = L(theta)^-H x_bar                      by solve, with the adjoint
    b_bar     = lambda
    theta_bar = - vjp of L(theta) x in theta, at lambda
    x_dot     = L(theta)^-1 (b_dot - jvp of L(theta) x in theta)

L and L^H are both functions that torch differentiates, so that every order follows.
"""

import torch

from ._private import transforms_active as _in_transform


def pulled(function, given, seed):
    """The vjp of a function of tensors, None where it is zero. Inside a transform it is that of torch.func, as autograd
    does not see the tensors of a transform; elsewhere it is autograd's, which takes functions of every kind."""
    if _in_transform():
        return torch.func.vjp(function, *given)[1](seed)
    is_watched = torch.is_grad_enabled()
    with torch.enable_grad():
        # Other names: what depends on a tensor by another way than its name is differentiated by who asks for more.
        own = [t.view_as(t) if is_watched and t.requires_grad else t.detach().requires_grad_() for t in given]
        y = function(*own)
        if not y.requires_grad:
            return [None] * len(own)
        return torch.autograd.grad(y, own, seed, create_graph=is_watched, allow_unused=True)


def _along(function, given, dots):
    """The jvp of a function of tensors. Outside of transforms: a vjp is linear in its seed, and its own vjp is the
    jvp, so that functions need no forward mode."""
    if _in_transform():
        return torch.func.jvp(function, tuple(given), tuple(dots))[1]
    with torch.enable_grad():
        seed = torch.zeros_like(function(*given), requires_grad=True)
        pairs = [(bar, dot) for bar, dot in zip(pulled(function, given, seed), dots) if bar is not None]
        if not pairs:
            return torch.zeros_like(seed)
        return torch.autograd.grad([bar for bar, _ in pairs], seed, [dot for _, dot in pairs], create_graph=True)[0]


def _of_some(function, theta, x, wanted):
    """function(*theta, x) as a function of the wanted ones of theta, and these."""

    def of(*some):
        some = iter(some)
        return function(*[next(some) if want else t for t, want in zip(theta, wanted)], x)

    return of, [t for t, want in zip(theta, wanted) if want]


class System:
    """(*theta, x) -> L(theta) x, the same with L^H, and what solves with either: solve(is_adjoint, theta, b), of
    tensors without history. Derivatives are solved for by `derivative`, a system of the same products; None: by this
    one."""

    def __init__(self, product, adjoint, solve, derivative=None):
        self.products, self.solve, self.derivative = (product, adjoint), solve, derivative or self


class Solve(torch.autograd.Function):
    @staticmethod
    def forward(system, is_adjoint, b, *theta):
        with torch.no_grad():
            return system.solve(is_adjoint, [t.detach() for t in theta], b.detach())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.system, ctx.is_adjoint, _, *theta = inputs
        ctx.save_for_backward(output, *theta)
        ctx.save_for_forward(output, *theta)

    @staticmethod
    def backward(ctx, x_bar):
        x, *theta = ctx.saved_tensors
        adjoint = Solve.apply(ctx.system.derivative, not ctx.is_adjoint, x_bar, *theta)
        wanted = ctx.needs_input_grad[3:]
        bars = [None] * len(theta)
        if any(wanted):
            made = iter(pulled(*_of_some(ctx.system.products[ctx.is_adjoint], theta, x, wanted), -adjoint))
            bars = [next(made) if want else None for want in wanted]
        return None, None, adjoint, *bars

    @staticmethod
    def jvp(ctx, _system, _is_adjoint, b_dot, *theta_dot):
        x, *theta = ctx.saved_tensors
        rest = torch.zeros_like(x) if b_dot is None else b_dot
        moves = [dot is not None for dot in theta_dot]
        if any(moves):
            dots = [dot for dot in theta_dot if dot is not None]
            rest = rest - _along(*_of_some(ctx.system.products[ctx.is_adjoint], theta, x, moves), dots)
        return Solve.apply(ctx.system.derivative, ctx.is_adjoint, rest, *theta)

    @staticmethod
    def vmap(info, in_dims, system, is_adjoint, *tensors):
        """One system after the other: each iterates by itself."""
        dims = in_dims[2:]
        rows = [
            [t if dim is None else t.select(dim, i) for t, dim in zip(tensors, dims)] for i in range(info.batch_size)
        ]
        return torch.stack([Solve.apply(system, is_adjoint, *row) for row in rows]), 0
