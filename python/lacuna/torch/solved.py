# SPDX-License-Identifier: Apache-2.0
"""The derivative of a solve, whoever solves: C with products of a torch function (_called.py), or a user's solver.

    x         = L(theta)^-1 b                          by solve
    lambda    = L(theta)^-H x_bar                      by solve, with the adjoint
    b_bar     = lambda
    theta_bar = - vjp of L(theta) x in theta, at lambda
    x_dot     = L(theta)^-1 (b_dot - jvp of L(theta) x in theta)

Of a rectangle of full rank L^-1 is the pseudoinverse L^+, whose x is that of least squares, or the shortest one:

    tall   theta_bar += vjp of L w in theta, at r         w = L^+ lambda, r = b - L x
           x_dot     += L^+ L^+H (jvp of L^H r in theta)
    wide   theta_bar += vjp of L s in theta, at u         u = L^+H x, s = x_bar - L^H lambda
           x_dot     += v - L^+ L v                       v = jvp of L^H u in theta

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


class _Rule:
    """The derivatives of one solve, by those of theta that are wanted."""

    def __init__(self, system, is_adjoint, theta, wanted):
        self.system, self.is_adjoint, self.theta, self.wanted = system, is_adjoint, theta, wanted

    def product(self, x, is_flipped=False):
        return self.system.products[self.is_adjoint != is_flipped](*self.theta, x)

    def solve(self, b, is_flipped=False):
        return Solve.apply(self.system.derivative, self.is_adjoint != is_flipped, b, *self.theta)

    def pulled(self, x, seed):
        """The vjp of L x in theta."""
        return pulled(*_of_some(self.system.products[self.is_adjoint], self.theta, x, self.wanted), seed)

    def along(self, x, dots, is_flipped=False):
        """The jvp of L x in theta."""
        return _along(*_of_some(self.system.products[self.is_adjoint != is_flipped], self.theta, x, self.wanted), dots)

    def bars(self, x, b, x_bar, adjoint):
        """theta_bar"""
        bars = self.pulled(x, -adjoint)
        if b.numel() == x.numel():
            return bars
        if b.numel() > x.numel():
            more = self.pulled(self.solve(adjoint), b - self.product(x))
        else:
            more = self.pulled(x_bar - self.product(adjoint, True), self.solve(x, True))
        return [one if other is None else other if one is None else one + other for one, other in zip(bars, more)]

    def more_along(self, x, b, dots):
        """What x_dot has besides, of a rectangle."""
        if b.numel() == x.numel():
            return 0
        if b.numel() > x.numel():
            return self.solve(self.solve(self.along(b - self.product(x), dots, True), True))
        v = self.along(self.solve(x, True), dots, True)
        return v - self.solve(self.product(v))


class Solve(torch.autograd.Function):
    @staticmethod
    def forward(system, is_adjoint, b, *theta):
        with torch.no_grad():
            return system.solve(is_adjoint, [t.detach() for t in theta], b.detach())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.system, ctx.is_adjoint, b, *theta = inputs
        ctx.save_for_backward(output, b, *theta)
        ctx.save_for_forward(output, b, *theta)

    @staticmethod
    def backward(ctx, x_bar):
        x, b, *theta = ctx.saved_tensors
        at = _Rule(ctx.system, ctx.is_adjoint, theta, ctx.needs_input_grad[3:])
        adjoint = at.solve(x_bar, is_flipped=True)
        bars = [None] * len(theta)
        if any(at.wanted):
            made = iter(at.bars(x, b, x_bar, adjoint))
            bars = [next(made) if want else None for want in at.wanted]
        return None, None, adjoint, *bars

    @staticmethod
    def jvp(ctx, _system, _is_adjoint, b_dot, *theta_dot):
        x, b, *theta = ctx.saved_tensors
        at = _Rule(ctx.system, ctx.is_adjoint, theta, [dot is not None for dot in theta_dot])
        rest = torch.zeros_like(b) if b_dot is None else b_dot
        if not any(at.wanted):
            return at.solve(rest)
        dots = [dot for dot in theta_dot if dot is not None]
        return at.solve(rest - at.along(x, dots)) + at.more_along(x, b, dots)

    @staticmethod
    def vmap(info, in_dims, system, is_adjoint, *tensors):
        """One system after the other: each iterates by itself."""
        dims = in_dims[2:]
        rows = [
            [t if dim is None else t.select(dim, i) for t, dim in zip(tensors, dims)] for i in range(info.batch_size)
        ]
        return torch.stack([Solve.apply(system, is_adjoint, *row) for row in rows]), 0
