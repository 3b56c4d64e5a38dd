# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.encoders: names of what is to come."""

from ..._later import later, later_class

_WHAT = "pairwise encoders"
PairwiseEncoder, PairwiseVoxelEncoder = (
    later_class("PairwiseEncoder", _WHAT),
    later_class("PairwiseVoxelEncoder", _WHAT),
)
calc_pairwise_coo_indices_nd = later("calc_pairwise_coo_indices_nd", _WHAT)
calc_pairwise_coo_indices = later("calc_pairwise_coo_indices", _WHAT)
calc_pariwise_coo_indices = calc_pairwise_coo_indices  # as it is spelled there too
