# SPDX-License-Identifier: Apache-2.0
"""Parts of a sparse tensor: matrices of the batch, rows, columns, blocks of them."""

import operator

import numpy as np
import torch

from ..._derived import derived, made_once
from ...errors import ArgumentError
from .structure import Structure, moved

_BOOLS = (torch.bool, np.dtype(bool))


class Indexing:
    """A[...] with an index for each dimension of shape, batch first.

    Slices and lists of rows and columns give a SparseTensor; an integer gives a dense row, column or number. Lists for
    both give the submatrix of all those rows and all those columns, and not, as in torch, one number for each pair.
    Dimensions of the batch are indexed as those of a tensor, one by one; trailing dimensions cannot be.
    """

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        batch, rows, columns = self._indices(index)
        values = self.values[tuple(batch)] if batch else self.values
        return _taken(self._with(values), rows, columns)

    def _indices(self, index):
        """(those of the batch, of rows, of columns)."""
        index = list(index) if isinstance(index, tuple) else [index]
        count = len(self.batch_shape) + 2
        if any([one is None for one in index]):
            raise ArgumentError("SparseTensor: None in an index; unsqueeze() adds a dimension to the batch")
        dots = [i for i, one in enumerate(index) if one is Ellipsis]
        if dots:
            index[dots[0] : dots[0] + 1] = [slice(None)] * (count + 1 - len(index))
        if len(index) > count or len(dots) > 1:
            raise IndexError(f"SparseTensor: an index for {len(index)} dimensions; batch and matrix have {count}")
        index += [slice(None)] * (count - len(index))
        for one in index[:-2]:
            if getattr(one, "ndim", 0) > 1 and one.dtype in _BOOLS:
                raise ArgumentError(f"SparseTensor: a mask of shape {tuple(one.shape)} in an index; give each "
                                    "dimension a mask of its own")  # fmt: skip
        return [one for one in index[:-2]], index[-2], index[-1]

    def index_select(self, dim, index):
        """The rows or columns, or matrices of the batch, that are listed, in that order; they may repeat."""
        self._dims("index_select", dim)
        return self[(slice(None),) * (dim % self.ndim) + (index,)]

    def select_matrix(self, index):
        """One matrix of the batch, counted through all its dimensions."""
        core = self.values.shape[len(self.batch_shape) :]
        return self._with(self.values.reshape(-1, *core)[index])


def _is_whole(index, size):
    return isinstance(index, slice) and index.indices(size) == (0, size, 1)


def _span(index, size, what):
    """(begin, end) of an integer or a slice of step 1; None for other indices."""
    if isinstance(index, slice):
        begin, end, step = index.indices(size)
        return (begin, max(begin, end)) if step == 1 else None
    if isinstance(index, (list, tuple)) or getattr(index, "ndim", 0):
        return None
    at = operator.index(index)
    if not -size <= at < size:
        raise IndexError(f"SparseTensor: {what} {at} of {size}")
    return at % size, at % size + 1


def _counted(lines, size, what):
    """Numbers of lines as a tuple, those below 0 counted from the end."""
    for at in lines:
        if not -size <= at < size:
            raise IndexError(f"SparseTensor: {what} {at} of {size}")
    return tuple([at % size for at in lines])


def _listed(index, size, what):
    """Any index of lines as a tuple of them, None for all."""
    if _is_whole(index, size):
        return None
    if isinstance(index, slice):
        return tuple(range(*index.indices(size)))
    if isinstance(index, (list, tuple)) and all([type(one) is int for one in index]):
        return _counted(index, size, what)
    index = index.cpu() if isinstance(index, torch.Tensor) else torch.as_tensor(index)
    if index.ndim != 1 or index.dtype.is_floating_point or index.dtype.is_complex:
        raise ArgumentError(f"SparseTensor: {index.dtype} of shape {tuple(index.shape)} in an index; rows and columns "
                            "are chosen by one dimension of integers or bools")  # fmt: skip
    if index.dtype != torch.bool:
        return _counted(index.tolist(), size, what)
    if len(index) != size:
        raise IndexError(f"SparseTensor: a mask of {len(index)} in an index; the matrix has {size} there")
    return tuple(index.nonzero()[:, 0].tolist())


def _taken(tensor, rows, columns):
    """Rows and columns of each matrix; integers leave a dense tensor without that dimension."""
    (m, n), pattern = tensor.sparse_shape, tensor.structure.pattern
    spans = _span(rows, m, "row"), _span(columns, n, "column")
    lines = [not isinstance(one, slice) and span is not None for one, span in zip((rows, columns), spans)]
    if not _is_whole(rows, m) or not _is_whole(columns, n):
        tensor = _submatrix(tensor, pattern, rows, columns, spans)
    if not any(lines):
        return tensor
    at, dense = tensor.sparse_dim[0], tensor.to_dense()
    return dense.squeeze([at + i for i, is_line in enumerate(lines) if is_line])


def _submatrix(tensor, pattern, rows, columns, spans):
    if None not in spans:
        is_line = not isinstance(rows, slice) or not isinstance(columns, slice)
        derive = made_once if is_line else derived
        return tensor._moved_to(derive("submatrix", (pattern.key,), *spans[0], *spans[1]))
    spans = [index if span is None else slice(*span) for index, span in zip((rows, columns), spans)]
    lists = [_listed(*given) for given in zip(spans, pattern.shape, ("row", "column"))]
    chosen, back = made_once("select", (pattern.key,), *lists)
    values = moved(back, tensor.slots(), tensor.trailing, "T")
    return tensor._on(Structure(chosen), values, tensor.trailing)
