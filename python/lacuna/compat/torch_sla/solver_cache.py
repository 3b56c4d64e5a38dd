# SPDX-License-Identifier: Apache-2.0
"""torch_sla.solver_cache: the structures that Lacuna keeps for indices which come back."""

from lacuna.torch.sparse import interned


class SolverCache:
    """A view of the structures that are kept; indices are compared in full, values in every bit."""

    def clear(self):
        """Let go of them all; those in use live on."""
        interned.forget()

    def stats(self):
        """How many are kept, and how many may be."""
        return {"size": len(interned._kept), "max_size": interned._MAX_KEPT}

    def set_max_size(self, max_size):
        """Keep at most so many from now on."""
        interned._MAX_KEPT = int(max_size)


SOLVER_CACHE = SolverCache()
