# SPDX-License-Identifier: Apache-2.0
"""torch_sla.backends.strumpack_backend: factors of compressed rows, by Lacuna, which needs no STRUMPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sparse_tensor import SparseTensor
from . import is_strumpack_available  # noqa: F401

if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def factor(crow: Tensor, col: Tensor, values: Tensor, n: int) -> Any:
    """LU of an n x n matrix, for solve and solve_transpose."""
    return SparseTensor.from_csr(values, crow, col, (n, n)).lu()


def solve(fac: Any, b: Tensor) -> Tensor:
    """x with A x = b."""
    return fac.solve(b)


def solve_transpose(fac: Any, b: Tensor) -> Tensor:
    """x with A^T x = b."""
    return fac.solve(b, "T")
