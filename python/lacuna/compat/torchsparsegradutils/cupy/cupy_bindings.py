# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.cupy.cupy_bindings: matrices of CuPy, or on the CPU of SciPy, from and to torch, without
derivatives. On a device nothing is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def _package(is_cuda):
    """(sparse matrices, how a torch tensor becomes an array)."""
    if not is_cuda:
        import scipy.sparse

        return scipy.sparse, lambda t: t.detach().numpy()
    import cupy
    import cupyx.scipy.sparse

    return cupyx.scipy.sparse, lambda t: cupy.from_dlpack(t.detach())


def _tensor(array):
    return torch.from_dlpack(array)


def t2c_csr(x_torch: Tensor) -> Any:
    """A CSR matrix of CuPy, or of SciPy where the tensor lies on the CPU."""
    matrices, array = _package(x_torch.is_cuda)
    parts = [array(part) for part in (x_torch.values(), x_torch.col_indices(), x_torch.crow_indices())]
    return matrices.csr_matrix(tuple(parts), shape=tuple(x_torch.shape))


def t2c_coo(x_torch: Tensor) -> Any:
    """A COO matrix of CuPy, or of SciPy where the tensor lies on the CPU."""
    matrices, array = _package(x_torch.is_cuda)
    rows, columns = x_torch._indices()
    return matrices.coo_matrix((array(x_torch._values()), (array(rows), array(columns))), shape=tuple(x_torch.shape))


def c2t_csr(x_cupy: Any) -> Tensor:
    """A torch CSR tensor of a CSR matrix of CuPy or SciPy."""
    parts = [_tensor(part) for part in (x_cupy.indptr, x_cupy.indices, x_cupy.data)]
    return torch.sparse_csr_tensor(*parts, x_cupy.shape)


def c2t_coo(x_cupy: Any) -> Tensor:
    """A torch COO tensor of a COO matrix of CuPy or SciPy."""
    sides = torch.stack([_tensor(side).long() for side in (x_cupy.row, x_cupy.col)])
    return torch.sparse_coo_tensor(sides, _tensor(x_cupy.data), x_cupy.shape)
