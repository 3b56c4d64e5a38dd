# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices as tensors: lacuna.torch.SparseTensor, one file for each of the things that it does."""

from .factors import Factorization
from .interned import forget
from .iterated import SolveInfo
from .lists import SparseTensorList
from .shapes import stack
from .stored import register as _register
from .tensor import SparseTensor

_register(SparseTensor, "lacuna.torch.SparseTensor")
__all__ = ["Factorization", "SolveInfo", "SparseTensor", "SparseTensorList", "forget", "stack"]
