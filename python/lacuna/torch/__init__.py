# SPDX-License-Identifier: Apache-2.0
"""Lacuna's operators on torch tensors, differentiable to every order, under autograd, torch.func, compile and export.

    y = lacuna.torch.spmm(pattern, values, x)
    x = lacuna.torch.solve(pattern, values, b)

Names and meanings are those of the NumPy front end. Values are the leaf: their gradient has one number for each slot.
Tensors on the CPU and on CUDA devices. A function made by torch.compile, torch.export or torch.func.linearize needs its
patterns alive, in the process that made it; the graph of autograd keeps them alive itself.
"""

import torch as _torch

from .. import _operators
from ..pattern import derived as _derived
from . import _apply, _registered  # noqa: F401

for _constant in (_operators.resolve, _derived, *_operators.CONSTANT):
    _torch.compiler.assume_constant_result(_constant)
globals().update(_operators.of(_apply, __name__))
