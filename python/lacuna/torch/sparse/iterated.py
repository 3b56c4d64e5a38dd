# SPDX-License-Identifier: Apache-2.0
"""Solves from a start, and with a report: the function solve_from of C, and what C says of each solve and of that of
its derivative."""

import torch

from ..._core import ffi, lib
from ..._options import Borrowed
from ...errors import UnsupportedError
from ...solver import Factor
from .. import solve_from
from .._apply import heard
from .._levels import innermost
from .._solve_info import SolveInfo
from .._tensors import CODES, context_on, ready


class _Borrowed(Borrowed):
    """C arrays over tensors while they are used."""

    def _borrow(self, tensor):
        out = ffi.new("lac_array **")
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


def _fill_adjoint(info, device):
    """The same of the solve for the derivative."""
    if info.adjoint is None:
        info.adjoint = SolveInfo()
    info.adjoint.fill(device)


def iterate(by, slots, b, x0=None, info=None, op="N"):
    """x = op(A)^-1 b from x0, differentiable to every order in slots and b. `info` is filled; where there is none, not
    to converge is an error."""
    if x0 is not None:
        x0 = x0.to(torch.promote_types(slots.dtype, b.dtype))  # a start makes nothing wider
    if info is None:
        return solve_from(by, slots, b, x0, op)
    if torch.compiler.is_dynamo_compiling():
        raise UnsupportedError("solve: compiled code fills no SolveInfo; ask for return_info outside of it")
    device = innermost(slots)[0].device
    with heard(lambda: _fill_adjoint(info, device)):
        x = solve_from(by, slots, b, x0, op, True)
    info.fill(device)
    return x
