# SPDX-License-Identifier: Apache-2.0
"""The one generic wrapper: every operator of the C table as a differentiable function of torch tensors.

    apply -- plain tensors --------------- Eager(Function) ---------- C
      +----- transforms, tracers, modes -- torch.ops.lacuna.apply --- torch's dispatcher, level by level
      |                                                               (_registered.py)
      +----- a function of operators ----- C where nobody watches, else its steps, each by `apply`

Derivatives are programs that C writes. Where their own derivatives are not needed, a program is one call; else its
steps go through `apply` again, so that their derivatives are torch's too. No operator is named here except reshape,
which torch has as a view.
"""

import contextlib
import functools
import threading

import torch
from torch.autograd import forward_ad

from .._program import FORWARD, IN, IN_DOT, JVP, OUT, OUT_BAR, VJP, find
from ..errors import DtypeError, ShapeError
from . import _private
from ._dtypes import apply_promoted
from ._levels import beneath, on_one_level, unwrap
from ._open import call_of, resolve  # noqa: F401
from ._private import SingleLevelFunction, in_forward_mode, is_calm, is_unwatched, lone_grad
from ._private import is_grads_batched as _is_grads_batched
from ._private import modes_active as _modes_active
from ._symbolic import plan
from ._tensors import ARRAY, RENAMED, asarray, code, convert, number  # noqa: F401
from ._tensors import CODES, DTYPES, PLAIN, all_dense, metas_of, read_at, refusal, run

_is_grad_enabled = torch.is_grad_enabled


def is_plain(tensors):
    """Nobody watches: data can go straight to C."""
    return is_unwatched() and _have_data(tensors)


def _have_data(tensors):
    for tensor in tensors:
        if type(tensor) not in PLAIN or tensor.is_meta:
            return False
    return True


@functools.lru_cache(None)
def _bits(flags):
    return sum(1 << i for i, flag in enumerate(flags) if flag)


def _present(tensors):
    bits, bit = 0, 1
    for tensor in tensors:
        bits, bit = bits if tensor is None else bits | bit, 2 * bit
    return bits


def bare(outs):
    return outs[0] if len(outs) == 1 else tuple(outs)


def is_tracked(tensors):
    """Whether autograd may be asked for a derivative of what is computed from these."""
    if _is_grad_enabled():
        for t in tensors:
            if t.requires_grad:
                return True
    return False


def is_watched(tensors):
    """Whether anybody may, in backward or forward mode."""
    return is_tracked(tensors) or in_forward_mode()


def replayed(program, symbolic, tensors, call):
    """{var: tensor} of all vars of a program, whose steps are called one by one."""
    values = {port.var: tensor for port, tensor in zip(program.inputs, tensors)}
    for spec, like, ins, outs in program.steps:
        made = call(spec, symbolic(like), *[values[var] for var in ins])
        values.update(zip(outs, made if len(outs) > 1 else (made,)))
    return values


class Dispatch:
    """What takes a call that somebody watches; _registered.py or, where that cannot be, _public.py puts it here.

    apply(spec, like, tensors) gives what an operator does, run(derivative, tensors) the results of a derivative, None
    where absent.
    """

    apply = run = None


class Derivative:
    """A program of an operator's derivative, (mode, wants, given), in a call with these metas."""

    __slots__ = ("spec", "family", "choice", "like", "metas", "program", "symbolic")

    def __init__(self, spec, choice, like, metas):
        self.spec, self.choice, self.like, self.metas = spec, choice, like, metas
        self.family = spec.family  # so that its steps outlive the pattern
        mode, wants, given = choice
        self.program, self.symbolic = plan(spec, mode, like, metas, wants, given)

    def __call__(self, tensors, asked=is_watched):
        """Its results, None where absent: in one call, or in steps where their derivatives may be asked for."""
        if any(map(_is_grads_batched, tensors)):
            return self.replay(tensors, _apply_grads_batched)
        if not self.program.steps:
            return self.replay(tensors)
        if not is_plain(tensors):
            return self.on_lone_level(tensors) or Dispatch.run(self, tensors)
        return self.replay(tensors) if asked(tensors) else self.run(tensors)

    def run(self, tensors):
        return run(self.spec.op.name, self.program, tensors)

    def present(self, tensors):
        """Those of its results that are not absent, on plain tensors."""
        return [out for out in self.run(tensors) if out is not None]

    def on_lone_level(self, tensors):
        """Under one level of torch.func.grad; None where there is more."""
        lone = below_lone_grad(tensors)
        if lone is None:
            return None
        made = iter(on_one_level(LoneProgram, (self, *lone), *tensors))
        return [next(made) if port.var else None for port in self.program.results]

    def replay(self, tensors, call=None):
        """Step by step through `apply`."""
        if self.spec.keys:
            return Derivative(self.spec.closed(), self.choice, self.like, self.metas).replay(tensors, call)
        values = replayed(self.program, self.symbolic, tensors, call or apply_spec)
        return [values[port.var] if port.var else None for port in self.program.results]

    def zeros(self, like, port):
        """An absent tangent or gradient as numbers."""
        return like.new_zeros(self.symbolic(port.shape), dtype=DTYPES[port.code])


