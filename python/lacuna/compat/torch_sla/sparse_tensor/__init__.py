# SPDX-License-Identifier: Apache-2.0
"""torch_sla.sparse_tensor over Lacuna: one matrix or a batch, lists of matrices, factorizations."""

from .core import (  # noqa: F401
    LUFactorization, SparseTensor, SparseTensorList, auto_select_method, estimate_direct_solver_memory,
    get_available_gpu_memory,
)  # fmt: skip
