# SPDX-License-Identifier: Apache-2.0
"""torch_sla.datasets: collections of benchmarks: matrices of files that are here, Laplacians of graphs, stencils."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING

import torch

from ..benchmark import Benchmark, BenchmarkCollection
from ..io import load_mtx
from ..sparse_tensor import SparseTensor
from ._grids import kronecker_sum, shifted, stiffness, upwind
from .suitesparse import DatasetUnavailable, file_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def _benchmark(name, A, math_kind):
    A = A.coalesce()
    parts = A.values, A.row_indices, A.col_indices, tuple(A.shape)
    return Benchmark(name, *parts, math_kind=math_kind, detected_kind=A.detect_matrix_type())


def _of_file(group, name, dtype, kind):
    return _benchmark(f"{group}/{name}", load_mtx(file_of(name, group), dtype), kind)


def _of_graph(name):
    """D - W + I for the weights W of a graph without its loops, D the sums of their rows."""
    W = load_mtx(file_of(name, "DIMACS10"), torch.float64)
    W = (W + W.T).coalesce() / 2
    between = W.row_indices != W.col_indices
    W = SparseTensor(W.values[between], W.row_indices[between], W.col_indices[between], W.shape)
    return _benchmark(f"DIMACS10/{name}+1.0*I", SparseTensor.diag(W.sum(-1) + 1) - W, "spd")


def _of_lines(name, lines, kind, shift=0):
    """The Kronecker sum of lines, which a function makes, plus a multiple of the identity."""
    A = kronecker_sum(lines())
    return _benchmark(name, shifted(A, shift) if shift else A, kind)


def _entries(made_by, table):
    """{key: (function, dtype, note)} of {key: (arguments, dtype, note)}."""
    return {key: (functools.partial(made_by, *given), *rest) for key, (given, *rest) in table.items()}


_REAL, _COMPLEX = torch.float64, torch.complex128
SuiteSparse = BenchmarkCollection("SuiteSparse", _entries(_of_file, {
    "real_spd": (("HB", "bcsstk16", _REAL, "spd"), _REAL, "stiffness of a dam"),
    "complex_hpd": (("Bai", "mhd1280b", _COMPLEX, "hpd"), _COMPLEX, "Alfven spectra, Hermitian positive definite"),
    "complex_sym": (("Bai", "qc324", _COMPLEX, "symmetric"), _COMPLEX, "a molecule, complex symmetric"),
    "complex_general_mhd": (("Bai", "mhd1280a", _COMPLEX, "general"), _COMPLEX, "Alfven spectra, not symmetric"),
    "complex_general": (("HB", "young1c", _COMPLEX, "general"), _COMPLEX, "acoustic scattering"),
}))  # fmt: skip
DIMACS10 = BenchmarkCollection("DIMACS10", _entries(_of_graph, {
    "delaunay_small": (("delaunay_n10",), _REAL, "a Delaunay mesh of 1024 points"),
    "delaunay_medium": (("delaunay_n12",), _REAL, "a Delaunay mesh of 4096 points"),
    "scale_free": (("preferentialAttachment",), _REAL, "100 000 nodes, degrees of a power law"),
    "small_world": (("smallworld",), _REAL, "100 000 nodes, short paths"),
}))  # fmt: skip
Synthetic = BenchmarkCollection("Synthetic", _entries(_of_lines, {
    "poisson_2d_16": (("poisson_2d(n=16)", lambda: [stiffness(16)] * 2, "spd"), _REAL, "five points, 256 unknowns"),
    "poisson_2d_64": (("poisson_2d(n=64)", lambda: [stiffness(64)] * 2, "spd"), _REAL, "five points, 4096 unknowns"),
    "poisson_3d_16": (("poisson_3d(n=16)", lambda: [stiffness(16)] * 3, "spd"), _REAL, "seven points, 4096 unknowns"),
    "anisotropic_2d_64_eps_001": (
        ("anisotropic_2d(n=64, eps=0.01)", lambda: [stiffness(64), stiffness(64, 0.01)], "spd"), _REAL,
        "diffusion that is weak along neighbours"),
    "convdiff_2d_64_peclet_10": (
        ("convdiff_2d(n=64, peclet=10.0)", lambda: [stiffness(64) + upwind(64, 10.0)] * 2, "general"), _REAL,
        "diffusion and upwind transport, not symmetric"),
    "helmholtz_2d_64_k_5": (
        ("helmholtz_2d(n=64, k=5.0, sigma=0.5)", lambda: [stiffness(64)] * 2, "symmetric", complex(-25, 0.5)), _COMPLEX,
        "waves with absorption, complex symmetric"),
}))  # fmt: skip
Benchmarks = {"suitesparse": SuiteSparse, "dimacs10": DIMACS10, "synthetic": Synthetic}


def iter_benchmarks(
    *, sources: Sequence[str] | None = None, skip_unavailable: bool = True
) -> Iterator[tuple[str, str, Benchmark]]:
    """(source, key, benchmark) of all, or of those sources; one whose file is not here is left out with a warning, or
    is a DatasetUnavailable."""
    for source, collection in Benchmarks.items():
        for key in collection if sources is None or source in sources else ():
            try:
                yield source, key, collection[key]
            except DatasetUnavailable as error:
                if not skip_unavailable:
                    raise
                warnings.warn(f"{source}: {key} is left out: {error}", stacklevel=2)
