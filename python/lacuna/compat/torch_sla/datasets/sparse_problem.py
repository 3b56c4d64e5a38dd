# SPDX-License-Identifier: Apache-2.0
"""torch_sla.datasets.sparse_problem: a matrix by its entries, with what is known of it."""

from .problems import SparseProblem  # noqa: F401
