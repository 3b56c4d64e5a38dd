# SPDX-License-Identifier: Apache-2.0
"""torch_sla.datasets.suitesparse: matrices of the SuiteSparse collection, of files that are there: nothing is loaded
from the net."""

from __future__ import annotations

import os
from pathlib import Path

from ..io import load_mtx, load_mtx_info
from .problems import SparseProblem

RECOMMENDED = {
    "bcsstk16": {"group": "HB", "spd": True, "note": "stiffness of a dam, 4884"},
    "nos3": {"group": "HB", "spd": True, "note": "biharmonic operator on a plate, 960"},
    "494_bus": {"group": "HB", "spd": True, "note": "power network, 494"},
    "mesh2e1": {"group": "Pothen", "spd": True, "note": "structural mesh, 306"},
    "bcsstk14": {"group": "HB", "spd": True, "note": "stiffness of a roof, 1806"},
    "1138_bus": {"group": "HB", "spd": True, "note": "power network, 1138"},
    "cage5": {"group": "vanHeukelum", "symmetric": False, "note": "DNA electrophoresis, 37"},
    "cage9": {"group": "vanHeukelum", "symmetric": False, "note": "DNA electrophoresis, 3534"},
    "sherman1": {"group": "HB", "note": "oil reservoir, 1000"},
    "qc324": {"group": "Bai", "complex": True, "note": "molecule in a magnetic field, 324"},
    "mhd1280b": {"group": "Bai", "complex": True, "note": "Alfven spectra, 1280"},
    "G3_circuit": {"group": "AMD", "spd": True, "large": True, "note": "circuit, 1.6 million"},
}
_PLACES = "{0}.mtx", "{0}.mtx.gz", "{0}/{0}.mtx"


class SuiteSparseUnavailable(RuntimeError):
    """A matrix of the collection is not here."""


DatasetUnavailable = SuiteSparseUnavailable


def cache_dir() -> str:
    """Where files are looked for first: the folder that TORCH_SLA_DATASET names, or the peer's own."""
    own = Path.home() / ".cache" / "torch_sla" / "datasets"
    return os.environ.get("TORCH_SLA_DATASET", str(own))


def _file(name):
    """The path of a matrix, None where there is none."""
    folders = Path(cache_dir()).expanduser(), Path.home() / ".cache" / "suitesparse"
    places = [folder / place.format(name) for folder in folders for place in _PLACES]
    return next((place for place in places if place.is_file()), None)


def file_of(name: str, group: str | None = None) -> Path:
    """The path of a matrix; one that is not here is an error that says where it is to be had."""
    found = _file(name)
    if found is None:
        group = group or RECOMMENDED.get(name, {}).get("group", "GROUP")
        raise SuiteSparseUnavailable(
            f"{group}/{name}: there is no {name}.mtx in {cache_dir()}, and nothing is loaded from the net; put there "
            f"what https://sparse.tamu.edu/MM/{group}/{name}.tar.gz holds, or name another folder by TORCH_SLA_DATASET"
        )
    return found


def load_suitesparse(name: str, group: str | None = None) -> SparseProblem:
    """A matrix of the collection, from a file that is here; what its properties say was found out of its values."""
    path = file_of(name, group)
    A, info = load_mtx(path), load_mtx_info(path)
    kind = A.detect_matrix_type()
    properties = {"complex": A.is_complex(), "symmetric": bool(A.is_symmetric()), "spd": kind in ("spd", "hpd"),
                  "mm_symmetry": info["symmetry"], "mm_field": info["field"]}  # fmt: skip
    meta = {"dof": A.shape[0], "source": "suitesparse", "name": name, "path": str(path),
            "group": group or RECOMMENDED.get(name, {}).get("group")}  # fmt: skip
    parts = A.values, A.row_indices, A.col_indices, tuple(A.shape)
    return SparseProblem(f"suitesparse:{name}", *parts, properties=properties, meta=meta)


def is_suitesparse_available(name: str | None = None, group: str | None = None) -> bool:
    """Whether the file of a matrix is here, or of any of those that are recommended."""
    return any(_file(one) is not None for one in (RECOMMENDED if name is None else [name]))