class _Listening(threading.local):
    to = None


_listening = _Listening()


@contextlib.contextmanager
def heard(function):
    """Calls that are recorded meanwhile call a function, without arguments, whenever they have been pulled back."""
    _listening.to = function
    try:
        yield
    finally:
        _listening.to = None


def _kept(spec, like, metas, outs, needs, kept):
    """(the inputs that want a derivative, what backward may read of inputs and outputs, the rules that it ran)."""
    wants = _bits(needs[2:])
    reads = plan(spec, VJP, like, metas, wants, (1 << outs) - 1)[0].reads if wants else ()
    if kept is None:
        return wants, reads, None
    kept[needs] = wants, reads, {}
    return kept[needs]


def record(ctx, spec, like, metas, tensors, outs, kept=None, calm=False):
    """Keep what the rules will read, and nothing else. `kept` is the program's own, what _kept gave for the arguments
    that need a gradient; None where sizes may be symbols. `calm`: is_calm() holds."""
    ctx.set_materialize_grads(False)
    needs = ctx.needs_input_grad
    wants, reads, rules = kept and kept.get(needs) or _kept(spec, like, metas, len(outs), needs, kept)
    if reads:
        ctx.save_for_backward(*[(tensors if role == IN else outs)[index] for role, index in reads])
    # the family, so that the graph outlives the pattern
    ctx.call = spec, like, metas, wants, reads, rules, _listening.to, spec.family
    if not calm and in_forward_mode():
        ctx.save_for_forward(*tensors, *outs)


def _made_rule(call, given):
    """(a program, where its inputs are: among the adjoints, or, counted from the end, among what was kept), as backward
    runs it in one call; None where there is nothing to run."""
    spec, like, metas, wants, reads, *_ = call
    program, at = spec.program(VJP, like, metas, wants, given), {read: i - len(reads) for i, read in enumerate(reads)}
    places = [p.index if p.role == OUT_BAR else at[p.role, p.index] for p in program.inputs]
    return (program, places) if program.steps and any([port.var for port in program.results]) else None


def _run_rule(call, given, out_bars, saved):
    """The adjoints without their derivatives, in one call of C, where nobody watches tensors that C reads as they are;
    else None."""
    spec, _, _, _, _, rules, _, _ = call
    if rules is None or not is_calm():
        return None
    if given not in rules:
        rules[given] = _made_rule(call, given)
    if rules[given] is None:
        return None
    program, places = rules[given]
    tensors = [out_bars[i] if i >= 0 else saved[i] for i in places]
    read = read_at(tensors)
    return read and run(spec.op.name, program, tensors, read)


def _alive(saved):
    """What backward reads, without the wrapping of levels that are gone: torch.func.vjp's function runs after them."""
    return [_private.outlived(t) for t in saved]


def _pulled(call, given, out_bars, saved):
    """The adjoints, whoever watches."""
    spec, like, metas, wants, reads, *_ = call
    rule = Derivative(spec, (VJP, wants, given), like, metas)
    kept = dict(zip(reads, _alive(saved)))
    in_bars = rule([out_bars[p.index] if p.role == OUT_BAR else kept[p.role, p.index] for p in rule.program.inputs])
    if _present(in_bars):
        return in_bars
    # flat, as sign is: like torch's own, the inputs were used, and have a gradient
    one = next(t for t in out_bars if t is not None)
    return [rule.zeros(one, port) if wants >> i & 1 else None for i, port in enumerate(rule.program.results)]


