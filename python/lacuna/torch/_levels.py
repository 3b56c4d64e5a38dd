# SPDX-License-Identifier: Apache-2.0
"""Levels of torch.func. One of grad, vjp or jacrev alone, over plain tensors, is what most users have: its tensors are
unwrapped here and go straight to C; all else is left to torch's dispatcher, which takes any levels in turn.
"""

from . import _private


def on_one_level(function, *arguments):
    """Apply an autograd function that takes one level at a time, which torch asks to be told."""
    allowed = _private.is_single_allowed()
    _private.allow_single(True)
    try:
        return function.apply(*arguments)
    finally:
        _private.allow_single(allowed)


def unwrap(tensors, level):
    """The tensors below a level, or None where one of them is recorded there too."""
    below = [_private.unwrapped(t, level) if _private.level_of(t) == level else t for t in tensors]
    for t in below:
        if t.requires_grad:
            return None
    return below


def beneath(function, level, *arguments):
    """The tensors that a function makes where the level is not there, wrapped for it."""
    top = _private.pop_level()
    try:
        made = function(*arguments)
    finally:
        _private.push_level(top)
    return [_private.wrapped(t, level) for t in made]
