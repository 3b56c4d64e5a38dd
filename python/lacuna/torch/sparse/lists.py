# SPDX-License-Identifier: Apache-2.0
"""Lists of sparse tensors with structures of their own, which a batch cannot hold; and one block diagonal matrix of
them, by which they are multiplied and solved together.
"""

import torch
from torch.utils.data._utils.collate import default_collate_fn_map

from ...errors import ShapeError
from ...pattern import Pattern
from .shapes import stack
from .stored import StoredList
from .tensor import SparseTensor

_EACH = (  # methods that are called of each
    "abs sqrt square exp log log2 log10 sin cos tan sinh cosh tanh sigmoid relu sign floor ceil round reciprocal clamp "
    "pow conj coalesce clone detach float double half to cuda cpu flatten_blocks sum mean prod max min norm trace det "
    "logdet slogdet diagonal inverse_diagonal is_symmetric is_hermitian is_positive_definite connected_components lu "
    "cholesky spy to_dense to_sparse_coo to_sparse_csr requires_grad_"
).split()


class SparseTensorList(StoredList, public_name="lacuna.torch.SparseTensorList"):
    """Sparse matrices of any structures. What a SparseTensor does, a list does with each: operators and methods give
    a SparseTensorList where the parts are sparse, else a list; another list is taken part by part.

    >>> parts = lacuna.torch.SparseTensorList([lacuna.torch.SparseTensor.eye(n) for n in (1, 2)])
    >>> parts.to_block_diagonal().shape, parts.trace()
    (torch.Size([3, 3]), [tensor(1., dtype=torch.float64), tensor(2., dtype=torch.float64)])
    """

    def __init__(self, tensors):
        self.tensors = [SparseTensor.of(tensor, "SparseTensorList") for tensor in tensors]

    @classmethod
    def _of_parts(cls, parts):
        """Of parts as they are, which trees may have filled with anything."""
        made = object.__new__(cls)
        made.tensors = parts
        return made

    def __reduce__(self):
        return type(self), (self.tensors,)

    @classmethod
    def from_coo_list(cls, matrices):
        """Of (values, row_indices, col_indices, shape) of each."""
        return cls([SparseTensor(*matrix) for matrix in matrices])

    @classmethod
    def from_torch_sparse_list(cls, tensors):
        """Of torch sparse tensors of any layouts."""
        return cls([SparseTensor.from_torch(tensor) for tensor in tensors])

    def to_list(self):
        """The matrices as a list."""
        return list(self.tensors)

    def __len__(self):
        return len(self.tensors)

    def __iter__(self):
        return iter(self.tensors)

    def __getitem__(self, index):
        found = self.tensors[index]
        return type(self)(found) if isinstance(index, slice) else found

    @property
    def shapes(self):
        """The shape of each."""
        return [tensor.shape for tensor in self.tensors]

    block_sizes = shapes

    @property
    def dtype(self):
        """The dtype of the first, None of an empty list."""
        return self.tensors[0].dtype if self.tensors else None

    @property
    def device(self):
        """The device of the first, None of an empty list."""
        return self.tensors[0].device if self.tensors else None

    @property
    def total_nnz(self):
        """The stored places of all."""
        return sum(tensor.nnz for tensor in self.tensors)

    @property
    def total_shape(self):
        """(rows, columns) of the block diagonal matrix."""
        return tuple(sum(sizes) for sizes in zip(*[tensor._matrix_shape() for tensor in self.tensors])) or (0, 0)

    # -- together -------------------------------------------------------------------------------------------------

    def to_block_diagonal(self):
        """One matrix with these along its diagonal, differentiable in the values of all."""
        parts = [self._part(tensor) for tensor in self.tensors]
        pattern, _ = Pattern.block_diag([pattern for pattern, _ in parts])
        return SparseTensor._by_slots(pattern, torch.cat([slots for _, slots in parts]))  # rows do not interleave

    def _part(self, tensor):
        if tensor.is_batched:
            raise ShapeError(f"to_block_diagonal: a part has the batch {tuple(tensor.batch_shape)}; parts are matrices")
        return tensor._single()

    @classmethod
    def from_block_diagonal(cls, tensor, sizes):
        """The parts along the diagonal of a matrix, of (rows, columns) each; what lies beside them is left out."""
        row, column, parts = 0, 0, []
        for rows, columns in [tuple(size)[-2:] for size in sizes]:
            parts.append(tensor[..., row : row + rows, column : column + columns])
            row, column = row + rows, column + columns
        if (row, column) != tensor._matrix_shape():
            raise ShapeError(f"from_block_diagonal: sizes add up to {(row, column)}; the matrix is "
                             f"{tensor._matrix_shape()}")  # fmt: skip
        return cls(parts)

    def solve(self, right, **options):
        """x of each matrix, for a list of right-hand sides; options are those of SparseTensor.solve."""
        return [tensor.solve(b, **options) for tensor, b in self._pairs("solve", right)]

    def _pairs(self, who, others):
        if len(others) != len(self.tensors):
            raise ShapeError(f"{who}: {len(others)} for {len(self.tensors)} matrices; one for each is needed")
        return zip(self.tensors, others)

    def __matmul__(self, others):
        return _gathered([tensor @ other for tensor, other in self._pairs("matmul", others)])

    @property
    def T(self):
        """The transpose of each."""
        return type(self)([tensor.T for tensor in self.tensors])

    @property
    def H(self):
        """The conjugate transpose of each."""
        return type(self)([tensor.H for tensor in self.tensors])

    def __neg__(self):
        return type(self)([-tensor for tensor in self.tensors])

    def __repr__(self):
        return f"SparseTensorList({len(self)} matrices, nnz={self.total_nnz}, shapes={[tuple(s) for s in self.shapes]})"


def collated(batch, *, collate_fn_map=None):
    """What a DataLoader makes of several sparse tensors: a batch where they have one structure, else a list."""
    first = batch[0].structure
    return stack(batch) if all([one.structure.is_same(first) for one in batch]) else SparseTensorList(batch)


default_collate_fn_map[SparseTensor] = collated


def _gathered(parts):
    return SparseTensorList(parts) if parts and all([isinstance(part, SparseTensor) for part in parts]) else parts


def _each(name):
    def method(self, *args, **kwargs):
        return _gathered([getattr(tensor, name)(*args, **kwargs) for tensor in self.tensors])

    method.__name__, method.__doc__ = name, f"SparseTensor.{name} of each matrix."
    return method


def _operator(name):
    def method(self, other):
        if isinstance(other, (SparseTensorList, list, tuple)):
            pairs = self._pairs(name, other)
        else:
            pairs = [(tensor, other) for tensor in self.tensors]
        return _gathered([getattr(tensor, name)(one) for tensor, one in pairs])

    method.__name__ = name
    return method


for _name in _EACH:
    setattr(SparseTensorList, _name, _each(_name))
for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "pow"):
    setattr(SparseTensorList, f"__{_name}__", _operator(f"__{_name}__"))
