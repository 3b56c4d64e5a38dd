# SPDX-License-Identifier: Apache-2.0
"""torch_sla.det: how log-determinants are computed, as a bundle of options."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch

from lacuna.torch import SparseTensor

from .._scoped import Scoped
from .._words import word

if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

_METHODS = {"auto": {}, "lu": {"method": "lu"}, "cholesky": {"method": "cholesky"}, "hutchinson": None}
_DISTRIBUTIONS = {"rademacher": None, "gaussian": torch.randn, "normal": torch.randn}  # None: C's own


@dataclasses.dataclass(frozen=True)
class DetConfig(Scoped):
    """Options of A.logdet within a `with` block. Numbers are computed where a factor is, and components need no
    detecting: backend, cpu_fallback and detect_components change nothing."""

    method: str | None = None
    backend: str | None = None
    num_probes: int | None = None
    lanczos_iter: int | None = None
    distribution: str | None = None
    cpu_fallback: bool | None = None
    detect_components: bool | None = None


def logdet(A: SparseTensor, **explicit: Any) -> Tensor:
    """log|det A| from a factor; method="hutchinson" is the estimate of A.logdet_estimate."""
    said = DetConfig.merged(explicit)
    options = word("logdet: method", said.get("method", "auto"), _METHODS)
    if options is not None:
        return SparseTensor.logdet(A, **options)
    draw = word("logdet: distribution", said.get("distribution", "rademacher"), _DISTRIBUTIONS)
    count = said.get("num_probes", 20)
    probes = draw(A.pattern.shape[0], count, dtype=A.dtype, device=A.device) if draw else count
    return A.logdet_estimate(probes, said.get("lanczos_iter", 30))[0]
