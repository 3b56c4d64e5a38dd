# SPDX-License-Identifier: Apache-2.0
"""torch_sla.sparse_tensor.list: matrices with structures of their own."""

from .core import SparseTensorList  # noqa: F401
