# SPDX-License-Identifier: Apache-2.0
"""Lists of sparse tensors with structures of their own, which a batch cannot hold; and one block diagonal matrix of
them, by which they are multiplied and solved together.
"""

import torch
from torch.utils.data._utils.collate import default_collate_fn_map

from ...errors import ShapeError
from ...pattern import Pattern
from .arithmetic import UNARY
from .shapes import are_on_one_pattern, stack
from .stored import StoredList
from .tensor import SparseTensor

_EACH = UNARY + (  # methods that are called of each
    "map clamp pow softmax conj coalesce merged clone detach contiguous float double half bfloat16 to cuda cpu "
    "pin_memory share_memory_ retain_grad requires_grad_ t transpose transposed tril triu flatten_blocks "
    "unflatten_blocks sum mean prod max min amax amin logsumexp norm trace count_nonzero diagonal det logdet slogdet "
    "logdet_estimate solver factor lu cholesky inverse_diagonal is_symmetric is_hermitian is_positive_definite "
    "detect_matrix_type connected_components has_isolated_components spy slots to_dense to_scipy numpy "
    "to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc"
).split()
_PAIRED = "matmul solve lstsq triangular_solve sddmm quadratic_form kron equal allclose".split()  # with one for each


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
        parts = [self._single_of(tensor) for tensor in self.tensors]
        pattern, _ = Pattern.block_diag([pattern for pattern, _ in parts])
        return SparseTensor._by_slots(pattern, torch.cat([slots for _, slots in parts]))  # rows do not interleave

    def _single_of(self, tensor):
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

    def _pairs(self, who, others):
        if len(others) != len(self.tensors):
            raise ShapeError(f"{who}: {len(others)} for {len(self.tensors)} matrices; one for each is needed")
        return zip(self.tensors, others)

    def __matmul__(self, others):
        return self._gathered([tensor @ other for tensor, other in self._pairs("matmul", others)])

    def _gathered(self, parts):
        """A list of the same class where the parts are sparse."""
        return type(self)(parts) if parts and all([isinstance(part, SparseTensor) for part in parts]) else parts

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
    """What a DataLoader makes of several sparse tensors: a batch where they store the same places, else a list."""
    return stack(batch) if are_on_one_pattern(batch) else SparseTensorList(batch)


default_collate_fn_map[SparseTensor] = collated


def _each(name):
    def method(self, *args, **kwargs):
        return self._gathered([getattr(tensor, name)(*args, **kwargs) for tensor in self.tensors])

    method.__name__, method.__doc__ = name, f"SparseTensor.{name} of each matrix."
    return method


def _paired(name):
    def method(self, others, **options):
        return self._gathered([getattr(tensor, name)(one, **options) for tensor, one in self._pairs(name, others)])

    method.__name__ = name
    method.__doc__ = f"SparseTensor.{name} of each matrix and its part of a list; options are the same for all."
    return method


def _operator(name):
    def method(self, other):
        if isinstance(other, (SparseTensorList, list, tuple)):
            pairs = self._pairs(name, other)
        else:
            pairs = [(tensor, other) for tensor in self.tensors]
        return self._gathered([getattr(tensor, name)(one) for tensor, one in pairs])

    method.__name__ = name
    return method


for _name in _EACH:
    setattr(SparseTensorList, _name, _each(_name))
for _name in _PAIRED:
    setattr(SparseTensorList, _name, _paired(_name))
for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "pow"):
    setattr(SparseTensorList, f"__{_name}__", _operator(f"__{_name}__"))
