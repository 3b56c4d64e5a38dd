# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices as tensors: lacuna.torch.SparseTensor, one file for each of the things that it does.

A subclass of SparseTensor is one in every respect: what its methods make is of its class, `of` takes any other
SparseTensor, and `public_name=...` in its class statement is the name by which trees and torch.load know it.
`Places`, `assembled` and `values_of` are torch's own sparse tensors in parts, differentiable to every order;
`layout_of` is the layout of one that a transform has wrapped.
"""

from .. import _private
from .._levels import layout_of
from .factors import Factorization
from .iterated import SolveInfo
from .lists import SparseTensorList
from .places import Places, assembled, values_of
from .shapes import stack
from .tensor import SparseTensor

__all__ = [
    "Factorization", "Places", "SolveInfo", "SparseTensor", "SparseTensorList", "assembled", "layout_of", "stack",
    "values_of",
]  # fmt: skip

if not _private.follows_objects:
    for _class in {*SparseTensor.__mro__, *SparseTensorList.__mro__, *Factorization.__mro__}:
        if _class.__module__.startswith(__name__):
            _private.opaque(_class)
