# SPDX-License-Identifier: Apache-2.0
"""numml.sparse over Lacuna."""

from . import linalg  # noqa: F401
from ._csr import (  # noqa: F401
    SparseCSRTensor, diag, diagonal_idx, eye, repack_csr, row_indices, spouter, unpack_csr,
)  # fmt: skip
from ._linear_operator import LinearOperator  # noqa: F401
from .linalg import splu, splu_solve, spsolve, spsolve_triangular  # noqa: F401
