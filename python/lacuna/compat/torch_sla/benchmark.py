# SPDX-License-Identifier: Apache-2.0
"""torch_sla.benchmark: names of what is to come."""

from .._later import later, later_class

_WHAT = "benchmarks as objects"
Benchmark, plot_errors = later_class("Benchmark", _WHAT), later("plot_errors", _WHAT)
BenchmarkCollection = later_class("BenchmarkCollection", _WHAT)
