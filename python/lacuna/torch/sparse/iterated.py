# SPDX-License-Identifier: Apache-2.0
"""Solves from a start, and with a report: what C says of each solve, forward and adjoint.

    x       = A^-1 b                         lac_factor_iterate, from x0
    lambda  = A^-H x_bar                     the same with the adjoint form, and a report of its own
    b_bar   = lambda
    a_bar   = - sddmm(P, lambda, x)          of A^H x = b, roles are exchanged: - sddmm(P, x, lambda)
    x_dot   = A^-1 (b_dot - A_dot x)

The start has no derivative: the solution does not depend on it.
"""

import dataclasses
from typing import Optional

import torch

from ..._core import ffi, lib, sized
from ..._derived import fixed, found
from ..._options import Borrowed
from ...errors import ConvergenceError, UnsupportedError
from ...solver import Factor, read_report
from .. import _private, sddmm, spmm
from .._dtypes import in_one_dtype
from .._levels import innermost
from .._tensors import CODES, context_on, ready

_ADJOINT = {"N": "H", "H": "N"}
_FORMS = {"N": lib.LAC_PLAIN, "H": lib.LAC_ADJOINT}


@dataclasses.dataclass
class SolveInfo:
    """What became of a solve, and, once backward has run, of the solve for its derivative (`adjoint`).

    `residual` is |b - A x| / |b|, measured at the end, the largest of all columns and matrices; `iterations` are those
    of the slowest column, 0 of a direct method. Before there is anything to say, `method` is "".
    """

    method: str = ""
    preconditioner: str = ""
    converged: bool = False
    iterations: int = 0
    residual: float = float("nan")
    ending: str = ""
    reason: str = ""
    warning: str = ""
    seconds: float = 0.0
    adjoint: "SolveInfo | None" = None

    def fill(self, report, factor):
        """From a report of C and the factor that solved."""
        told, of_factor = read_report(report), factor.report
        self.method, self.preconditioner = of_factor["method"], of_factor["preconditioner"]
        for name in ("iterations", "residual", "ending", "reason", "warning", "seconds"):
            setattr(self, name, told[name])
        self.converged = self.ending == "converged"

    @property
    def iter_count(self):
        """The same as `iterations`."""
        return self.iterations


class _Borrowed(Borrowed):
    """C arrays over tensors, NULL for None, while they are used."""

    def _borrow(self, tensor):
        out = ffi.new("lac_array **")
        if tensor is not None:
            shape, data = ffi.new("int64_t[]", list(tensor.shape)), ffi.cast("void *", tensor.data_ptr())
            described = CODES[tensor.dtype], tensor.ndim, shape, data, lib.LAC_OWNERSHIP_BORROW
            self.ctx.check(lib.lac_array_from(self.ctx.c, *described, out))
        return out


def factored(solver, slots):
    """The Factor of values by slots, on the CPU or a device; one that the solver keeps is not made again."""
    if innermost(slots)[1]:
        raise UnsupportedError("factor: vmap maps over the values; give them outside of it as a batch, with_values()")
    device, (slots,) = ready("factor", [slots.detach()])
    ctx, out = context_on(device), ffi.new("lac_factor **")
    with _Borrowed(ctx, slots) as (array,):
        ctx.check(lib.lac_solver_factor(ctx.c, solver.c, array, out))
    ctx.warn()
    return Factor.wrap(out[0], solver.held)


