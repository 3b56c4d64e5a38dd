# SPDX-License-Identifier: Apache-2.0
"""Differentiable systems whose matrix nobody stores: a torch function computes its products, and C iterates. Lanczos'
process too, without derivatives.

The adjoint of the function is its vjp in x; solved.py has the derivatives. The start of an iteration has none.
"""

import math

import torch
from torch.autograd.forward_ad import unpack_dual

from .. import _called
from .._options import is_factor, of_derivatives
from ..errors import ArgumentError, OrderError, UnsupportedError
from . import _private
from ._private import transforms_active as _in_transform
from ._solve_info import SolveInfo
from .solved import Solve, System, pulled
from ._tensors import as_numpy, asarray


def _adjoint(function, shape):
    """(theta, v) -> L(theta)^H v, in the shape of x (None: that of v), differentiable as the function is."""

    def product(*given):
        *theta, v = given
        x = torch.zeros_like(v) if shape is None else v.new_zeros(shape)
        (bar,) = pulled(lambda x: function(*theta, x), [x], v)
        if bar is None:
            raise ArgumentError(f"{_called.WHO}: the function does not depend on x by what torch differentiates")
        return bar

    return product


class _Iterated:
    """Solves by iterations on the host, with products that are computed where b lies. `shapes` are those of what the
    products take, None where it is that of b; `told` is called with the report."""

    def __init__(self, products, options, start, shapes, told=None):
        self.products, self.options, self.start, self.shapes, self.told = products, options, start, shapes, told

    def __call__(self, is_adjoint, theta, b):
        # Here, and not by the caller: results are wrapped within a transform, and have no numbers.
        start = None if self.start is None else as_numpy(_plain(self.start).to(b))

        def product(x, op):
            function = self.products[is_adjoint != (op == "H")]
            with torch.enable_grad():  # for functions that differentiate inside; theta has no history
                y = function(*theta, torch.from_numpy(x).to(b.device))
            return as_numpy(y) if isinstance(y, torch.Tensor) else y

        options = self.options_of(is_adjoint, b)
        x, report = _called.solve(product, as_numpy(b), x0=start, shape=self.shapes[is_adjoint], **options)
        if self.told:
            self.told(report)
        return torch.from_numpy(x).to(b.device)

    def options_of(self, is_adjoint, b):
        """The options of one solve. That with L^H has the adjoint of a function's preconditioner; of a rectangle it has
        none, as its unknown has another size."""
        given = self.options.get("preconditioner")
        if given is None or not is_adjoint:
            return self.options
        if self.shapes[True] is not None and math.prod(self.shapes[True]) != b.numel():
            return {**self.options, "preconditioner": None}
        if not callable(given) or is_factor(given):
            return self.options
        return {**self.options, "preconditioner": lambda x, op: given(x, "H" if op == "N" else "N")}


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


def _require_own(function, theta, b, shape):
    """Refuse a function that takes more than theta from a transform or from autograd: that part of the derivative would
    be zero. Tensors that the function itself makes to differentiate by are others in a second call."""
    *given, like = [_plain(t) for t in (*theta, b)]
    given.append(like if shape is None else like.new_ones(shape))
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
def solve_operator(
    function, theta, b, method="auto", x0=None, adjoint=None, shape=None, return_info=False, **options
):  # fmt: skip
    theta, b = _require(function, theta, _called.WHO), asarray(b)
    shape = None if shape is None else tuple(shape)
    if x0 is not None and shape is not None and math.prod(shape) > b.numel() and tuple(asarray(x0).shape) == shape:
        given = {"method": method, "adjoint": adjoint, "shape": shape, "return_info": return_info, **options}
        return _nearest(x0, function, theta, b, given)
    _require_one_forward_mode()
    if torch.is_grad_enabled() or _in_transform():
        _require_own(function, theta, b, shape)
        if adjoint:
            _require_own(adjoint, theta, b, None)
    products, shapes = (function, adjoint or _adjoint(function, shape)), (shape, None if shape is None else b.shape)
    start = None if x0 is None else asarray(x0)
    info = SolveInfo() if return_info else None
    options = {"method": method, "has_adjoint": adjoint is not None, **options}
    if return_info:
        options["accept_unconverged"] = True
    derivative = System(*products, _Iterated(products, of_derivatives(options), None, shapes, _adjoint_of(info)))
    solver = _Iterated(products, options, start, shapes, info and info._take)
    x = Solve.apply(System(*products, solver, derivative), False, b, *theta)
    return (x, info) if return_info else x


def _nearest(x0, function, theta, b, options):
    """Of the many x of a wide system the one nearest x0: a step from it, the shortest, whose derivatives are those of
    L^+ (b - L x0)."""
    x0 = asarray(x0).detach().to(b.device, b.dtype)
    y = function(*theta, x0.clone())
    is_fit = isinstance(y, torch.Tensor) and y.shape == b.shape and (b.is_complex() or not y.is_complex())
    left = b - y.to(b.device, b.dtype) if is_fit else b  # else the solve refuses it, with a sentence
    made = solve_operator(function, theta, left, **options)
    return (x0 + made[0], made[1]) if options["return_info"] else x0 + made


def _adjoint_of(info):
    """What takes the report of the solve for a derivative."""

    def take(report):
        info.adjoint = SolveInfo()
        info.adjoint._take(report)

    return info and take


_DIFFERENTIABLE = """Differentiable in b and in the
    tensors of theta, to any order, and not in x0: the function is made of what torch differentiates. Iterations run on
    the host. The solve of a derivative calls a preconditioner with the other op, and of a rectangle has none. From x0,
    where x has more numbers than b, the residual that counts is relative to b - L x0 instead."""
solve_operator.__doc__ = _called.solve_operator.__doc__.replace(
    "lacuna.torch.solve_operator is differentiable.", _DIFFERENTIABLE
)


def _require_untransformed(*tensors):
    if any(_private.is_wrapped(tensor) for tensor in tensors):
        raise UnsupportedError(
            f"{_called.LANCZOS}: no transform of torch.func takes it; start [*batch, n] is a batch, and "
            "logdet_estimate has derivatives"
        )


@torch.compiler.disable
def lanczos(function, theta, start, steps, preconditioner=None):
    theta, start = _require(function, theta, _called.LANCZOS), asarray(start).detach()
    _require_untransformed(*theta, start)

    def product(x, op):
        y = function(*theta, torch.from_numpy(x).to(start.device))
        if not isinstance(y, torch.Tensor):
            return y
        _require_untransformed(y)
        return as_numpy(y)

    with torch.no_grad():
        made = _called.tridiagonal(product, as_numpy(start), steps, preconditioner)
    return tuple([torch.from_numpy(numbers).to(start.device) for numbers in made])


_FROZEN = """no derivatives, whether theta has gradients
    or not, and no transforms of torch.func; lacuna.torch.logdet_estimate has both."""
lanczos.__doc__ = _called.lanczos.__doc__.replace("no derivatives.", _FROZEN)
