# SPDX-License-Identifier: Apache-2.0
"""torch_sla.sparse_tensor.utils: which method fits, and what a factor needs."""

from .core import auto_select_method, estimate_direct_solver_memory, get_available_gpu_memory  # noqa: F401
