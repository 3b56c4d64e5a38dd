# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.encoders.pairwise_voxel_encoder: names of what is to come."""

from .pairwise_encoder import (  # noqa: F401
    PairwiseEncoder, PairwiseVoxelEncoder, calc_pairwise_coo_indices, calc_pairwise_coo_indices_nd,
    calc_pariwise_coo_indices,
)  # fmt: skip
