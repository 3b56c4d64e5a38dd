# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.distributions: names of what is to come."""

from ..._later import later_class

_WHAT = "distributions"
SparseMultivariateNormal = later_class("SparseMultivariateNormal", _WHAT)
SparseMultivariateNormalNative = later_class("SparseMultivariateNormalNative", _WHAT)
