# SPDX-License-Identifier: Apache-2.0
"""Lacuna's operators on torch tensors, differentiable to every order, under autograd, torch.func, compile and export.

    y = lacuna.torch.spmm(pattern, values, x)
    x = lacuna.torch.solve(pattern, values, b)
    A = lacuna.torch.SparseTensor(values, row, col, shape)    a matrix as one object: A @ x, A.solve(b), A + A.T
    x = lacuna.torch.solve(A, b)                              and in the place of pattern and values

Names and meanings are those of the NumPy front end. Values are the leaf: their gradient has one number for each slot.
Tensors on the CPU and on CUDA devices. A function made by torch.compile, torch.export or torch.func.linearize needs its
patterns alive until its backward has run; the graph of autograd keeps them alive itself. What torch.export.save wrote
runs in any process where patterns with the same entries are alive.
A pattern that is an argument of a compiled function may be another one in each call: it is an input, as a tensor is,
and compiles anew where a tensor of another size would. What an nn.Module holds is a constant for the compiler, a
pattern too.
"""

import _codecs

import torch as _torch

from .. import _operators, _pickled
from .._derived import kept_or_made as _kept_or_made
from . import _errors, _private  # noqa: F401
from ._called import lanczos, solve_operator  # noqa: F401
from ._tensors import synchronize  # noqa: F401

if _private.is_whole:
    from . import _registered  # noqa: F401
else:
    from . import _public  # noqa: F401

for _constant in (_operators.resolve, _kept_or_made, *_operators.CONSTANT):
    _torch.compiler.assume_constant_result(_constant)
# For torch.load with weights_only, which since torch 2.5 takes bytes, as old protocols write them, by itself.
_torch.serialization.add_safe_globals([_pickled.restored_map, _pickled.restored_pattern, _pickled.restored_solver])
_torch.serialization.add_safe_globals([_codecs.encode])
from ._made import *  # noqa: E402, F403
from . import nn  # noqa: E402, F401
from .sparse import Factorization, SolveInfo, SparseTensor, SparseTensorList  # noqa: E402, F401
