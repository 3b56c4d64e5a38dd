# SPDX-License-Identifier: Apache-2.0
"""torch_sla.sparse_tensor.core: lacuna.torch.SparseTensor with the peer's signatures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

import lacuna.torch as lt
from lacuna import Pattern
from lacuna.errors import ArgumentError
from lacuna.torch import Factorization as LUFactorization  # noqa: F401

from ..._later import later
from ..det import logdet
from ..solve import SolverConfig, solved

_Axis = int | Sequence[int] | None
_FORESEEN = 8  # bytes of a number in reports of what is foreseen
_SPECTRA, _NONLINEAR, _DISTRIBUTED = "eigenvalues and singular values", "nonlinear solves", "distributed matrices"


class SparseTensor(lt.SparseTensor, public_name="lacuna.compat.torch_sla.SparseTensor"):
    """lacuna.torch.SparseTensor, whose docstring says what it is, with torch_sla's options and words. T and H are both
    properties and, as there, methods."""

    def __call__(self) -> SparseTensor:
        return self  # A.T() is A.T

    @classmethod
    def diag(cls, values: Tensor, device: torch.device | str | None = None, offset: int = 0) -> SparseTensor:
        """The square matrix with these values on a diagonal."""
        return super().diag(values.to(device), offset)

    def __radd__(self, other):
        return super().__radd__(self.of(other) if isinstance(other, lt.SparseTensor) else other)

    @classmethod
    def from_dense(
        cls, A: Tensor, sparse_dim: Sequence[int] = (-2, -1), threshold: float = 0.0, top_k: int | None = None
    ) -> SparseTensor:
        """Of a dense tensor, as lacuna.torch.SparseTensor.from_dense."""
        return super().from_dense(A, sparse_dim, threshold, top_k)

    @classmethod
    def from_torch_sparse(cls, A: Tensor) -> SparseTensor:
        """Of a torch sparse tensor of any layout."""
        return cls.from_torch(A)

    @classmethod
    def eye(
        cls, n: int, dtype: torch.dtype = torch.float64, device: torch.device | str | None = None
    ) -> SparseTensor:
        """The identity, n x n."""
        return super().eye(n, dtype=dtype, device=device)

    # -- solves ---------------------------------------------------------------------------------------------------

    def solve(
        self, b: Tensor, backend: str | None = None, method: str | None = None, atol: float | None = None,
        maxiter: int | None = None, tol: float | None = None, verbose: bool | None = None, **more: Any,
    ) -> Any:  # fmt: skip
        """x with A x = b: vectors [*batch, n] or columns [*batch, n, k]. tol bounds |b - A x| / |b|; further options
        are those of torch_sla.solve."""
        given = dict(backend=backend, method=method, atol=atol, maxiter=maxiter, rtol=tol, verbose=verbose)
        return solved(self, b, **SolverConfig.merged({**given, **more}))

    def det(self) -> Tensor:
        """det A of each matrix."""
        return super().det()

    def logdet(self, **options: Any) -> Tensor:
        """log|det A| of each matrix, exact unless method="hutchinson"; options are those of DetConfig."""
        return logdet(self, **options)

    def condition_number(self, ord: float | str = 2) -> Tensor:
        """An estimate of norm(A, ord) norm(inv(A), ord) for ord=1 and infinity; ord=2 belongs to singular values."""
        if ord not in (1, math.inf, "inf"):
            return later("condition_number(ord != 1)", _SPECTRA)()
        return 1 / (self if ord == 1 else self.T).factor().rcond()

    def solve_batch(
        self, values: Tensor, b: Tensor, backend: str | None = None, method: str | None = None,
        atol: float | None = None, maxiter: int | None = None, tol: float | None = None, **more: Any,
    ) -> Any:  # fmt: skip
        """x of many matrices with these entries, on one analysis, as solve."""
        return self.with_values(values).solve(b, backend, method, atol, maxiter, tol, **more)

    # -- reductions: of stored values, as the peer documents them -------------------------------------------------

    def sum(self, axis: _Axis = None, keepdim: bool = False) -> Any:
        """The sum over dimensions of shape."""
        return super().sum(axis, keepdim)

    def mean(self, axis: _Axis = None, keepdim: bool = False, include_zeros: bool = False) -> Any:
        """The mean of stored values over dimensions of shape, of each matrix for itself."""
        return super().mean(axis, keepdim, include_zeros)

    def prod(self, axis: _Axis = None, keepdim: bool = False, include_zeros: bool = False) -> Any:
        """The product of stored values over dimensions of shape."""
        return super().prod(axis, keepdim, include_zeros)

    def max(self, axis: _Axis = None, keepdim: bool = False, include_zeros: bool = False) -> Any:
        """The largest stored value over dimensions of shape."""
        return super().max(axis, keepdim, include_zeros)

    def min(self, axis: _Axis = None, keepdim: bool = False, include_zeros: bool = False) -> Any:
        """The smallest stored value over dimensions of shape."""
        return super().min(axis, keepdim, include_zeros)

    # -- predicates -----------------------------------------------------------------------------------------------

    def is_symmetric(
        self, atol: float = 0.0, rtol: float | None = None, force_recompute: bool = False
    ) -> bool | Tensor:
        """Whether each matrix is symmetric, within 8 roundings unless rtol says otherwise; never remembered."""
        return super().is_symmetric(rtol, atol)

    def is_hermitian(
        self, atol: float = 0.0, rtol: float | None = None, force_recompute: bool = False
    ) -> bool | Tensor:
        """Whether each matrix is Hermitian, as is_symmetric."""
        return super().is_hermitian(rtol, atol)

    def is_positive_definite(self, method: str = "cholesky", force_recompute: bool = False) -> bool | Tensor:
        """Whether each matrix is Hermitian positive definite. It is tried out by a factorisation, whatever the
        method."""
        if method not in ("gershgorin", "cholesky", "eigenvalue"):
            raise ArgumentError(f"is_positive_definite: method is {method!r}; it must be one of 'gershgorin', "
                                "'cholesky', 'eigenvalue'")  # fmt: skip
        return super().is_positive_definite()

    def detect_matrix_type(self) -> str:
        """ "spd", "hpd", "symmetric", "hermitian" or "general": what all matrices of a batch are."""
        names = ("hpd", "hermitian") if self.is_complex() else ("spd", "symmetric")
        if not self.is_hermitian().all():
            return "general"
        return names[0] if self.is_positive_definite().all() else names[1]

    def to_connected_components(self) -> SparseTensorList:
        """The matrices of the components, as a SparseTensorList."""
        return SparseTensorList(super().to_connected_components())

    # -- conversions ----------------------------------------------------------------------------------------------

    def _item(self, batch_idx):
        return self if batch_idx is None else self.with_values(self.values[batch_idx])

    def to_dense(self, batch_idx: int | None = None) -> Tensor:
        """The dense tensor, of one matrix or of the batch."""
        return super().to_dense(batch_idx)

    def to_csr(self, batch_idx: int | None = None) -> Tensor:
        """A torch CSR tensor, of one matrix or of the batch."""
        return self._item(batch_idx).to_sparse_csr()

    def to_torch_sparse(self, batch_idx: int | None = None) -> Tensor:
        """A torch COO tensor, of one matrix or of the batch."""
        return self._item(batch_idx).to_sparse_coo()

    def spy(
        self, batch_idx: int | None = None, ax: Any = None, title: str | None = None, cmap: str = "viridis",
        show_grid: bool = True, grid_color: str = "#cccccc", grid_linewidth: float = 0.5, show_colorbar: bool = True,
        figsize: tuple[float, float] = (8, 8), save_path: str | None = None, dpi: int = 150,
    ) -> Any:  # fmt: skip
        """Draw where entries are; returns the axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=figsize)[1]
        ax.grid(show_grid, color=grid_color, linewidth=grid_linewidth)
        return super().spy(batch_idx, ax, title, cmap, show_colorbar, save_path, dpi)

    eigsh = later("SparseTensor.eigsh", _SPECTRA)
    eigs = later("SparseTensor.eigs", _SPECTRA)
    svd = later("SparseTensor.svd", _SPECTRA)
    nonlinear_solve = later("SparseTensor.nonlinear_solve", _NONLINEAR)
    extract_partition = later("SparseTensor.extract_partition", _DISTRIBUTED)
    partition_for_rank = later("SparseTensor.partition_for_rank", _DISTRIBUTED)
    save_distributed = later("SparseTensor.save_distributed", _DISTRIBUTED)


