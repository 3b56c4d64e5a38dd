# SPDX-License-Identifier: Apache-2.0
"""torch_sla.vi_solve: names of what is to come."""

from .._later import later, later_class

_WHAT = "variational inequalities"
vi_solve, VISolveAdjoint = later("vi_solve", _WHAT), later_class("VISolveAdjoint", _WHAT)
