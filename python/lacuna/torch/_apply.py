# SPDX-License-Identifier: Apache-2.0
"""The one generic wrapper: every operator of the C table as a differentiable function of torch tensors.

    apply -- plain tensors --------------- Eager(Function) --- C
      +----- transforms, tracers, modes -- Traced(Function) -- torch.ops.lacuna.apply -- C, or shapes alone

Derivatives are programs that C writes. With grad mode off, a program is one C call; else its steps go through `apply`
again, so that their derivatives are torch's too. No operator is named here.
"""

import functools

import numpy as np
import torch
from torch._C import _are_functorch_transforms_active as _transforms_active
from torch._C import _len_torch_dispatch_stack as _modes_active
from torch._C._functorch import is_legacy_batchedtensor as _is_grads_batched
from torch.autograd import forward_ad

from .._core import context, lib
from .._program import FORWARD, IN, IN_DOT, JVP, OUT, OUT_BAR, VJP, find
from ..errors import ArgumentError, DeviceError, DtypeError, ShapeError
from ._symbolic import plan

CODES = {
    torch.float32: lib.LAC_F32,
    torch.float64: lib.LAC_F64,
    torch.complex64: lib.LAC_C64,
    torch.complex128: lib.LAC_C128,
}
DTYPES = {code: dtype for dtype, code in CODES.items()}
_PLAIN = {torch.Tensor, torch.nn.Parameter}
_NUMBERS = (int, float, complex, np.number, torch.SymInt, torch.SymFloat)


def _is_plain(tensors):
    """Nobody watches: data can go straight to C."""
    if _transforms_active() or _modes_active():
        return False
    for tensor in tensors:
        if type(tensor) not in _PLAIN or tensor.is_meta:
            return False
    return True


def _metas(who, tensors):
    """((dtype code, shape), ...), or a sentence that says what cannot be taken."""
    try:
        return tuple([(CODES[t.dtype], t.shape) for t in tensors])
    except (KeyError, AttributeError):
        raise _refuse(who, tensors) from None


def _refuse(who, tensors):
    for i, t in enumerate(tensors):
        if not isinstance(t, torch.Tensor):
            return ArgumentError(f"{who}: input {i} is a {type(t).__name__}; it must be a torch.Tensor")
        if t.dtype not in CODES:
            return DtypeError(
                f"{who}: input {i} has dtype {t.dtype}; Lacuna computes in float32, float64, complex64 and complex128: "
                "convert it with .to()"
            )
    return None


def code(dtype):
    """The code of a dtype."""
    if dtype not in CODES:
        raise DtypeError(
            f"lacuna: {dtype!r} is no dtype that Lacuna has: torch.float32, float64, complex64 and complex128"
        )
    return CODES[dtype]


def asarray(x):
    """A tensor, as it is; nothing else is made one."""
    if not isinstance(x, torch.Tensor):
        raise _refuse("lacuna", (x,))
    return x


def convert(c, x):
    """A condition as a tensor of x's dtype: 1 where it holds."""
    if isinstance(c, (bool, *_NUMBERS)):
        return number(int(c != 0), x, "where")
    c = asarray(c)
    return c if c.dtype == x.dtype else (c != 0).to(x.dtype)


def placed(numbers, x):
    """A NumPy array as a tensor of x's dtype, on its device."""
    return torch.as_tensor(numbers, device=x.device).to(x.dtype)


def number(factor, x, who="scale"):
    """A frozen number beside x, as a tensor of its dtype without dimensions."""
    if not isinstance(factor, _NUMBERS):
        raise ArgumentError(
            f"{who}: the factor is a frozen number, not a {type(factor).__name__}; make it one with float(), or take "
            "mul, which has derivatives in both"
        )
    if not isinstance(x, torch.Tensor) or x.dtype not in CODES:
        raise _refuse(who, (x,))
    factor = factor.item() if isinstance(factor, np.generic) else factor
    if isinstance(factor, complex) and not x.is_complex():
        if factor.imag:
            raise DtypeError(f"{who}: the factor {factor} is complex and the tensor is {x.dtype}; convert the tensor")
        factor = factor.real
    return torch.ones((), dtype=x.dtype, device=x.device) * factor  # a product: compilers keep its number open


def _context(device):
    """This thread's context on a device, on torch's current stream."""
    if device.type == "cpu":
        return context()
    ctx = context("cuda", device.index)
    ctx.set_stream(torch._C._cuda_getCurrentRawStream(device.index))
    return ctx


def _one_device(who, tensors):
    device = tensors[0].device
    for i, t in enumerate(tensors):
        if t.device != device:
            raise DeviceError(
                f"{who}: input {i} lies on {t.device} and input 0 on {device}; move one of them with .to()"
            )
    return device


