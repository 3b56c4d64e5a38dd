# SPDX-License-Identifier: Apache-2.0
"""Differentiable systems whose matrix nobody stores: a torch function computes its products.

    x         = L(theta)^-1 b                          C iterates, and calls the function
    lambda    = L(theta)^-H x_bar                      the same with the adjoint of the function, its vjp in x
    b_bar     = lambda
    theta_bar = - vjp of L(theta) x in theta, at lambda
    x_dot     = L(theta)^-1 (b_dot - jvp of L(theta) x in theta)

L and L^H are both functions that torch differentiates, so that every order follows.
"""

import torch

from .. import _called
from ..errors import ArgumentError
from ._tensors import asarray


def _adjoint(function):
    """(theta, v) -> L(theta)^H v, differentiable as the function is."""

    def product(*given):
        *theta, v = given
        with torch.enable_grad():
            x = torch.zeros_like(v, requires_grad=True)
            y = function(*theta, x)
            if not y.requires_grad:
                raise ArgumentError(f"{_called.WHO}: the function does not depend on x by what torch differentiates")
            return torch.autograd.grad(y, x, v, create_graph=True)[0]

    return product


class _System:
    """A function, its adjoint, and how to iterate."""

    def __init__(self, function, options):
        self.products, self.options = (function, _adjoint(function)), options

    def run(self, is_adjoint, theta, b):
        """The solution, by iterations on the host; products are computed where b lies."""
        theta, function = [t.detach() for t in theta], self.products[is_adjoint]

        def product(x, op):
            with torch.no_grad():
                y = function(*theta, torch.from_numpy(x).to(b.device))
            return _numbers(y) if isinstance(y, torch.Tensor) else y

        return torch.from_numpy(_called.solve(product, _numbers(b), **self.options)).to(b.device)


def _numbers(tensor):
    return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()


def _own(tensors, wanted):
    """Other names of tensors, those that are wanted with a gradient: what depends on a tensor by another way than its
    name is not followed, and is differentiated by who asks for more."""
    return [
        (t.view_as(t) if t.requires_grad else t.detach().requires_grad_()) if want else t
        for t, want in zip(tensors, wanted)
    ]


def _pulled(function, theta, x, wanted, seed):
    """The vjp of function(*theta, x) in the wanted ones of theta, None where it is zero or not wanted."""
    is_watched = torch.is_grad_enabled()
    with torch.enable_grad():
        own = _own(theta if is_watched else [t.detach() for t in theta], wanted)
        y = function(*own, x if is_watched else x.detach())
        asked = [t for t, want in zip(own, wanted) if want]
        made = iter(torch.autograd.grad(y, asked, seed, create_graph=is_watched, allow_unused=True))
    return [next(made) if want else None for want in wanted]


def _along(function, theta, x, theta_dot):
    """The jvp of function(*theta, x) in theta: a vjp is linear in its seed, and its own vjp is the jvp."""
    moves = [dot is not None for dot in theta_dot]
    with torch.enable_grad():
        seed = torch.zeros_like(x, requires_grad=True)
        bars = _pulled(function, theta, x, moves, seed)
        pairs = [(bar, dot) for bar, dot in zip(bars, theta_dot) if bar is not None]
        if not pairs:
            return torch.zeros_like(x)
        return torch.autograd.grad([bar for bar, _ in pairs], seed, [dot for _, dot in pairs], create_graph=True)[0]


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(system, is_adjoint, b, *theta):
        return system.run(is_adjoint, theta, b)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.system, ctx.is_adjoint, _, *theta = inputs
        ctx.save_for_backward(output, *theta)
        ctx.save_for_forward(output, *theta)

    @staticmethod
    def backward(ctx, x_bar):
        x, *theta = ctx.saved_tensors
        adjoint = _Solve.apply(ctx.system, not ctx.is_adjoint, x_bar, *theta)
        wanted = ctx.needs_input_grad[3:]
        bars = [None] * len(theta)
        if any(wanted):
            bars = _pulled(ctx.system.products[ctx.is_adjoint], theta, x, wanted, -adjoint)
        return None, None, adjoint, *bars

    @staticmethod
    def jvp(ctx, _system, _is_adjoint, b_dot, *theta_dot):
        x, *theta = ctx.saved_tensors
        rest = torch.zeros_like(x) if b_dot is None else b_dot
        if any(dot is not None for dot in theta_dot):
            rest = rest - _along(ctx.system.products[ctx.is_adjoint], theta, x, theta_dot)
        return _Solve.apply(ctx.system, ctx.is_adjoint, rest, *theta)

    @staticmethod
    def vmap(info, in_dims, system, is_adjoint, *tensors):
        """One system after the other: each iterates by itself."""
        dims = in_dims[2:]
        rows = [
            [t if dim is None else t.select(dim, i) for t, dim in zip(tensors, dims)] for i in range(info.batch_size)
        ]
        return torch.stack([_Solve.apply(system, is_adjoint, *row) for row in rows]), 0


@torch.compiler.disable
def solve_operator(function, theta, b, method="auto", **options):
    _called.require_function(function)
    theta = tuple(theta)  # the parameters of a module come as a generator
    for i, t in enumerate(theta):
        if not isinstance(t, torch.Tensor):
            raise ArgumentError(f"{_called.WHO}: theta[{i}] is a {type(t).__name__}; it must be a tensor")
    return _Solve.apply(_System(function, {"method": method, **options}), False, asarray(b), *theta)


_DIFFERENTIABLE = """Differentiable in b and in the
    tensors of theta, to any order: the function is made of what torch differentiates. Iterations run on the host."""
solve_operator.__doc__ = _called.solve_operator.__doc__.replace(
    "lacuna.torch.solve_operator is differentiable.", _DIFFERENTIABLE
)
