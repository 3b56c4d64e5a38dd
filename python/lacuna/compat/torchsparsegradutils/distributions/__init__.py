# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.distributions: names of what is to come."""

from .sparse_multivariate_normal import SparseMultivariateNormal, SparseMultivariateNormalNative  # noqa: F401