def _all_dense(who, tensors):
    for i, t in enumerate(tensors):
        if t.layout is not torch.strided:
            raise ArgumentError(
                f"{who}: input {i} has layout {t.layout}; pass the values of a sparse tensor, not the tensor"
            )


def _ready(who, tensors):
    """The tensors as C reads them: on one device, in one piece, aligned, nothing lazy."""
    device, ready = _one_device(who, tensors), []
    _all_dense(who, tensors)
    for t in tensors:
        if t.is_conj() or t.is_neg():
            t = t.resolve_conj().resolve_neg()
        if not t.is_contiguous() or t.data_ptr() % t.element_size():
            t = t.clone(memory_format=torch.contiguous_format)
        ready.append(t)
    if device.type not in ("cpu", "cuda"):
        raise DeviceError(f"{who}: tensors lie on {device}; Lacuna computes on cpu and cuda")
    return device, ready


def _run(who, program, tensors):
    """A program on plain tensors, in one C call. Absent results are None."""
    device, tensors = _ready(who, tensors)
    outs = [
        torch.empty(port.shape, dtype=DTYPES[port.code], device=device) if port.var else None
        for port in program.results
    ]
    program.run(_context(device), [t.data_ptr() for t in tensors], [0 if t is None else t.data_ptr() for t in outs])
    return outs


def _replay(program, symbolic, tensors, call=None):
    """A program step by step through `apply`."""
    call = call or apply
    values = {port.var: tensor for port, tensor in zip(program.inputs, tensors)}
    for spec, like, ins, outs in program.steps:
        made = call(spec.name, symbolic(like), *[values[var] for var in ins])
        values.update(zip(outs, made if len(outs) > 1 else (made,)))
    return [values[port.var] if port.var else None for port in program.results]


@torch.library.custom_op(
    "lacuna::apply", mutates_args=(), schema="(int spec, SymInt[] like, Tensor[] inputs) -> Tensor[]"
)
def _operator(spec, like, inputs):
    found = find(str(spec))
    found.stay()
    return _forward(found, tuple(like), _metas(found.op.name, inputs), inputs)


@_operator.register_fake
def _(spec, like, inputs):
    found = find(str(spec))
    found.stay()
    _one_device(found.op.name, inputs)
    program, symbolic = plan(found, FORWARD, tuple(like), _metas(found.op.name, inputs))
    return [inputs[0].new_empty(symbolic(port.shape), dtype=DTYPES[port.code]) for port in program.results]


@functools.lru_cache(None)
def _bits(flags):
    return sum(1 << i for i, flag in enumerate(flags) if flag)


def _present(tensors):
    return _bits(tuple([t is not None for t in tensors]))


def _bare(outs):
    return outs[0] if len(outs) == 1 else tuple(outs)


def _is_tracked(tensors):
    """Whether a derivative of what is computed from these may be asked for."""
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def _evaluate(spec, program, symbolic, tensors, step_by_step):
    if any(map(_is_grads_batched, tensors)):
        return _replay(program, symbolic, tensors, _apply_grads_batched)
    if step_by_step or not program.steps or not _is_plain(tensors):
        return _replay(program, symbolic, tensors)
    return _run(spec.op.name, program, tensors)


def _record(ctx, spec, like, metas, tensors, outs):
    """Keep what the rules will read, and nothing else."""
    ctx.set_materialize_grads(False)
    wants, reads = _bits(ctx.needs_input_grad[2:]), ()
    if wants:
        reads = plan(spec, VJP, like, metas, wants, (1 << len(outs)) - 1)[0].reads
        ctx.save_for_backward(*[(tensors if role == IN else outs)[index] for role, index in reads])
    ctx.call = spec, like, metas, reads, spec.family  # the family, so that the graph outlives the pattern
    if forward_ad._current_level >= 0 or _transforms_active():
        ctx.save_for_forward(*tensors, *outs)


def _zeros(like, symbolic, port):
    """An absent tangent or gradient as numbers."""
    return like.new_zeros(symbolic(port.shape), dtype=DTYPES[port.code])


