# SPDX-License-Identifier: Apache-2.0
"""What C says of a solve, and of that of its derivative."""

import dataclasses

from .._core import lib, sized
from ..solver import read_report
from ._tensors import context_on


@dataclasses.dataclass
class SolveInfo:
    """What became of a solve, and, once backward has run, of the solve for its derivative (`adjoint`).

    `residual` is |b - A x| / |b|, measured at the end, the largest of all columns and matrices; `iterations` are those
    of the slowest column, 0 of a direct method. Before there is anything to say, `method` is "".
    """

    method: str = ""
    preconditioner: str = ""
    converged: bool = False
    iterations: int = 0
    residual: float = float("nan")
    ending: str = ""
    reason: str = ""
    warning: str = ""
    seconds: float = 0.0
    adjoint: "SolveInfo | None" = None

    def fill(self, device):
        """From the last solve of this thread on a device."""
        ctx, report = context_on(device), sized("lac_solve_report")
        ctx.check(lib.lac_context_last_solve(ctx.c, report))
        self._take(read_report(report))

    def _take(self, told):
        """From a report."""
        for field in dataclasses.fields(self):
            if field.name in told:
                setattr(self, field.name, told[field.name])
        self.converged = self.ending == "converged"

    @property
    def iter_count(self):
        """The same as `iterations`."""
        return self.iterations