def _iterate(asked, slots, b, x0):
    """x, of which C says what became of it."""
    solver, info, op = asked.solver, asked.info, asked.op
    factor = factored(solver, slots)
    device, given = ready("solve", [b.detach()] if x0 is None else [b.detach(), x0.detach()])
    batch = torch.broadcast_shapes(slots.shape[: slots.ndim - asked.core], b.shape[:-2])
    x = torch.empty(*batch, solver.shape[1], b.shape[-1], dtype=b.dtype, device=device)
    ctx, told = context_on(device), sized("lac_solve_report")
    start = [None] if x0 is None else [given[1].expand(x.shape).contiguous()]
    with _Borrowed(ctx, given[0], *start, x) as (right, begin, out):
        ctx.check(lib.lac_factor_iterate(ctx.c, factor.c, right, begin, _FORMS[op], out, told))
    if asked.is_silent:
        ctx.warn()
    else:
        lib.lac_context_clear_warning(ctx.c)  # the report has it
    info.fill(told, factor)
    return x


class _Asked:
    """Which solve is asked for: by what, and who is to be told of it and of its adjoint. Where nobody reads the report
    it `is_silent`: not to converge is an error, and what C warns of is a warning."""

    def __init__(self, solvers, pattern, info, op="N", is_silent=False):
        self.solver, self.derivative = solvers  # the second is for derivatives
        self.pattern, self.info, self.op, self.is_silent = pattern, info, op, is_silent
        self.core = 1 if pattern.blocks == (1, 1) else 3  # dimensions of the values of one matrix

    def run(self, slots, b, x0):
        x = _iterate(self, slots, b, x0)
        if self.is_silent and not self.info.converged:
            raise ConvergenceError(f"solve: {self.info.reason}")
        return x

    def adjoint(self):
        if self.info.adjoint is None:
            self.info.adjoint = SolveInfo()
        return self._other(self.info.adjoint, _ADJOINT[self.op])

    def tangent(self):
        return self._other(SolveInfo(), self.op)

    def _other(self, info, op):
        return _Asked((self.derivative, self.derivative), self.pattern, info, op, self.is_silent)


class _Iterated(torch.autograd.Function):
    @staticmethod
    def forward(asked, slots, b, x0):
        return asked.run(slots, b, x0)

    @staticmethod
    def setup_context(ctx, inputs, x):
        ctx.asked, slots, b, _ = inputs
        ctx.right_shape = b.shape
        ctx.save_for_backward(slots, x)
        ctx.save_for_forward(slots, x)

    @staticmethod
    def backward(ctx, x_bar):
        if not _private.is_grads_batched(x_bar):
            return None, *_pulled(ctx, x_bar), None
        level = _private.enter_vmap() - 1
        _private.leave_vmap()
        every = _private.remove_batch_dim(x_bar, level, 1, 0)
        bars = _pulled(ctx, every, every.shape[:1])
        return None, *[bar if bar is None else _private.add_batch_dim(bar, 0, level) for bar in bars], None

    @staticmethod
    def jvp(ctx, _asked, slots_dot, b_dot, _x0_dot):
        slots, x = ctx.saved_tensors
        right = torch.zeros_like(x) if b_dot is None else b_dot
        if slots_dot is not None:
            right = right - spmm(ctx.asked.pattern, slots_dot, x, ctx.asked.op)
        return _Iterated.apply(ctx.asked.tangent(), slots, right, None)

    @staticmethod
    def vmap(info, in_dims, asked, slots, b, x0):
        """One more dimension of the batch, in front."""
        tensors = [(slots, asked.core), (b, 2), (x0, 2)]
        ranks = [0 if t is None else t.ndim - core - (dim is not None) for (t, core), dim in zip(tensors, in_dims[1:])]
        moved = [t if dim is None else _in_front(t, dim, max(ranks) - rank)
                 for (t, _), dim, rank in zip(tensors, in_dims[1:], ranks)]  # fmt: skip
        return _Iterated.apply(asked, *moved), 0


def _pulled(ctx, x_bar, many=()):
    """The adjoints of values and b: of one x_bar, or of `many` that are its first dimension (is_grads_batched)."""
    slots, x = ctx.saved_tensors
    adjoint = _Iterated.apply(ctx.asked.adjoint(), slots, x_bar, None)
    slots_bar = None
    if ctx.needs_input_grad[1]:
        pair = (adjoint, x) if ctx.asked.op == "N" else (x, adjoint)
        slots_bar = _summed(-sddmm(ctx.asked.pattern, *pair), slots.shape, many)
    return slots_bar, _summed(adjoint, ctx.right_shape, many)


