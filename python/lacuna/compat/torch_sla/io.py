# SPDX-License-Identifier: Apache-2.0
"""torch_sla.io: safetensors files of the peer's layout (values, row_indices, col_indices, shape), Matrix Market."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

import lacuna

from .._later import later
from .._words import word
from .sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

_DISTRIBUTED = "distributed matrices"
_FIELDS = {"real": np.float64, "double": np.float64, "complex": np.complex128, "integer": np.float64, "pattern": None}


def save_sparse(tensor: Any, path: str | PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file that load_sparse, and the peer, read."""
    tensor.save(path, metadata)


def load_sparse(path: str | PathLike[str], device: torch.device | str = "cpu") -> SparseTensor:
    """Read a safetensors file of a matrix, the peer's too; batched ones come back with their shape."""
    return SparseTensor.load(path, device)


def save_mtx(
    tensor: Any, path: str | PathLike[str], comment: str = "", field: str = "real", symmetry: str = "general",
) -> None:  # fmt: skip
    """Write a Matrix Market file. A symmetry other than "general" is checked, and one triangle is written."""
    dtype = word("save_mtx: field", field, _FIELDS)
    single = tensor.flatten_blocks()
    values = single.slots().detach().cpu().resolve_conj().numpy()
    if dtype is not None and (field == "complex" or not np.iscomplexobj(values)):
        values = values.astype(dtype)
    lacuna.write_matrix_market(path, single.pattern, None if dtype is None else values, symmetry, comment)


def load_mtx(
    path: str | PathLike[str], dtype: torch.dtype | None = None, device: torch.device | str = "cpu",
) -> SparseTensor:  # fmt: skip
    """Read a Matrix Market file, gzipped or not; the whole matrix where it holds one triangle."""
    pattern, values = lacuna.read_matrix_market(path)
    return SparseTensor.from_pattern(pattern, torch.from_numpy(values).to(device=device, dtype=dtype))


def load_mtx_info(path: str | PathLike[str]) -> dict[str, Any]:
    """{"shape", "nnz", "field", "symmetry", "format"} of a Matrix Market file; nnz counts stored entries."""
    info = lacuna.matrix_market_info(path)
    return {"shape": info.pop("shape"), "nnz": info.pop("entries"), **info}


load_metadata = later("load_metadata", _DISTRIBUTED)
save_dsparse, load_dsparse = later("save_dsparse", _DISTRIBUTED), later("load_dsparse", _DISTRIBUTED)
save_sparse_sharded = later("save_sparse_sharded", _DISTRIBUTED)
load_sparse_shard = later("load_sparse_shard", _DISTRIBUTED)
