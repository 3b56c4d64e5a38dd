# SPDX-License-Identifier: Apache-2.0
"""numml's names over Lacuna. What is not here yet (fixed points) raises NotImplementedError."""

from . import autograd, iterative, krylov, nn, sparse, utils  # noqa: F401
