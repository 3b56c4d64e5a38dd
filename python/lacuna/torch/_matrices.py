# SPDX-License-Identifier: Apache-2.0
"""Matrices as the torch front end takes them: SparseTensor, torch's own sparse tensors, and those of NumPy
users, lacuna.Matrix and SciPy's."""

import torch

from .._handle import Handle
from .._matrices import Front
from ..matrix import Matrix as Arrays
from ._levels import layout_of


class Matrix:
    """A base of SparseTensor, by which the functions that it is made of know it."""


class Torch(Front):
    array = torch.Tensor

    def is_matrix(self, given):
        if isinstance(given, torch.Tensor):
            return layout_of(given) is not torch.strided
        return isinstance(given, (Matrix, Arrays)) or not isinstance(given, Handle) and hasattr(given, "tocoo")

    def parts(self, matrix):
        if not isinstance(matrix, Matrix):
            from .sparse import SparseTensor  # made of these functions

            matrix = SparseTensor.of(matrix)
        return *matrix._matrix(), len(matrix.batch_shape)
