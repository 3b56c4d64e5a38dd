# SPDX-License-Identifier: Apache-2.0
"""Calls by what torch promises alone, for a torch from which something of _private.py is gone: an autograd function
that torch.func differentiates and maps. Compiled code breaks its graph at each call, and derivatives go step by step.
"""

import torch

from ._apply import Dispatch, Rules, apply_batched, bare, forward, record
from ._tensors import metas_of


class Public(Rules, torch.autograd.Function):
    @staticmethod
    def forward(spec, like, *tensors):
        return bare(forward(spec, like, metas_of(spec.op.name, tensors), tensors))

    @staticmethod
    def setup_context(ctx, inputs, output):
        spec, like, *tensors = inputs
        outs = output if isinstance(output, tuple) else (output,)
        record(ctx, spec, like, metas_of(spec.op.name, tensors), tensors, outs)

    @staticmethod
    def vmap(info, dims, spec, like, *tensors):
        out = apply_batched(info.batch_size, dims[2:], spec, like, tensors)
        return out, (0,) * len(out) if isinstance(out, tuple) else 0


def _apply(spec, like, tensors):
    return Public.apply(spec, like, *tensors)


def _run(rule, tensors):
    return rule.replay(tensors)


Dispatch.apply, Dispatch.run = _apply, _run
