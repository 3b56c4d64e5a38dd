# SPDX-License-Identifier: Apache-2.0
"""Levels of torch.func. One of grad, vjp or jacrev alone, over plain tensors, is what most users have: its tensors are
unwrapped here and go straight to C; all else is left to torch's dispatcher, which takes any levels in turn.
"""

import torch

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


def outside(function, *arguments):
    """What a function makes of tensors that no level has wrapped, where no level is there. A compiler reads the
    function alone: it has no levels of its own here."""
    if torch.compiler.is_dynamo_compiling():
        return function(*arguments)
    popped = []
    try:
        while _private.is_whole and _private.transforms_active():
            popped.append(_private.pop_level())
        return function(*arguments)
    finally:
        for level in reversed(popped):
            _private.push_level(level)


def innermost(tensor):
    """(the tensor inside of all that levels have wrapped around it, how many of its first dimensions vmap maps)."""
    if not _private.is_wrapped(tensor):
        return tensor, 0
    inside, mapped = innermost(_private.unwrapped_once(tensor))
    if not _private.is_batched(tensor):
        return inside, mapped
    return inside.movedim(mapped + _private.batch_axis(tensor), 0), mapped + 1


def layout_of(tensor):
    """The layout of what levels have wrapped: the batched tensors of some versions of torch say strided of all."""
    if tensor.layout is torch.strided and not torch.compiler.is_dynamo_compiling() and _private.is_whole:
        while _private.is_wrapped(tensor):
            tensor = _private.unwrapped_once(tensor)
    return tensor.layout
