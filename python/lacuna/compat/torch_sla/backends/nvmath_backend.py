# SPDX-License-Identifier: Apache-2.0
"""torch_sla.backends.nvmath_backend: direct solves, by Lacuna, on the device of the tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._later import later
from ..linear_solve import spsolve
from ..sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

_METHODS = {"spd": "cholesky", "hpd": "cholesky", "symmetric": "ldlt"}


def detect_matrix_type(val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int]) -> str:
    """A.detect_matrix_type()."""
    return SparseTensor(val, row, col, shape).detect_matrix_type()


def nvmath_solve(
    val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], b: Tensor, matrix_type: str = "general",
) -> Tensor:  # fmt: skip
    """spsolve by the factors that fit the kind of matrix."""
    return spsolve(val, row, col, shape, b, method=_METHODS.get(matrix_type, "lu"))


nvmath_factor_solve_many = later("nvmath_factor_solve_many", "right-hand sides that are made one after the other")