class Rules:
    """Backward and forward mode, by program."""

    @staticmethod
    def backward(ctx, *out_bars):
        call, given = ctx.call, _present(out_bars)
        _, _, metas, wants, _, _, heard, _ = call
        if not given or not wants:
            return (None,) * (2 + len(metas))
        saved = ctx.saved_tensors
        in_bars = None if _is_grad_enabled() else _run_rule(call, given, out_bars, saved)
        if in_bars is None:
            in_bars = _pulled(call, given, out_bars, saved)
        if heard:
            heard()
        return (None, None, *in_bars)

    @staticmethod
    def jvp(ctx, _call, _like, *in_dots):
        spec, like, metas, *_ = ctx.call
        rule = Derivative(spec, (JVP, 0, _present(in_dots)), like, metas)
        # Without the tangents that this rule accounts for; those of outer levels stay.
        saved = [forward_ad.unpack_dual(t, level=0).primal for t in ctx.saved_tensors]
        place = {IN: saved, OUT: saved[len(metas) :], IN_DOT: in_dots}
        tensors = [place[p.role][p.index] for p in rule.program.inputs]
        with _private.forward_mode(True):
            outs = rule(tensors, is_tracked)
        one = next(t for t in in_dots if t is not None)
        # forward mode takes no None
        return bare([rule.zeros(one, p) if t is None else t for p, t in zip(rule.program.results, outs)])


def _program(spec, like, metas, tensors):
    try:
        return spec.program(FORWARD, like, metas)
    except ShapeError:
        all_dense(spec.op.name, tensors)  # their shape is that of the matrix, which is not what is wrong
        raise


def forward(spec, like, metas, tensors, read=None):
    return run(spec.op.name, _program(spec, like, metas, tensors), tensors, read)


class Eager(Rules, torch.autograd.Function):
    """Plain tensors: straight to C."""

    @staticmethod
    def forward(ctx, call, like, *tensors):
        spec, read = call
        metas = metas_of(spec.op.name, tensors)
        program = _program(spec, like, metas, tensors)
        outs = run(spec.op.name, program, tensors, read)
        record(ctx, spec, like, metas, tensors, outs, program.kept, read is not None)
        return bare(outs)


def _apply_plain(spec, like, tensors):
    """An operator where no transform watches."""
    if is_watched(tensors):
        return Eager.apply((spec, None), like, *tensors)
    return bare(forward(spec, like, metas_of(spec.op.name, tensors), tensors))


def below_lone_grad(tensors):
    """(level, the tensors below it) under torch.func.grad alone; None where there is more, or nothing to record."""
    level = None if _modes_active() else lone_grad()
    if level is None or not is_tracked(tensors):
        return None
    below = unwrap(tensors, level)
    return (level, below) if below is not None and _have_data(below) else None


class Lone(Rules, SingleLevelFunction):
    """Under torch.func.grad alone: what is below its level goes straight to C."""

    @staticmethod
    def forward(ctx, call, like, *tensors):
        spec, level, below = call
        metas = metas_of(spec.op.name, below)  # whose shapes are read faster
        program = _program(spec, like, metas, below)
        outs = beneath(run, level, spec.op.name, program, below)
        record(ctx, spec, like, metas, tensors, outs, program.kept)
        return bare(outs)


class LoneProgram(SingleLevelFunction):
    """A rule there, in one call. Few ask for its own derivative: for them the steps are made, and differentiated."""

    @staticmethod
    def forward(ctx, call, *tensors):
        ctx.rule, level, below = call
        ctx.save_for_backward(*tensors)
        return tuple(beneath(ctx.rule.present, level, below))

    @staticmethod
    def backward(ctx, *bars):
        with torch.enable_grad():
            tensors = [t.view_as(t) for t in _alive(ctx.saved_tensors)]  # each apart, though one may depend on another
            outs = [out for out in ctx.rule.replay(tensors) if out is not None]
        asked = [t for t, needed in zip(tensors, ctx.needs_input_grad[1:]) if needed]
        found = iter(torch.autograd.grad(outs, asked, bars, create_graph=torch.is_grad_enabled(), allow_unused=True))
        return (None, *[next(found) if needed else None for needed in ctx.needs_input_grad[1:]])


def apply_batched(size, dims, spec, like, tensors):
    """With one more dimension, at `dims` of the tensors: it becomes the first of the batch, the others stay right."""
    ranks = [t.dim() - (dim is not None) - core for t, dim, core in zip(tensors, dims, spec.in_cores)]
    moved = []
    for tensor, dim, rank in zip(tensors, dims, ranks):
        if dim is not None:
            tensor = tensor.movedim(dim, 0)[(slice(None),) + (None,) * (max(ranks) - rank)]
        moved.append(tensor)
    ones = (1,) * (max(ranks) - (len(like) - spec.out_cores[0])) if spec.fit else ()
    out = apply_spec(spec, (size, *ones, *like), *moved)
    return out.reshape(size, *like) if ones else out