class _Rules(torch.autograd.Function):
    """Backward and forward mode, by program."""

    @staticmethod
    def backward(ctx, *out_bars):
        spec, like, metas, reads, _ = ctx.call
        given, wants = _present(out_bars), _bits(ctx.needs_input_grad[2:])
        if not given or not wants:
            return (None,) * (2 + len(metas))
        program, symbolic = plan(spec, VJP, like, metas, wants, given)
        saved = dict(zip(reads, ctx.saved_tensors))
        tensors = [out_bars[p.index] if p.role == OUT_BAR else saved[p.role, p.index] for p in program.inputs]
        step_by_step = forward_ad._current_level >= 0 or _is_tracked(tensors)
        in_bars = _evaluate(spec, program, symbolic, tensors, step_by_step)
        if not _present(in_bars):  # flat, as sign is: like torch's own, the inputs were used, and have a gradient
            one = next(t for t in out_bars if t is not None)
            ports = zip(program.results, ctx.needs_input_grad[2:])
            in_bars = [_zeros(one, symbolic, port) if wanted else None for port, wanted in ports]
        return (None, None, *in_bars)

    @staticmethod
    def jvp(ctx, _name, _like, *in_dots):
        spec, like, metas, _, _ = ctx.call
        program, symbolic = plan(spec, JVP, like, metas, 0, _present(in_dots))
        saved = ctx.saved_tensors
        place = {IN: saved, OUT: saved[len(metas) :], IN_DOT: in_dots}
        tensors = [place[p.role][p.index] for p in program.inputs]
        with forward_ad._set_fwd_grad_enabled(
            False
        ):  # the primals are dual, and their tangents have been accounted for
            outs = _evaluate(spec, program, symbolic, tensors, _is_tracked(tensors))
        one = next(t for t in in_dots if t is not None)
        # forward mode takes no None
        return _bare([_zeros(one, symbolic, p) if t is None else t for p, t in zip(program.results, outs)])


def _forward(spec, like, metas, tensors):
    try:
        program = spec.program(FORWARD, like, metas)
    except ShapeError:
        _all_dense(spec.op.name, tensors)  # their shape is that of the matrix, which is not what is wrong
        raise
    return _run(spec.op.name, program, tensors)


class Eager(_Rules):
    """Plain tensors: straight to C."""

    @staticmethod
    def forward(ctx, spec, like, *tensors):
        metas = _metas(spec.op.name, tensors)
        outs = _forward(spec, like, metas, tensors)
        _record(ctx, spec, like, metas, tensors, outs)
        return _bare(outs)


class Traced(_Rules):
    """Under torch.func, tracers and modes: through the registered operator."""

    @staticmethod
    def forward(name, like, *tensors):
        if _is_plain(tensors):
            spec = find(name)
            return _bare(_forward(spec, like, _metas(spec.op.name, tensors), tensors))
        return _bare(torch.ops.lacuna.apply(int(name), like, tensors))

    @staticmethod
    def setup_context(ctx, inputs, output):
        name, like, *tensors = inputs
        spec = find(name)
        _record(
            ctx, spec, like, _metas(spec.op.name, tensors), tensors, output if isinstance(output, tuple) else (output,)
        )

    @staticmethod
    def vmap(info, in_dims, name, like, *tensors):
        out = _apply_batched(info.batch_size, in_dims[2:], name, like, tensors)
        return out, (0,) * len(out) if isinstance(out, tuple) else 0


def _apply_batched(size, dims, name, like, tensors):
    """With one more dimension, at `dims` of the tensors: it becomes the first of the batch, the others stay right."""
    spec = find(name)
    ranks = [t.dim() - (dim is not None) - core for t, dim, core in zip(tensors, dims, spec.in_cores)]
    moved = []
    for tensor, dim, rank in zip(tensors, dims, ranks):
        if dim is not None:
            tensor = tensor.movedim(dim, 0)[(slice(None),) + (None,) * (max(ranks) - rank)]
        moved.append(tensor)
    ones = (1,) * (max(ranks) - (len(like) - spec.out_cores[0])) if spec.fit else ()
    out = apply(name, (size, *ones, *like), *moved)
    return out.reshape(size, *like) if ones else out


def _apply_grads_batched(name, like, *tensors):
    """For torch.autograd.grad(is_grads_batched=True), whose batched tensors torch.func does not know."""
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    dims = [0 if _is_grads_batched(t) else None for t in tensors]
    if not any(dim == 0 for dim in dims):
        return apply(name, like, *tensors)
    tensors = [t if dim is None else torch._remove_batch_dim(t, level, 1, 0) for t, dim in zip(tensors, dims)]
    size = next(t.shape[0] for t, dim in zip(tensors, dims) if dim == 0)
    out = _apply_batched(size, dims, name, like, tensors)
    return _bare([torch._add_batch_dim(t, 0, level) for t in (out if isinstance(out, tuple) else (out,))])


@torch.compiler.allow_in_graph
def apply(name, like, *tensors):
    """The operator of a spec's name on tensors."""
    if not _is_plain(tensors):
        if not all([isinstance(t, torch.Tensor) for t in tensors]):
            raise _refuse(find(name).op.name, tensors)
        return Traced.apply(name, like, *tensors)
    spec = find(name)
    if forward_ad._current_level >= 0 or _is_tracked(tensors):
        return Eager.apply(spec, like, *tensors)
    return _bare(_forward(spec, like, _metas(spec.op.name, tensors), tensors))
