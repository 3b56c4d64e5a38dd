# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.distributions.constraints: of distributions, which are to come."""
