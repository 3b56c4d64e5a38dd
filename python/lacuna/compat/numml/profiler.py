# SPDX-License-Identifier: Apache-2.0
"""numml.profiler: names of what is to come; torch.profiler sees Lacuna's operators."""

from .._later import later_class

Profiler = later_class("Profiler", "a profiler of its own; torch.profiler serves")
