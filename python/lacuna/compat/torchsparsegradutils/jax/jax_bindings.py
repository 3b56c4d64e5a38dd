# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.jax.jax_bindings: arrays and matrices of JAX from and to torch, without derivatives and, where
both agree, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lacuna.errors import DtypeError
from lacuna.torch import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


def j2t(x_jax: Any) -> Tensor:
    """A torch tensor of a JAX array."""
    return torch.from_dlpack(x_jax)


_WIDE = {torch.float64, torch.complex128}


def t2j(x_torch: Tensor) -> Any:
    """A JAX array of a torch tensor. What has 64 bits needs jax_enable_x64, which is the caller's to set; integers
    become shorter without it."""
    import jax

    is_wide = x_torch.dtype in _WIDE or x_torch.dtype == torch.int64
    if is_wide and not jax.config.jax_enable_x64:
        if x_torch.dtype in _WIDE:
            raise DtypeError(f"t2j: {x_torch.dtype} is a dtype of JAX after "
                             'jax.config.update("jax_enable_x64", True)')  # fmt: skip
        x_torch = x_torch.int()
    return jax.dlpack.from_dlpack(x_torch.detach().contiguous())


def j2t_coo(x_jax: Any) -> Tensor:
    """A torch COO tensor of a BCOO matrix."""
    return torch.sparse_coo_tensor(j2t(x_jax.indices).T.long(), j2t(x_jax.data), x_jax.shape)


def t2j_coo(x_torch: Tensor) -> Any:
    """A BCOO matrix of a torch COO tensor; entries of one place are summed."""
    from jax.experimental import sparse

    whole = x_torch.detach().coalesce()
    return sparse.BCOO((t2j(whole.values()), t2j(whole.indices().T)), shape=tuple(x_torch.shape))


def j2t_csr(x_jax: Any) -> Tensor:
    """A torch CSR tensor of a BCSR matrix."""
    return torch.sparse_csr_tensor(j2t(x_jax.indptr), j2t(x_jax.indices), j2t(x_jax.data), x_jax.shape)


def t2j_csr(x_torch: Tensor) -> Any:
    """A BCSR matrix of a torch CSR tensor."""
    from jax.experimental import sparse

    parts = x_torch.values(), x_torch.col_indices(), x_torch.crow_indices()
    return sparse.BCSR(tuple([t2j(part) for part in parts]), shape=tuple(x_torch.shape))


def spmm_t4j(A: Tensor) -> Callable[[Any], Any]:
    """A function of JAX arrays that multiplies by a torch sparse tensor."""
    matrix = SparseTensor.of(A.detach(), "spmm_t4j")
    return lambda x: t2j(matrix @ j2t(x))
