# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils over Lacuna."""

from .bicgstab import BICGSTABSettings, bicgstab  # noqa: F401
from .dist_stats_helpers import cov_nagao_test, mean_hotelling_t2_test  # noqa: F401
from .linear_cg import CGInfo, LinearCGSettings, linear_cg  # noqa: F401
from .lsmr import lsmr  # noqa: F401
from .minres import MINRESSettings, minres  # noqa: F401
from .random_sparse import make_spd_sparse, rand_sparse, rand_sparse_tri  # noqa: F401
from .utils import (  # noqa: F401
    convert_coo_to_csr, convert_coo_to_csr_indices_values, sparse_block_diag, sparse_block_diag_split, sparse_eye,
    stack_csr,
)  # fmt: skip
