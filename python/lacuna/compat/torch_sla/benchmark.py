# SPDX-License-Identifier: Apache-2.0
"""torch_sla.benchmark: matrices with solutions that are known, and how far a solver is from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from lacuna.errors import ShapeError

from .._words import word
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from torch import Tensor


def _relative(x, exact):
    """|x - exact| / |exact|, and |x| where exact is zero."""
    size = torch.linalg.vector_norm(exact)
    return (torch.linalg.vector_norm(x - exact) / (size if size else 1)).item()


def _largest(x, exact):
    return (x - exact).abs().max().item()


_METRICS = {"rel_l2": _relative, "max_abs": _largest}


class Benchmark:
    """A square matrix by its entries, and cases {"x", "b"} with A x = b: those that are given, or n_cases random ones,
    of which case i is drawn with seed + i. detected_kind is what A.detect_matrix_type() says."""

    def __init__(
        self, name: str, val: Tensor, row: Tensor, col: Tensor, shape: Sequence[int], *,
        cases: Sequence[dict[str, Tensor]] | None = None, n_cases: int = 3, seed: int = 0,
        math_kind: str | None = None, detected_kind: str | None = None,
    ) -> None:  # fmt: skip
        if shape[0] != shape[1]:
            raise ShapeError(f"Benchmark: the matrix has shape {tuple(shape)}; it must be square")
        self.name, self.val, self.row, self.col, self.shape = name, val, row, col, tuple(shape)
        self.math_kind, self.detected_kind = math_kind, detected_kind
        drawn = (self._drawn(seed + i) for i in range(n_cases))
        self._cases = list(drawn if cases is None else cases)

    def _drawn(self, seed):
        x = torch.randn(self.shape[0], generator=torch.Generator().manual_seed(seed), dtype=self.val.dtype)
        return {"x": x, "b": SparseTensor(self.val, self.row, self.col, self.shape) @ x, "seed": seed}

    def __len__(self):
        return len(self._cases)

    def __getitem__(self, i):
        return self._cases[i]

    def __repr__(self):
        return (f"Benchmark({self.name!r}, n={self.shape[0]}, nnz={len(self.val)}, dtype={self.val.dtype}, "
                f"kind={self.math_kind or '?'}, cases={len(self)})")  # fmt: skip

    def evaluate(
        self, solver: Callable[..., Tensor], indices: int | Sequence[int] | None = None, *,
        metric: str | Callable[..., float] = "rel_l2",
    ) -> Any:  # fmt: skip
        """The errors of solver(val, row, col, shape, b) in the cases of these indices, all of them where there are
        none; one number for one index. metric is "rel_l2", "max_abs", or a function of (x, exact)."""
        measure = metric if callable(metric) else word("Benchmark.evaluate: metric", metric, _METRICS)
        if isinstance(indices, int):
            case = self[indices]
            return measure(solver(self.val, self.row, self.col, self.shape, case["b"]), case["x"])
        return [self.evaluate(solver, i, metric=measure) for i in (range(len(self)) if indices is None else indices)]


class BenchmarkCollection(Mapping):
    """Benchmarks by their keys, of which each is made when it is first asked for: entries are (function that makes it,
    dtype, note)."""

    def __init__(self, source_name: str, entries: dict[str, Any]) -> None:
        self.source_name, self._entries, self._made = source_name, entries, {}

    def __getitem__(self, key):
        if key not in self._made:
            self._made[key] = self._entries[key][0]()
        return self._made[key]

    def __iter__(self):
        return iter(self._entries)

    def __len__(self):
        return len(self._entries)

    def notes(self, key: str) -> str:
        """What a matrix is, as a sentence."""
        return self._entries[key][2]

    def dtype_for(self, key: str) -> torch.dtype:
        """The dtype of a matrix, which is not made for it."""
        return self._entries[key][1]

    def catalog(self) -> dict[str, str]:
        """{key: sentence} of all."""
        return {key: self.notes(key) for key in self}


def plot_errors(
    errors_by_benchmark: Mapping[str, Sequence[float]], *, title: str = "Solver error per benchmark",
    log_y: bool = True, ax: Any = None,
) -> Any:  # fmt: skip
    """A box for the errors of each benchmark; returns the axes."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots()[1]
    ax.boxplot(list(errors_by_benchmark.values()))
    ax.set_xticklabels(list(errors_by_benchmark), rotation=30)
    ax.set_yscale("log" if log_y else "linear")
    ax.set_ylabel("error")
    ax.set_title(title)
    return ax
