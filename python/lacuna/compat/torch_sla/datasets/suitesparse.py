# SPDX-License-Identifier: Apache-2.0
"""torch_sla.datasets.suitesparse: names of what is to come; load_mtx reads files of the collection."""

from ..._later import later, later_class

_WHAT = "a loader of collections (load_mtx reads their files)"
load_suitesparse, iter_benchmarks = later("load_suitesparse", _WHAT), later("iter_benchmarks", _WHAT)
SuiteSparse, DIMACS10 = later_class("SuiteSparse", _WHAT), later_class("DIMACS10", _WHAT)
Synthetic, Benchmarks = later_class("Synthetic", _WHAT), later_class("Benchmarks", _WHAT)
RECOMMENDED = ()


class SuiteSparseUnavailable(RuntimeError):
    """A matrix of the collection is not here."""


DatasetUnavailable = SuiteSparseUnavailable


def is_suitesparse_available(name: str | None = None, group: str | None = None) -> bool:
    """False: nothing is loaded from the net."""
    return False
