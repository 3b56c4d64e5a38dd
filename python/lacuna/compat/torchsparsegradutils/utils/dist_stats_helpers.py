# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils.dist_stats_helpers: names of what is to come."""

from ..._later import later

_WHAT = "tests of distributions"
cov_nagao_test = later("cov_nagao_test", _WHAT)
mean_hotelling_t2_test = later("mean_hotelling_t2_test", _WHAT)