class SparseTensorList(lt.SparseTensorList, public_name="lacuna.compat.torch_sla.SparseTensorList"):
    """lacuna.torch.SparseTensorList, whose parts have torch_sla's signatures."""

    def __init__(self, tensors: Iterable[Any]) -> None:
        self.tensors = [SparseTensor.of(tensor, "SparseTensorList") for tensor in tensors]

    @classmethod
    def from_coo_list(cls, matrices: Iterable[tuple[Any, ...]]) -> SparseTensorList:
        """Of (values, row_indices, col_indices, shape) of each."""
        return cls([SparseTensor(*matrix) for matrix in matrices])

    @classmethod
    def from_torch_sparse_list(cls, A_list: Iterable[Tensor]) -> SparseTensorList:
        """Of torch sparse tensors of any layouts."""
        return cls([SparseTensor.from_torch(A) for A in A_list])

    @classmethod
    def from_block_diagonal(cls, sparse: SparseTensor, sizes: Iterable[Sequence[int]]) -> SparseTensorList:
        """The parts along the diagonal of a matrix, of (rows, columns) each."""
        return super().from_block_diagonal(sparse, sizes)

    def __matmul__(self, others: Any) -> Any:
        is_list = isinstance(others, (list, tuple, lt.SparseTensorList))
        return super().__matmul__(others if is_list else [others] * len(self))

    def solve(self, b_list: Sequence[Tensor], **options: Any) -> list[Any]:
        """SparseTensor.solve of each and its part of a list."""
        return super().solve(b_list, **options)

    def spy(
        self, indices: Iterable[int] | None = None, ncols: int = 3, figsize: tuple[float, float] | None = None,
        **options: Any,
    ) -> Any:  # fmt: skip
        """Draw where entries of the matrices of these indices are, ncols of them in a row; returns the figure."""
        import matplotlib.pyplot as plt

        chosen = self.tensors if indices is None else [self.tensors[index] for index in indices]
        rows = max(1, -(-len(chosen) // ncols))
        figure, grid = plt.subplots(rows, ncols, figsize=figsize or (4 * ncols, 4 * rows), squeeze=False)
        for tensor, ax in zip(chosen, grid.flat):
            tensor.spy(ax=ax, **options)
        for ax in grid.flat[len(chosen) :]:
            ax.set_visible(False)
        return figure

    @property
    def block_sizes(self) -> list[tuple[int, ...]]:
        return [tuple(tensor.shape) for tensor in self.tensors]

    def to_block_diagonal(self) -> SparseTensor:
        """One matrix with these along its diagonal."""
        return SparseTensor.of(super().to_block_diagonal())

    def condition_number(self, ord: float | str = 2) -> list[Tensor]:
        """SparseTensor.condition_number of each."""
        return [tensor.condition_number(ord) for tensor in self.tensors]

    eigs = later("SparseTensorList.eigs", _SPECTRA)
    eigsh = later("SparseTensorList.eigsh", _SPECTRA)
    svd = later("SparseTensorList.svd", _SPECTRA)


def auto_select_method(
    nnz: int, n: int, dtype: torch.dtype, is_cuda: bool, is_spd: bool = False, memory_threshold: float = 0.8,
) -> tuple[str, str]:  # fmt: skip
    """(backend, method) in the peer's words; what a solve really takes is in the report of A.solver()."""
    direct = ("cudss" if is_cuda else "scipy", "cholesky" if is_spd else "lu")
    if not is_cuda or estimate_direct_solver_memory(nnz, n, dtype) <= memory_threshold * get_available_gpu_memory():
        return direct
    return "pytorch", "cg" if is_spd else "bicgstab"


def estimate_direct_solver_memory(nnz: int, n: int, dtype: torch.dtype) -> int:
    """Bytes that C foresees for a factor of a square grid with about so many nodes and entries; those of a matrix are
    in A.solver().report."""
    reach, side = max(round(((nnz / max(n, 1)) ** 0.5 - 1) / 2), 1), math.ceil(n**0.5)
    line = Pattern.from_dia(range(-reach, reach + 1), (side, side))
    foreseen = line.kron(line)[0].solver(method="cholesky").report["factor_bytes"]
    return foreseen * torch.empty(0, dtype=dtype).element_size() // _FORESEEN


def get_available_gpu_memory() -> int:
    """Bytes that are free on the CUDA device, 0 where there is none."""
    return torch.cuda.mem_get_info()[0] if torch.cuda.is_available() else 0
