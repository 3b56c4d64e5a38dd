# SPDX-License-Identifier: Apache-2.0
"""torch_sla.solver_cache: the structures that Lacuna keeps for indices which come back."""

import lacuna


class SolverCache:
    """A view of the structures that are kept; indices are compared in full, values in every bit."""

    def clear(self) -> None:
        """Let go of them all; those in use live on."""
        lacuna.forget_patterns()

    def stats(self) -> dict[str, int]:
        """How many are kept, and how many may be."""
        told = lacuna.pattern_stats()
        return {"size": told["kept"], "max_size": told["limit"]}

    def set_max_size(self, max_size: int) -> None:
        """Keep at most so many from now on."""
        lacuna.keep_patterns(int(max_size))


SOLVER_CACHE = SolverCache()
