# SPDX-License-Identifier: Apache-2.0
"""Differentiable systems whose matrix nobody stores: a torch function computes its products, and C iterates. Lanczos'
process too, without derivatives.

The adjoint of the function is its vjp in x; solved.py has the derivatives. The start of an iteration has none: the
solution does not depend on it.
"""

import torch
from torch.autograd.forward_ad import unpack_dual

from .. import _called
from .._options import of_derivatives
from ..errors import ArgumentError, OrderError
from . import _private
from ._private import transforms_active as _in_transform
from .solved import Solve, System, pulled
from ._tensors import asarray


def _adjoint(function):
    """(theta, v) -> L(theta)^H v, differentiable as the function is."""

    def product(*given):
        *theta, v = given
        (bar,) = pulled(lambda x: function(*theta, x), [torch.zeros_like(v)], v)
        if bar is None:
            raise ArgumentError(f"{_called.WHO}: the function does not depend on x by what torch differentiates")
        return bar

    return product


class _Iterated:
    """Solves by iterations on the host, with products that are computed where b lies."""

    def __init__(self, products, options, start):
        self.products, self.options, self.start = products, options, start

    def __call__(self, is_adjoint, theta, b):
        function = self.products[is_adjoint]
        # Here, and not by the caller: results are wrapped within a transform, and have no numbers.
        start = None if self.start is None else _numbers(_plain(self.start).to(b))

        def product(x, op):
            with torch.enable_grad():  # for functions that differentiate inside; theta has no history
                y = function(*theta, torch.from_numpy(x).to(b.device))
            return _numbers(y) if isinstance(y, torch.Tensor) else y

        return torch.from_numpy(_called.solve(product, _numbers(b), x0=start, **self.options)).to(b.device)


def _numbers(tensor):
    return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()


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
            "would have no derivative by it; give it in theta, lacuna.torch.solve_operator(function, theta, b), or "
            "take its .detach()"
        )


def _require(function, theta, who):
    """theta as a tuple of tensors."""
    theta = _called.require(function, theta, who)
    for i, t in enumerate(theta):
        if not isinstance(t, torch.Tensor):
            raise ArgumentError(f"{who}: theta[{i}] is a {type(t).__name__}; it must be a tensor")
    return theta


@torch.compiler.disable
def solve_operator(function, theta, b, method="auto", x0=None, **options):
    theta, b = _require(function, theta, _called.WHO), asarray(b)
    _require_one_forward_mode()
    if torch.is_grad_enabled() or _in_transform():
        _require_own(function, theta, b)
    products = function, _adjoint(function)
    start = None if x0 is None else asarray(x0)
    options = {"method": method, **options}
    derivative = System(*products, _Iterated(products, of_derivatives(options), None))
    return Solve.apply(System(*products, _Iterated(products, options, start), derivative), False, b, *theta)


_DIFFERENTIABLE = """Differentiable in b and in the
    tensors of theta, to any order: the function is made of what torch differentiates. Iterations run on the host."""
solve_operator.__doc__ = _called.solve_operator.__doc__.replace(
    "lacuna.torch.solve_operator is differentiable.", _DIFFERENTIABLE
)


@torch.compiler.disable
def lanczos(function, theta, start, steps, preconditioner=None):
    theta, start = _require(function, theta, _called.LANCZOS), asarray(start).detach()

    def product(x, op):
        y = function(*theta, torch.from_numpy(x).to(start.device))
        return _numbers(y) if isinstance(y, torch.Tensor) else y

    with torch.no_grad():
        made = _called.tridiagonal(product, _numbers(start), steps, preconditioner)
    return tuple([torch.from_numpy(numbers).to(start.device) for numbers in made])


lanczos.__doc__ = _called.lanczos.__doc__
