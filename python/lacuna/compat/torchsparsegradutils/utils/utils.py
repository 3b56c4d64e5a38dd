# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils.utils: identities, conversions and block diagonals of torch sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lacuna.errors import ArgumentError, ShapeError
from lacuna.torch import SparseTensor, SparseTensorList
from lacuna.torch.sparse import Places, assembled, layout_of, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

_LAYOUTS = {torch.sparse_coo: SparseTensor.to_sparse_coo, torch.sparse_csr: SparseTensor.to_sparse_csr}


def as_layout(
    who: str, tensor: SparseTensor, layout: torch.layout, indices_dtype: torch.dtype = torch.int64
) -> Tensor:
    """A SparseTensor as a torch tensor; CSR with indices of the dtype, COO with torch's own."""
    if layout not in _LAYOUTS:
        raise ArgumentError(f"{who}: layout is {layout}; it must be torch.sparse_coo or torch.sparse_csr")
    made = _LAYOUTS[layout](tensor)
    if layout is torch.sparse_csr and indices_dtype != torch.int64:
        sides = made.crow_indices().to(indices_dtype), made.col_indices().to(indices_dtype)
        made = torch.sparse_csr_tensor(*sides, made.values(), made.shape)
    return made


def sparse_eye(
    size: Sequence[int], *, layout: torch.layout = torch.sparse_coo, values_dtype: torch.dtype = torch.float64,
    indices_dtype: torch.dtype = torch.int64, device: torch.device | str = torch.device("cpu"),
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The identity, (n, n) or a batch (b, n, n)."""
    if len(size) not in (2, 3) or size[-1] != size[-2]:
        raise ShapeError(f"sparse_eye: size is {tuple(size)}; it must be (n, n) or (b, n, n)")
    one = SparseTensor.eye(size[-1], dtype=values_dtype, device=device)
    made = one.expand(*size[:-2]) if len(size) == 3 else one
    return as_layout("sparse_eye", made, layout, indices_dtype).requires_grad_(requires_grad)


def convert_coo_to_csr(sparse_coo_tensor: Tensor) -> Tensor:
    """A CSR tensor of a COO tensor, differentiable; entries of one place are summed."""
    if layout_of(sparse_coo_tensor) is not torch.sparse_coo:
        raise ArgumentError(f"convert_coo_to_csr: the layout is {layout_of(sparse_coo_tensor)}; it must be COO")
    return SparseTensor.from_torch(sparse_coo_tensor).to_sparse_csr()


def convert_coo_to_csr_indices_values(
    coo_indices: Tensor, num_rows: int, values: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(offsets, columns, values) of indices [2, nnz]; without values, the permutation that sorts them."""
    rows, columns = coo_indices
    order = torch.argsort(rows * (int(columns.max()) + 1 if columns.numel() else 1) + columns, stable=True)
    counts = torch.bincount(rows, minlength=num_rows)
    offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).to(coo_indices.dtype)
    return offsets, columns[order], order if values is None else values[order]


def sparse_block_diag(*sparse_tensors: Tensor) -> Tensor:
    """The matrix with these along its diagonal, in the layout of the first, differentiable in all."""
    if not sparse_tensors:
        raise ArgumentError("sparse_block_diag: no matrices; give at least one")
    made = SparseTensorList.from_torch_sparse_list(sparse_tensors).to_block_diagonal()
    return as_layout("sparse_block_diag", made, layout_of(sparse_tensors[0]))


def sparse_block_diag_split(sparse_block_diag_tensor: Tensor, *shapes: Sequence[int]) -> tuple[Tensor, ...]:
    """The matrices along the diagonal, of these shapes, differentiable."""
    tensor = SparseTensor.from_torch(sparse_block_diag_tensor)
    parts = SparseTensorList.from_block_diagonal(tensor, shapes)
    return tuple(as_layout("sparse_block_diag_split", part, layout_of(sparse_block_diag_tensor)) for part in parts)


def stack_csr(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """CSR tensors of one shape and number of entries as a batch, differentiable; dim is 0."""
    if dim not in (0, -3):
        raise ArgumentError(f"stack_csr: dim is {dim}; matrices are stacked along 0")
    if not tensors or any(t.layout is not torch.sparse_csr for t in tensors):
        raise ArgumentError("stack_csr: a list of CSR tensors is needed")
    if len({(t.shape, t._nnz()) for t in tensors}) > 1:
        raise ShapeError("stack_csr: the matrices have different shapes or numbers of entries")
    sides = [torch.stack([getattr(t, name)() for t in tensors]) for name in ("crow_indices", "col_indices")]
    places = Places(torch.sparse_csr, sides, (len(tensors), *tensors[0].shape))
    return assembled(places, torch.stack([values_of(t) for t in tensors]))
