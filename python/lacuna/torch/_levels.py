# SPDX-License-Identifier: Apache-2.0
"""Levels of torch.func. One of grad, vjp or jacrev alone, over plain tensors, is what most users have: its tensors are
unwrapped here and go straight to C; all else is left to torch's dispatcher, which takes any levels in turn.
"""

from torch._C import _are_functorch_transforms_active, _functorch
from torch.autograd import forward_ad

_GRAD, _JVP = _functorch.TransformType.Grad, _functorch.TransformType.Jvp
_level_of, _unwrapped, _wrapped = _functorch.maybe_get_level, _functorch._unwrap_for_grad, _functorch._wrap_for_grad


def in_forward_mode():
    """Whether tensors may have tangents. A graph that is traced enters forward mode without the word of forward_ad."""
    if forward_ad._current_level >= 0:
        return True
    return _are_functorch_transforms_active() and _functorch.peek_interpreter_stack().key() == _JVP


def on_one_level(function, *arguments):
    """Apply an autograd function that takes one level at a time, which torch asks to be told."""
    allowed = _functorch.get_single_level_autograd_function_allowed()
    _functorch.set_single_level_autograd_function_allowed(True)
    try:
        return function.apply(*arguments)
    finally:
        _functorch.set_single_level_autograd_function_allowed(allowed)


def lone_grad():
    """The level of a transform in backward mode that no other is around or inside of; None where it is not so."""
    top = _functorch.peek_interpreter_stack() if forward_ad._current_level < 0 else None
    return 1 if top is not None and top.level() == 1 and top.key() == _GRAD else None


def unwrap(tensors, level):
    """The tensors below a level, or None where one of them is recorded there too."""
    below = [_unwrapped(t, level) if _level_of(t) == level else t for t in tensors]
    for t in below:
        if t.requires_grad:
            return None
    return below


def beneath(function, level, *arguments):
    """The tensors that a function makes where the level is not there, wrapped for it."""
    top = _functorch.pop_dynamic_layer_stack()
    try:
        made = function(*arguments)
    finally:
        _functorch.push_dynamic_layer_stack(top)
    return [_wrapped(t, level) for t in made]
