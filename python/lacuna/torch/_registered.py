# SPDX-License-Identifier: Apache-2.0
"""The operators that torch's dispatcher knows, lacuna::apply and lacuna::run, at each of its levels.

    Autograd          records the call, where a derivative may be asked for, else goes on; a program is then replayed
    FuncTorchBatched  torch.func.vmap: one more dimension
    fake              tracers: shapes alone
    backends          C

Plain tensors that nobody records do not enter the dispatcher at all: compiled code calls with such ones, and the way
through it and back to Python, twice, would cost it more than what C does there. The dispatcher takes the levels of
torch.func one by one, as it does for torch's own operators, which is far cheaper than torch.autograd.Function under
transforms: that one makes a class in each call.
"""

import functools

import torch

from .._program import FORWARD
from . import _private
from ._apply import Derivative, Dispatch, Rules, apply_batched, bare, forward, is_plain, is_watched, record
from ._levels import on_one_level
from ._open import find_call
from ._symbolic import plan
from ._tensors import DTYPES, metas_of, one_device, run

library = torch.library.Library("lacuna", "DEF")
for _schema in (
    "apply(str name, SymInt[] keys, SymInt[] like, Tensor[] inputs) -> Tensor[]",
    "run(str name, SymInt[] keys, int[] choice, SymInt[] like, SymInt[] metas, Tensor[] inputs) -> Tensor[]",
):
    library.define(_schema, tags=torch.Tag.pt2_compliant_tag)
APPLY, RUN = torch.ops.lacuna.apply.default, torch.ops.lacuna.run.default


def _named(spec):
    """The name by which the dispatcher gets a spec; tracers put it into a graph."""
    return spec.stay() if _private.modes_active() else spec.name


def _apply(spec, like, tensors):
    return bare(APPLY(_named(spec), spec.keys, like, tensors))


def _run(rule, tensors):
    """The dispatcher knows at each level whether steps are needed."""
    sizes = [number for code, shape in rule.metas for number in (code, len(shape), *shape)]
    made = iter(RUN(_named(rule.spec), rule.spec.keys, rule.choice, rule.like, sizes, tensors))
    return [next(made) if port.var else None for port in rule.program.results]


Dispatch.apply, Dispatch.run = _apply, _run


def _below(op, keyset, *arguments):
    """On to what comes after autograd."""
    with _private.below_autograd():
        return op.redispatch(keyset & _private.after_autograd, *arguments)


def _unwatched(op, backend, keyset, *arguments):
    """Nothing to record: straight to C where nobody else is interested."""
    return backend(*arguments) if is_plain(arguments[-1]) else _below(op, keyset, *arguments)


class Recorded(Rules, _private.SingleLevelFunction):
    """One level of autograd or torch.func; `forward` leaves the modes of the levels below as they were."""

    @staticmethod
    def forward(ctx, call, like, *tensors):
        keyset, name, keys, backward_mode, forward_mode = call
        with torch.set_grad_enabled(backward_mode), _private.forward_mode(forward_mode):
            outs = _below(APPLY, keyset, name, keys, like, tensors)
        spec = find_call(name, keys)
        record(ctx, spec, like, metas_of(spec.op.name, tensors), tensors, outs)
        return bare(outs)


def _apply_recorded(keyset, name, keys, like, tensors):
    if not is_watched(tensors):
        return _unwatched(APPLY, _apply_backend, keyset, name, keys, like, tensors)
    call = keyset, name, keys, torch.is_grad_enabled(), _private.is_forward_enabled()
    out = on_one_level(Recorded, call, tuple(like), *tensors)
    return list(out) if isinstance(out, tuple) else [out]


def _apply_backend(name, keys, like, tensors):
    spec = find_call(name, keys)
    return forward(spec, tuple(like), metas_of(spec.op.name, tensors), tensors)


def _apply_fake(name, keys, like, tensors):
    spec = find_call(name, keys)
    spec.stay()
    one_device(spec.op.name, tensors)
    program, symbolic = plan(spec, FORWARD, tuple(like), metas_of(spec.op.name, tensors))
    return _empty(program, symbolic, tensors)


def _apply_batched(name, keys, like, tensors):
    level = _private.top_level().level()
    below, dims = zip(*[_private.unwrap_batched(t, level) for t in tensors])
    sizes = [t.shape[dim] for t, dim in zip(below, dims) if dim is not None]
    with _private.without_keys(_private.BATCHED):
        if not sizes:  # of another level
            return APPLY(name, keys, like, tensors)
        out = apply_batched(sizes[0], dims, find_call(name, keys), tuple(like), below)
        return [_private.add_batched(t, 0, level) for t in (out if isinstance(out, tuple) else (out,))]


def _empty(program, symbolic, tensors):
    ports = [port for port in program.results if port.var]
    return [tensors[0].new_empty(symbolic(port.shape), dtype=DTYPES[port.code]) for port in ports]


def _read_metas(sizes):
    """The metas that `_run` wrote as a list."""
    metas, at = [], 0
    while at < len(sizes):
        dims = int(sizes[at + 1])
        metas.append((int(sizes[at]), tuple(sizes[at + 2 : at + 2 + dims])))
        at += 2 + dims
    return tuple(metas)


_metas_read = functools.lru_cache(4096)(_read_metas)  # of numbers; symbols have no hash


def _derivative(name, keys, choice, like, sizes):
    """The program that `_run` named."""
    return Derivative(find_call(name, keys), tuple(choice), tuple(like), _read_metas(sizes))


def _run_steps(name, keys, choice, like, sizes, tensors):
    return [out for out in _derivative(name, keys, choice, like, sizes).replay(tensors) if out is not None]


def _run_recorded(keyset, *arguments):
    if is_watched(arguments[-1]):
        return _run_steps(*arguments)
    return _unwatched(RUN, _run_backend, keyset, *arguments)


def _run_backend(name, keys, choice, like, sizes, tensors):
    spec, (mode, wants, given) = find_call(name, keys), choice
    program = spec.program(mode, tuple(like), _metas_read(tuple(sizes)), wants, given)
    return [out for out in run(spec.op.name, program, tensors) if out is not None]


def _run_fake(name, keys, choice, like, sizes, tensors):
    rule = _derivative(name, keys, choice, like, sizes)
    rule.spec.stay()
    return _empty(rule.program, rule.symbolic, tensors)


def _is_short(*arguments):
    """Whether a call has plain tensors that nobody records."""
    return is_plain(arguments[-1]) and not is_watched(arguments[-1])


for _name, _op, _backend, _fake, _autograd in (
    ("apply", APPLY, _apply_backend, _apply_fake, _apply_recorded),
    ("run", RUN, _run_backend, _run_fake, _run_recorded),
):
    library.impl(_name, _backend, "CompositeExplicitAutograd")
    library.impl(_name, _autograd, "Autograd", with_keyset=True)
    torch.library.register_fake(f"lacuna::{_name}", _fake, lib=library)
    _private.shorten(_op, _is_short, _backend)
library.impl("apply", _apply_batched, "FuncTorchBatched")
library.impl("run", _run_steps, "FuncTorchBatched")
