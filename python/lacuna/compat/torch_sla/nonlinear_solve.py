# SPDX-License-Identifier: Apache-2.0
"""torch_sla.nonlinear_solve: names of what is to come."""

from .._later import later, later_class

_WHAT = "nonlinear solves"
nonlinear_solve, adjoint_solve = later("nonlinear_solve", _WHAT), later("adjoint_solve", _WHAT)
NonlinearSolveAdjoint = later_class("NonlinearSolveAdjoint", _WHAT)
