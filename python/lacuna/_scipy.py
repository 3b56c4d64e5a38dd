# SPDX-License-Identifier: Apache-2.0
"""SciPy's sparse matrices and arrays: in as a pattern with values, straight into functions (_matrices.py), and out
again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._core import check, ffi, lib
from ._interned import interned
from ._dtypes import computed
from ._matrices import Front
from .errors import ArgumentError, DtypeError, ShapeError
from .pattern import Pattern, _sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_READ = ("csr", "csc", "coo", "bsr", "dia")  # formats whose data is read as it is


def is_matrix(given):
    """Whether it is a sparse matrix or array of SciPy, or what has its methods."""
    return hasattr(given, "tocoo")


def readable(matrix):
    """The matrix, in a format that is read as it is."""
    if not is_matrix(matrix):
        raise ArgumentError(
            f"from_scipy: expected a SciPy sparse matrix or array, got {type(matrix).__name__}; "
            "scipy.sparse.csr_array makes one of a dense array"
        )
    return matrix if matrix.format in _READ else matrix.tocoo()


def pattern_of(matrix, width="auto"):
    """The pattern of a matrix in one of these formats: the same object for the same indices."""
    form, shape = matrix.format, tuple(matrix.shape)
    _sizes(shape)
    if form == "coo":
        indices = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
        return interned(Pattern.from_coo, form, indices, shape, width)
    if form == "dia":
        return interned(Pattern.from_dia, form, (matrix.offsets,), shape, matrix.data.shape[1], width)
    more = (shape, matrix.blocksize) if form == "bsr" else (shape,)
    make = Pattern.from_csr if form == "csr" else Pattern.from_csc if form == "csc" else Pattern.from_bsr
    offsets, used = matrix.indptr, matrix.indices
    last = int(offsets[-1])
    if last != len(used):  # there may be room for more
        used = used[: max(last, 0)]
    return interned(make, form, (offsets, used), *more, width)


def from_scipy(matrix: Any, width: str = "auto") -> tuple[Pattern, NDArray[Any]]:
    """(pattern, values) of a SciPy sparse matrix or array in CSR, CSC, COO, BSR or DIA format; others are converted
    to COO.

    The same indices give the same pattern, with all that was analysed of it, while it is one of the last 16 that were
    asked for. Integers and booleans become float64, float16 float32. BSR keeps its blocks, values being
    (nnz, *pattern.blocks); of matrix.tocsr() come single entries. Values of a matrix whose entries lie as slots do, CSR
    with sorted columns, are its own data and not a copy: what is written to either is in both.

    >>> pattern, values = lacuna.from_scipy(scipy.sparse.csr_array([[4.0, 0.0], [1.0, 2.0]]))
    >>> pattern, values
    (Pattern(2 x 2, nnz=3), array([4., 1., 2.]))
    >>> pattern.to_scipy(2 * values).toarray()
    array([[8., 0.],
           [2., 4.]])
    """
    from . import remap

    matrix = readable(matrix)
    pattern, data = pattern_of(matrix, width), matrix.data.reshape(-1)
    if computed(data.dtype) is None:
        raise DtypeError(
            f"from_scipy: the matrix holds {data.dtype}; Lacuna computes in float32, float64, complex64 and "
            "complex128: convert it with .astype(float), or take Pattern.from_scipy(matrix) alone"
        )
    data = data.astype(computed(data.dtype), copy=False)
    data = data[: pattern.entries.inputs]  # a compressed matrix may hold room for more
    values = data if pattern.entries.is_identity else remap(pattern.entries, data)
    return pattern, values if pattern.blocks == (1, 1) else values.reshape(-1, *pattern.blocks)


def _indices(pattern, dtype):
    """(offsets, columns) of a pattern in an integer type."""
    arrays = [np.empty(n, np.int64) for n in (pattern.shape[0] // pattern.blocks[0] + 1, pattern.nnz)]
    check(lib.lac_pattern_read(pattern.c, *(ffi.cast("int64_t *", ffi.from_buffer(a)) for a in arrays), ffi.NULL))
    return [array.astype(dtype, copy=False) for array in arrays]


def _index_dtype(pattern, like):
    """That of the indices of a matrix, else the one that SciPy chooses, the narrower that holds them."""
    if like is not None and hasattr(like, "indices"):
        return like.indices.dtype
    if hasattr(like, "row"):
        return like.row.dtype
    return np.dtype(np.int32 if max(*pattern.shape, pattern.nnz) <= np.iinfo(np.int32).max else np.int64)


def _indexed(matrix, dtype):
    """The matrix with indices of that type: the older classes choose their own."""
    if matrix.format == "coo":
        row, col = (indices.astype(dtype, copy=False) for indices in (matrix.row, matrix.col))
        if hasattr(matrix, "coords"):
            matrix.coords = row, col
        else:  # before SciPy 1.13
            matrix.row, matrix.col = row, col
    elif hasattr(matrix, "indices"):
        matrix.indices, matrix.indptr = (a.astype(dtype, copy=False) for a in (matrix.indices, matrix.indptr))
    return matrix


def to_scipy(pattern, values, like=None):
    """A SciPy matrix of a pattern with values; Pattern.to_scipy says more."""
    import scipy.sparse as sparse

    if like is not None and not is_matrix(like):
        raise ArgumentError(
            f"to_scipy: like is a {type(like).__name__}; it must be a SciPy matrix or array, whose format, class and "
            "index type the result then has"
        )
    if np.shape(values)[:1] != (pattern.nnz,):
        raise ShapeError(f"to_scipy: values have shape {np.shape(values)}; the pattern has {pattern.nnz} slots")
    offsets, columns = _indices(pattern, _index_dtype(pattern, like))
    form, more = ("csr", {}) if pattern.blocks == (1, 1) else ("bsr", {"blocksize": pattern.blocks})
    make = getattr(sparse, form + ("_matrix" if isinstance(like, sparse.spmatrix) else "_array"))
    made = make((values, columns, offsets), shape=pattern.shape, **more)
    return made if like is None else _indexed(made.asformat(like.format), columns.dtype)


class SciPy(Front):
    """SciPy's matrices, as the NumPy front end takes them."""

    array = np.ndarray
    is_matrix = staticmethod(is_matrix)

    def parts(self, matrix):
        return *from_scipy(matrix), 0
