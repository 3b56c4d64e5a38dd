# SPDX-License-Identifier: Apache-2.0
"""torch_sla.presets: SolverConfig has them: spd(), general(), indefinite(), convection_diffusion(), auto(A)."""

from .solve import SolverConfig  # noqa: F401
