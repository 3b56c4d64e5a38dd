# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils.random_sparse: random matrices with exactly so many entries, by torch's generator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from lacuna.errors import ShapeError
from lacuna.torch import SparseTensor

from .utils import as_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from torch import Tensor


def _places(rows, columns, nnz, triangle, who):
    """nnz different places, of all or of a triangle: "upper", "lower", with the diagonal or, "strictly", without."""
    if triangle is None:
        allowed, count = None, rows * columns
    else:
        mask = torch.ones(rows, columns, dtype=torch.bool)
        k = (1 if "strictly" in triangle else 0) * (1 if "upper" in triangle else -1)
        allowed = (mask.triu(k) if "upper" in triangle else mask.tril(k)).flatten().nonzero()[:, 0]
        count = len(allowed)
    if not 0 <= nnz <= count:
        raise ShapeError(f"{who}: nnz is {nnz}; there are {count} places")
    chosen = torch.randperm(count)[:nnz].sort().values
    chosen = chosen if allowed is None else allowed[chosen]
    return chosen // columns, chosen % columns


def _matrix(size, nnz, triangle, between, diagonal, dtype, who):
    """One matrix; diagonal: the least size of what stands there, which is added where it is missing."""
    rows, columns = size
    row, col = _places(rows, columns, nnz, triangle, who)
    low, high = between
    values = (
        torch.rand(nnz, dtype=dtype) * (high - low) + low if between != (0.0, 0.0) else torch.randn(nnz, dtype=dtype)
    )
    made = SparseTensor(values, row, col, size)
    if diagonal is None:
        return made
    off = row != col
    unit = SparseTensor.diag(
        torch.full((min(size),), float(diagonal), dtype=dtype) + torch.rand(min(size), dtype=dtype)
    )
    kept = SparseTensor(values[off] / max(1, nnz // max(rows, 1) + 1), row[off], col[off], size)
    return kept + unit


def _made(who, size, nnz, layout, triangle, between, diagonal, indices_dtype, values_dtype, device):
    if len(size) not in (2, 3):
        raise ShapeError(f"{who}: size is {tuple(size)}; it must be (rows, columns) or (b, rows, columns)")
    if diagonal is not None and size[-1] != size[-2]:
        raise ShapeError(f"{who}: well_conditioned needs a square matrix, got {tuple(size)}")

    def one():
        return _matrix(tuple(size[-2:]), nnz, triangle, between, diagonal, values_dtype, who).to(device)

    if len(size) == 2:
        return as_layout(who, one(), layout, indices_dtype)
    first = one()  # one pattern for the batch, so that every matrix has as many entries
    values = [first.values, *[first.values[torch.randperm(len(first.values))] for _ in range(size[0] - 1)]]
    if diagonal is not None or triangle is not None:
        values = [first.values * (1 + 0.1 * torch.rand_like(first.values)) for _ in range(size[0])]
    return as_layout(who, first.with_values(torch.stack(values)), layout, indices_dtype)


def rand_sparse(
    size: Sequence[int], nnz: int, layout: torch.layout = torch.sparse_coo, *,
    indices_dtype: torch.dtype = torch.int64, values_dtype: torch.dtype = torch.float32,
    device: torch.device | str = torch.device("cpu"), well_conditioned: bool = False, min_diag_value: float = 1.0,
) -> Tensor:  # fmt: skip
    """A random matrix with nnz entries at different places, or a batch; well_conditioned: with a full diagonal of at
    least min_diag_value, and what stands beside it smaller."""
    diagonal = min_diag_value if well_conditioned else None
    return _made("rand_sparse", size, nnz, layout, None, (0.0, 0.0), diagonal, indices_dtype, values_dtype, device)


def rand_sparse_tri(
    size: Sequence[int], nnz: int, layout: torch.layout = torch.sparse_coo, *, upper: bool = True,
    strict: bool = False, indices_dtype: torch.dtype = torch.int64, values_dtype: torch.dtype = torch.float32,
    device: torch.device | str = torch.device("cpu"), value_range: tuple[float, float] = (0, 1),
    well_conditioned: bool = False, min_diag_value: float = 1.0,
) -> Tensor:  # fmt: skip
    """A random triangular matrix with nnz entries, values within value_range in every layout; unless strict, the
    diagonal is full where well_conditioned says so."""
    triangle = ("strictly " if strict else "") + ("upper" if upper else "lower")
    diagonal = min_diag_value if well_conditioned and not strict else None
    between = tuple(map(float, value_range))
    return _made("rand_sparse_tri", size, nnz, layout, triangle, between, diagonal, indices_dtype, values_dtype, device)


def make_spd_sparse(
    n: int, layout: torch.layout, value_dtype: torch.dtype, index_dtype: torch.dtype, device: torch.device | str,
    sparsity_ratio: float = 0.5, nz: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(matrix, its dense form): symmetric positive definite, strictly dominated by its diagonal."""
    count = nz if nz is not None else max(1, int((1 - sparsity_ratio) * n * (n - 1) / 2))
    row, col = _places(n, n, min(count, n * (n - 1) // 2), "strictly lower", "make_spd_sparse")
    values = torch.randn(len(row), dtype=value_dtype)
    half = SparseTensor(values, row, col, (n, n))
    whole = half + half.T
    size = whole.abs().sum(-1) if whole.nnz else torch.zeros(n, dtype=value_dtype)
    made = (whole + SparseTensor.diag(size + 1)).to(device)
    return as_layout("make_spd_sparse", made, layout, index_dtype), made.to_dense()


def _named(name: str, layout: torch.layout, function: Callable[..., Tensor], **fixed: Any) -> Callable[..., Tensor]:
    def generate(size: Sequence[int], nnz: int, **options: Any) -> Tensor:
        return function(size, nnz, layout, **fixed, **options)

    generate.__name__, generate.__doc__ = name, f"{function.__name__} with a layout in its name."
    return generate


generate_random_sparse_coo_matrix = _named("generate_random_sparse_coo_matrix", torch.sparse_coo, rand_sparse)
generate_random_sparse_csr_matrix = _named("generate_random_sparse_csr_matrix", torch.sparse_csr, rand_sparse)
for _layout, _word in ((torch.sparse_coo, "coo"), (torch.sparse_csr, "csr")):
    for _kind, _strict in (("triangular", False), ("strictly_triangular", True)):
        _name = f"generate_random_sparse_{_kind}_{_word}_matrix"
        globals()[_name] = _named(_name, _layout, rand_sparse_tri, strict=_strict)
