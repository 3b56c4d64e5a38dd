# SPDX-License-Identifier: Apache-2.0
"""numml.iterative: names of what is to come."""

from .._later import later, later_class

_WHAT = "fixed points"
FixedPointIteration, fp_wrapper = later_class("FixedPointIteration", _WHAT), later("fp_wrapper", _WHAT)