def _apply_grads_batched(spec, like, *tensors):
    """For torch.autograd.grad(is_grads_batched=True)."""
    level = _private.enter_vmap() - 1
    _private.leave_vmap()
    dims = [0 if _is_grads_batched(t) else None for t in tensors]
    if not any(dim == 0 for dim in dims):
        return apply_spec(spec, like, *tensors)
    tensors = [t if dim is None else _private.remove_batch_dim(t, level, 1, 0) for t, dim in zip(tensors, dims)]
    size = next(t.shape[0] for t, dim in zip(tensors, dims) if dim == 0)
    out = apply_batched(size, dims, spec, like, tensors)
    return bare([_private.add_batch_dim(t, 0, level) for t in (out if isinstance(out, tuple) else (out,))])


@torch.compiler.allow_in_graph if _private.is_whole else torch.compiler.disable
def apply(asked, like, *tensors):
    """The operator or function of a spec, of the name of one, or of a request, on tensors."""
    spec = find(asked) if type(asked) is str else call_of(asked) if type(asked) is tuple else asked
    try:
        return apply_spec(spec, like, *tensors)
    except DtypeError as error:
        return apply_promoted(functools.partial(apply_spec, spec, like), error, tensors)


def _apply_step(spec, like, *tensors):
    """A step of a function. What torch has as a view is one, and nobody asks for what is flat."""
    if spec.op.name == "reshape":
        return tensors[0].reshape(like)
    return apply_spec(spec, like, *([t.detach() for t in tensors] if spec.op.is_flat else tensors))


def _apply_plain_step(spec, like, *tensors):
    """The same of plain tensors."""
    if spec.op.name == "reshape":
        return tensors[0].reshape(like)
    if spec.op.is_flat:
        return bare(forward(spec, like, metas_of(spec.op.name, tensors), tensors))
    return _apply_plain(spec, like, tensors)


def apply_composed(spec, tensors):
    """A function of operators: in one call, or its steps where anybody watches. A result that is an input is a copy."""
    plain = is_plain(tensors)
    if not plain and not all([isinstance(t, torch.Tensor) for t in tensors]):
        raise refusal(spec.op.name, tensors)
    metas = metas_of(spec.op.name, tensors)
    program, symbolic = (_program(spec, (), metas, tensors), tuple) if plain else plan(spec, FORWARD, (), metas)
    if plain and not is_watched(tensors):
        return bare(run(spec.op.name, program, [tensors[i] for i in program.takes]))
    if plain and program.lone is not None:
        step, like, places = program.lone
        outs = Eager.apply((step, None), like, *tensors)
        return bare([outs[i] for i in places]) if isinstance(outs, tuple) else outs
    call = _apply_plain_step if plain else _apply_step
    values = replayed(program, symbolic, [tensors[i] for i in program.takes], call)
    results, inputs = [values[port.var] for port in program.results], [port.var for port in program.inputs]
    return bare([t.clone() if port.var in inputs else t for t, port in zip(results, program.results)])


def _refuse_early(spec, like, tensors):
    """Refuse dtypes that do not go together before torch's dispatcher sees them: `apply` tries others, and modes would
    write of each error as of one."""
    dtypes = {t.dtype for t in tensors}
    if len(dtypes) > 1 or not dtypes <= CODES.keys():
        plan(spec, FORWARD, tuple(like), metas_of(spec.op.name, tensors))


def _apply_any(spec, like, tensors):
    """An operator on tensors that somebody watches, or that C does not read as they are."""
    if is_plain(tensors):
        return _apply_plain(spec, like, tensors)
    if not all([isinstance(t, torch.Tensor) for t in tensors]):
        raise refusal(spec.op.name, tensors)
    lone = below_lone_grad(tensors)
    if lone is not None:
        return on_one_level(Lone, (spec, *lone), like, *tensors)
    _refuse_early(spec, like, tensors)
    return Dispatch.apply(spec, like, tensors)


def apply_spec(spec, like, *tensors):
    if spec.is_composed:
        return apply_composed(spec, tensors)
    read = read_at(tensors) if is_calm() else None
    if read is None:
        return _apply_any(spec, like, tensors)
    if is_tracked(tensors):
        return Eager.apply((spec, read), like, *tensors)
    return bare(forward(spec, like, metas_of(spec.op.name, tensors), tensors, read))
