# SPDX-License-Identifier: Apache-2.0
"""Differentiable systems whose matrix nobody stores: a torch function computes its products.

    x         = L(theta)^-1 b                          C iterates, and calls the function
    lambda    = L(theta)^-H x_bar                      the same with the adjoint of the function, its vjp in x
    b_bar     = lambda
    theta_bar = - vjp of L(theta) x in theta, at lambda
    x_dot     = L(theta)^-1 (b_dot - jvp of L(theta) x in theta)

L and L^H are both functions that torch differentiates, so that every order follows. The start of an iteration has no
derivative: the solution does not depend on it.
"""

import torch
from torch.autograd.forward_ad import unpack_dual

from .. import _called
from ..errors import ArgumentError, OrderError
from . import _private
from ._private import transforms_active as _in_transform
from ._tensors import asarray


def _pulled(function, given, seed):
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
        pairs = [(bar, dot) for bar, dot in zip(_pulled(function, given, seed), dots) if bar is not None]
        if not pairs:
            return torch.zeros_like(seed)
        return torch.autograd.grad([bar for bar, _ in pairs], seed, [dot for _, dot in pairs], create_graph=True)[0]


def _adjoint(function):
    """(theta, v) -> L(theta)^H v, differentiable as the function is."""

    def product(*given):
        *theta, v = given
        (bar,) = _pulled(lambda x: function(*theta, x), [torch.zeros_like(v)], v)
        if bar is None:
            raise ArgumentError(f"{_called.WHO}: the function does not depend on x by what torch differentiates")
        return bar

    return product


def _of_some(function, theta, x, wanted):
    """function(*theta, x) as a function of the wanted ones of theta, and these."""

    def of(*some):
        some = iter(some)
        return function(*[next(some) if want else t for t, want in zip(theta, wanted)], x)

    return of, [t for t, want in zip(theta, wanted) if want]


class _System:
    """A function, its adjoint, and how to iterate."""

    def __init__(self, function, options):
        self.products, self.options = (function, _adjoint(function)), options

    def run(self, is_adjoint, theta, b, x0):
        """The solution, by iterations on the host; products are computed where b lies."""
        theta, function = [t.detach() for t in theta], self.products[is_adjoint]

        def product(x, op):
            with torch.enable_grad():  # for functions that differentiate inside; theta has no history
                y = function(*theta, torch.from_numpy(x).to(b.device))
            return _numbers(y) if isinstance(y, torch.Tensor) else y

        start = None if x0 is None else _numbers(x0)
        return torch.from_numpy(_called.solve(product, _numbers(b), x0=start, **self.options)).to(b.device)


def _numbers(tensor):
    return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(system, is_adjoint, x0, b, *theta):
        return system.run(is_adjoint, theta, b, x0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.system, ctx.is_adjoint, _, _, *theta = inputs
        ctx.save_for_backward(output, *theta)
        ctx.save_for_forward(output, *theta)

    @staticmethod
    def backward(ctx, x_bar):
        x, *theta = ctx.saved_tensors
        adjoint = _Solve.apply(ctx.system, not ctx.is_adjoint, None, x_bar, *theta)
        wanted = ctx.needs_input_grad[4:]
        bars = [None] * len(theta)
        if any(wanted):
            made = iter(_pulled(*_of_some(ctx.system.products[ctx.is_adjoint], theta, x, wanted), -adjoint))
            bars = [next(made) if want else None for want in wanted]
        return None, None, None, adjoint, *bars

    @staticmethod
    def jvp(ctx, _system, _is_adjoint, _x0_dot, b_dot, *theta_dot):
        x, *theta = ctx.saved_tensors
        rest = torch.zeros_like(x) if b_dot is None else b_dot
        moves = [dot is not None for dot in theta_dot]
        if any(moves):
            dots = [dot for dot in theta_dot if dot is not None]
            rest = rest - _along(*_of_some(ctx.system.products[ctx.is_adjoint], theta, x, moves), dots)
        return _Solve.apply(ctx.system, ctx.is_adjoint, None, rest, *theta)

    @staticmethod
    def vmap(info, in_dims, system, is_adjoint, *tensors):
        """One system after the other: each iterates by itself."""
        dims = in_dims[2:]
        rows = [
            [t if dim is None else t.select(dim, i) for t, dim in zip(tensors, dims)] for i in range(info.batch_size)
        ]
        return torch.stack([_Solve.apply(system, is_adjoint, *row) for row in rows]), 0


def _require_one_forward_mode():
    """Refuse forward mode of forward mode, of which torch tells a function the inner one alone."""
    levels = [level.key() for level in _private.levels() or ()]
    if levels.count(_private.JVP) > 1:
        raise OrderError(
            f"{_called.WHO}: forward mode inside forward mode (jacfwd of jacfwd) is not differentiated; take "
            "torch.func.hessian, jacfwd of jacrev, or jacrev of jacfwd"
        )


def _plain(tensor):
    """A tensor without its transforms; one of those that vmap maps."""
    while _private.is_wrapped(tensor):
        axis = _private.batch_axis(tensor)
        tensor = _private.unwrapped_once(tensor)
        tensor = tensor if axis < 0 else tensor.select(axis, 0)
    return tensor.detach()


def _is_followed(tensor):
    """Whether a transform or forward mode follows a tensor, on any level."""
    while _private.is_wrapped(tensor):
        if _private.is_batched(tensor) or tensor.requires_grad or unpack_dual(tensor).tangent is not None:
            return True
        tensor = _private.unwrapped_once(tensor)
    return unpack_dual(tensor).tangent is not None


def _leaves(y):
    """The tensors that the graph of y begins with, by their ids."""
    found, seen, waiting = {id(y): y} if y.grad_fn is None else {}, set(), [y.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found[id(node.variable)] = node.variable
        waiting += [before for before, _ in node.next_functions]
    return found


def _require_own(function, theta, b):
    """Refuse a function that takes more than theta from a transform or from autograd: that part of the derivative would
    be zero. Tensors that the function itself makes to differentiate by are others in a second call."""
    given = [_plain(t) for t in (*theta, b)]
    with torch.enable_grad():
        y = function(*given)
        if not isinstance(y, torch.Tensor):
            return  # what the solve refuses, with a sentence
        is_taken = _is_followed(y)
        if y.requires_grad and not is_taken:
            is_taken = bool(_leaves(y).keys() & _leaves(function(*given)).keys())
    if is_taken:
        raise ArgumentError(
            f"{_called.WHO}: the function takes a tensor from outside that is differentiated or mapped, and the result "
            "would have no derivative by it; give it in theta, or take its .detach()"
        )


@torch.compiler.disable
def solve_operator(function, theta, b, method="auto", x0=None, **options):
    theta, b = _called.require(function, theta), asarray(b)
    for i, t in enumerate(theta):
        if not isinstance(t, torch.Tensor):
            raise ArgumentError(f"{_called.WHO}: theta[{i}] is a {type(t).__name__}; it must be a tensor")
    _require_one_forward_mode()
    if torch.is_grad_enabled() or _in_transform():
        _require_own(function, theta, b)
    start = None if x0 is None else asarray(x0).to(b)
    return _Solve.apply(_System(function, {"method": method, **options}), False, start, b, *theta)


_DIFFERENTIABLE = """Differentiable in b and in the
    tensors of theta, to any order: the function is made of what torch differentiates. Iterations run on the host."""
solve_operator.__doc__ = _called.solve_operator.__doc__.replace(
    "lacuna.torch.solve_operator is differentiable.", _DIFFERENTIABLE
)