def _in_front(tensor, dim, missing):
    """The dimension first, and then as many of size 1 as other batches have more."""
    return tensor.movedim(dim, 0)[(slice(None), *[None] * missing)]


def _summed(bar, shape, many=()):
    """An adjoint of what was broadcast; the dimensions `many` stay."""
    ones = (1,) * (bar.ndim - len(many) - len(shape))
    return bar.sum_to_size(*many, *ones, *shape).reshape(*many, *shape)


# -- within compiled code ---------------------------------------------------------------------------------------------

_held = {}  # the solvers that stand in graphs, by their numbers, for as long as the process


def _hold(key):
    """The number of a solver, which may be one that is only promised."""
    solver = found(key)
    _held[solver.key[0]] = solver
    return solver.key[0]


torch.compiler.assume_constant_result(_hold)


@torch.library.custom_op("lacuna::iterate", mutates_args=())
def _iterate_held(
    slots: torch.Tensor, b: torch.Tensor, x0: Optional[torch.Tensor], number: int, derivative: int, op: str
) -> torch.Tensor:
    """x by a solver that is held, as the one for derivatives is."""
    solvers = _held[number], _held[derivative]
    return _Asked(solvers, solvers[0].pattern, SolveInfo(), op, is_silent=True).run(slots, b, x0)


@_iterate_held.register_fake
def _(slots, b, x0, number, derivative, op):
    solver = _held[number]
    core = 1 if solver.pattern.blocks == (1, 1) else 3
    batch = torch.broadcast_shapes(slots.shape[: slots.ndim - core], b.shape[:-2])
    return b.new_empty(*batch, solver.shape[1], b.shape[-1])


def _keep(ctx, inputs, output):
    slots, b, _, _, *ctx.asked = inputs
    ctx.right_shape = b.shape
    ctx.save_for_backward(slots, output)


def _backward(ctx, x_bar):
    (slots, x), (number, op) = ctx.saved_tensors, ctx.asked
    adjoint = _iterate_held(slots, x_bar, None, number, number, _ADJOINT[op])
    pair = (adjoint, x) if op == "N" else (x, adjoint)
    slots_bar = _summed(-sddmm(_held[number].pattern, *pair), slots.shape) if ctx.needs_input_grad[0] else None
    return slots_bar, _summed(adjoint, ctx.right_shape), None, None, None, None


_iterate_held.register_autograd(_backward, setup_context=_keep)


def _compiled(solvers, info, op):
    """What iterates while a compiler reads."""
    if info is not None:
        raise UnsupportedError("solve: compiled code fills no SolveInfo; ask for return_info outside of it")
    numbers = [_hold(fixed(solver.key)) for solver in solvers]
    return lambda slots, b, x0: _iterate_held(slots, b, x0, *numbers, op)


def iterate(solvers, pattern, slots, b, x0=None, info=None, op="N"):
    """x = op(A)^-1 b from x0, differentiable to every order in slots and b; op is "N" or "H". `info` is filled; where
    there is none, not to converge is an error. Of the two solvers the second is for derivatives."""
    if torch.compiler.is_dynamo_compiling():
        run = _compiled(solvers, info, op)
        return in_one_dtype("solve", lambda slots, b: run(slots, b, None if x0 is None else x0.to(b.dtype)), slots, b)
    asked = _Asked(solvers, pattern, SolveInfo() if info is None else info, op, is_silent=info is None)
    start = lambda b: None if x0 is None else x0.to(b.dtype)  # noqa: E731
    return in_one_dtype("solve", lambda slots, b: _Iterated.apply(asked, slots, b, start(b)), slots, b)
