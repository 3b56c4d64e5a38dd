# SPDX-License-Identifier: Apache-2.0
"""Matrices: a pattern, and values in the order of whoever gave them, in one (matrix.h). Functions of NumPy arrays take
one in the place of a pattern and its values (_matrices.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._dtypes import computed
from ._handle import expect, word
from ._indices import _index, _sizes
from ._interned import interned
from ._numpy import asarray
from ._autodiff.recorded import Array
from ._scipy import SciPy, is_matrix, pattern_of, readable
from ._structure import Structure, made_of
from .errors import ArgumentError, DtypeError, ShapeError
from .pattern import Pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from .solver import Factor, Solver

    Op = Literal["N", "T", "H", "plain", "transposed", "conjugated", "adjoint"]

_ORDERS = {None: None, "entries": True, "slots": False}


class Matrix:
    """A sparse matrix, or a batch of them on one pattern, whose values are an array of the caller's in its own order.

    Matrix.from_coo(values, row, col, shape), from_csr, from_csc, from_bsr, from_dense and from_scipy make one. Entries
    may be in any order; those of one place are summed, and a row or column of -1 drops its entry. `values` is not
    copied, and is put into the order of the pattern's slots in each use: gradients come back in the caller's order. The
    same indices give the same pattern, with all that was analysed of it, while it is one of the last 16.

    Every function of lacuna takes a Matrix in the place of a pattern and its values: lacuna.logdet(A). Derivatives are
    those in `values`: lacuna.grad(lambda values: f(A.with_values(values)))(A.values).

    >>> A = lacuna.Matrix.from_coo([4.0, 2.0, 1.0], [1, 0, 0], [1, 0, 1], (2, 2))  # [[2, 1], [0, 4]]
    >>> A
    Matrix(2 x 2, nnz=3, float64)
    >>> A @ np.array([1.0, 10.0])
    array([12., 40.])
    >>> lacuna.grad(lambda a: lacuna.sum(A.with_values(a).solve(np.array([4.0, 4.0]))))(A.values)
    array([-0.125, -0.75 , -0.5  ])
    """

    __slots__ = ("structure", "values")
    __array_ufunc__ = None  # x @ A of a NumPy array asks __rmatmul__

    def __init__(self, pattern: Pattern, values: ArrayLike, order: Literal["entries", "slots"] | None = None) -> None:
        """Of a pattern and values [*batch, entries]. order: "entries", as the indices were of which the pattern was
        made, or "slots", as the pattern keeps them; it must be given where these differ."""
        expect("Matrix", pattern, Pattern)
        self.structure = Structure(pattern, _entries(pattern, word("order", order, _ORDERS)))
        self.values = self._fitting("Matrix", values)

    # -- making matrices ------------------------------------------------------------------------------------------

    @classmethod
    def from_coo(cls, values: ArrayLike, row: ArrayLike, col: ArrayLike, shape: Sequence[int]) -> Matrix:
        """Of coordinates in any order.

        >>> A = lacuna.Matrix.from_coo([1.0, 4.0, 2.0], [0, 1, 0], [1, 1, 0], (2, 2))
        >>> A, A @ [1.0, 1.0], A.T @ [1.0, 1.0]
        (Matrix(2 x 2, nnz=3, float64), array([3., 4.]), array([2., 5.]))
        """
        return cls(_known(Pattern.from_coo, "coo", (row, col), ("row", "col"), shape), values, "entries")

    @classmethod
    def from_csr(cls, values: ArrayLike, offsets: ArrayLike, columns: ArrayLike, shape: Sequence[int]) -> Matrix:
        """Of compressed rows: rows + 1 offsets; columns within a row may be unsorted and repeated."""
        what = "offsets", "columns"
        return cls(_known(Pattern.from_csr, "csr", (offsets, columns), what, shape), values, "entries")

    @classmethod
    def from_csc(cls, values: ArrayLike, offsets: ArrayLike, rows: ArrayLike, shape: Sequence[int]) -> Matrix:
        """Of compressed columns, as from_csr has rows."""
        return cls(_known(Pattern.from_csc, "csc", (offsets, rows), ("offsets", "rows"), shape), values, "entries")

    @classmethod
    def from_bsr(cls, values: ArrayLike, offsets: ArrayLike, columns: ArrayLike, shape: Sequence[int]) -> Matrix:
        """Of compressed rows of blocks: values are (blocks, br, bc), as SciPy's data; `shape` counts single numbers."""
        values = asarray(values, "from_bsr", "values")
        if values.ndim < 3:
            raise ShapeError(f"from_bsr: values have shape {values.shape}; they must be (blocks, br, bc)")
        what, block = ("offsets", "columns"), tuple(values.shape[-2:])
        return cls(_known(Pattern.from_bsr, "bsr", (offsets, columns), what, shape, block), values, "entries")

    @classmethod
    def from_dense(cls, dense: ArrayLike, threshold: float = 0.0) -> Matrix:
        """Of the numbers of a dense matrix whose size is above `threshold`, NaN too; -1 keeps every number. Which ones
        these are is no part of a derivative; their values are.

        >>> lacuna.Matrix.from_dense([[2.0, 0.0], [1.0, 4.0]]).values
        array([2., 1., 4.])
        """
        from . import gather

        dense = asarray(dense, "from_dense", "it")
        if dense.ndim != 2:
            raise ShapeError(f"from_dense: it has shape {dense.shape}; a matrix has two dimensions")
        numbers = dense.value if isinstance(dense, Array) else dense
        row, col = np.nonzero(~(np.abs(numbers) <= threshold))
        values = gather(row * dense.shape[1] + col, dense.reshape(-1)) if isinstance(dense, Array) else dense[row, col]
        return cls.from_coo(values, row, col, dense.shape)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Matrix:
        """Of a SciPy sparse matrix or array: CSR, CSC, COO, BSR and DIA keep the order of their data, which is not
        copied; others are converted to COO.

        >>> lacuna.Matrix.from_scipy(scipy.sparse.csc_array([[2.0, 0.0], [1.0, 4.0]])).to_dense()
        array([[2., 0.],
               [1., 4.]])
        """
        matrix = readable(matrix)
        pattern, data = pattern_of(matrix), matrix.data
        if matrix.format == "dia":
            data = data.reshape(-1)
        elif matrix.format != "coo":
            data = data[: int(matrix.indptr[-1])]  # there may be room for more
        return cls(pattern, data, "entries")

    def with_values(self, values: ArrayLike) -> Matrix:
        """The same entries with other values, [*batch, entries] or [*batch, blocks, br, bc] for any batch.

        >>> A = lacuna.Matrix.from_dense([[2.0, 0.0], [1.0, 4.0]])
        >>> A.with_values([[2.0, 1.0, 4.0], [1.0, 1.0, 1.0]]).solve([[2.0, 5.0], [1.0, 3.0]])
        array([[1., 1.],
               [1., 2.]])
        """
        return self._on(self.structure, self._fitting("with_values", values))

    @classmethod
    def _on(cls, structure, values):
        made = object.__new__(cls)
        made.structure, made.values = structure, values
        return made

    def _fitting(self, who, values):
        """Values as an array, refused where they do not go with the structure."""
        values, blocks = asarray(values, who, "values"), self.pattern.blocks
        numbers = self.structure.count // (1 if self.structure.entries is None else blocks[0] * blocks[1])
        given = tuple(values.shape)
        blocks = blocks if self.structure.origin is None else blocks[::-1]  # a transpose has the caller's values
        ends = (numbers,) if blocks == (1, 1) else (numbers, *blocks)
        if given[max(len(given) - len(ends), 0) :] != ends:
            raise ShapeError(f"{who}: values have shape {given}; those of {self._words()} must end with {ends}")
        if computed(values.dtype) is None:
            raise DtypeError(
                f"{who}: values are {values.dtype}; Lacuna computes in float32, float64, complex64 and complex128: "
                "convert them with .astype()"
            )
        return values

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    def pattern(self) -> Pattern:
        """The pattern, which functions take together with slots()."""
        return self.structure.pattern

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The dimensions of values before the entries, () where there is one matrix."""
        return tuple(self.values.shape[: self.values.ndim - self._own()])

    @property
    def shape(self) -> tuple[int, ...]:
        """(*batch, rows, columns), in single numbers."""
        return (*self.batch_shape, *self.pattern.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions the shape has."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """How many numbers are stored; entries of one place count once, numbers inside blocks one by one."""
        return self.pattern.nnz * self.pattern.blocks[0] * self.pattern.blocks[1]

    @property
    def dtype(self) -> np.dtype:
        """That of the values."""
        return self.values.dtype

    def slots(self) -> Any:
        """The values by slots of the pattern, [*batch, nnz], or [*batch, nnz, *pattern.blocks]: rows in order, columns
        ascending, each place once. Made anew in each call, and differentiable in `values`.

        >>> A = lacuna.Matrix.from_coo([4.0, 1.0, 2.0], [1, 0, 1], [1, 0, 1], (2, 2))
        >>> A.values, A.slots()
        (array([4., 1., 2.]), array([1., 6.]))
        """
        from . import remap

        structure, blocks, values = self.structure, self.pattern.blocks, self.values
        if structure.entries is None:
            return values
        if blocks == (1, 1):
            return remap(structure.entries, values)
        flat = remap(structure.entries, values.reshape(*self.batch_shape, structure.count))
        return flat.reshape(*self.batch_shape, self.pattern.nnz, *blocks)

    def _own(self):
        """How many dimensions of values are not the batch's."""
        return 1 if self.pattern.blocks == (1, 1) else 3

    def _words(self):
        rows, columns = self.pattern.shape
        return f"a {rows} x {columns} matrix of {self.structure.count} entries"

    def __repr__(self):
        rows, columns = self.pattern.shape
        batch = f", batch of {self.batch_shape}" if self.batch_shape else ""
        return f"Matrix({rows} x {columns}, nnz={self.nnz}, {self.dtype}{batch})"

    # -- what it does ---------------------------------------------------------------------------------------------

    @property
    def T(self) -> Matrix:
        """The transpose, whose values are the same array in the same order."""
        return self._on(self.structure.transposed(), self.values)

    def __matmul__(self, other):
        """A x for a vector (or one for each matrix of a batch) or columns; A B of matrices is a Matrix."""
        from . import spmm

        if isinstance(other, Matrix) or is_matrix(other):
            return self._times(other)
        return spmm(self, asarray(other, "matmul", "the right side"))

    def __rmatmul__(self, other):
        from . import spmm

        if is_matrix(other):
            return Matrix.from_scipy(other)._times(self)
        x = asarray(other, "matmul", "the left side")
        if x.ndim > 2 or self.batch_shape and x.ndim == 2:
            raise ShapeError('matmul: x @ A with a batch; take spmm(A, x, "T"), whose columns are the rows of x')
        return spmm(self, x, "T") if x.ndim == 1 else spmm(self, x.T, "T").T

    def _times(self, other):
        """The product on the places that it may have."""
        from . import spgemm

        (p, a), (q, b) = self._single(), (other if isinstance(other, Matrix) else self.from_scipy(other))._single()
        if p.shape[1] != q.shape[0]:
            raise ShapeError(
                f"matmul: {p.shape} times {q.shape}; the first must have as many columns as the second rows"
            )
        return self._on(Structure(made_of("product", p, q)[0]), spgemm(p, a, q, b))

    def _single(self):
        """(pattern, values by slots) of single numbers."""
        from . import remap

        if self.pattern.blocks == (1, 1):
            return self.pattern, self.slots()
        pattern, order = made_of("scalar", self.pattern)
        return pattern, remap(order, self.slots().reshape(*self.batch_shape, order.inputs))

    def solver(self, **options: Any) -> Solver:
        """The Solver of its pattern with these options, analysed once."""
        return self.pattern.solver(**options)

    def factor(self, method: str = "direct", **options: Any) -> Factor:
        """A Factor of these values, which are numbers and not recorded: for any number of right-hand sides, and for the
        determinant. The options are those of Solver.

        >>> factor = lacuna.Matrix.from_dense([[2.0, 0.0], [1.0, 4.0]]).factor()
        >>> factor.solve([2.0, 5.0]), factor.slogdet()
        (array([1., 1.]), (1.0, 2.0794415416798357))
        """
        return self.solver(method=method, **options).factor(self.slots())

    def solve(self, b: ArrayLike, op: Op = "N", **options: Any) -> Any:
        """op(A)^-1 b, for a vector or columns; the options are those of Solver. New values are factored once.

        >>> A = lacuna.Matrix.from_dense([[2.0, 0.0], [1.0, 4.0]])
        >>> A.solve([2.0, 5.0]), A.solve([3.0, 4.0], op="T")
        (array([1., 1.]), array([1., 1.]))
        >>> lacuna.grad(lambda b: lacuna.sum(A.solve(b)))([2.0, 5.0])
        array([0.375, 0.25 ])
        """
        from . import solve

        solver, values = self.solver(**options) if options else self.pattern, self.slots()
        b, is_vectors = asarray(b, "solve", "b"), bool(self.batch_shape)
        is_vectors = is_vectors and b.ndim == len(self.batch_shape) + 1
        made = solve(solver, values, b.reshape(*b.shape, 1) if is_vectors else b, op)
        return made[..., 0] if is_vectors else made

    def to_dense(self) -> Any:
        """The dense matrix, [*batch, rows, columns]."""
        from . import remap

        pattern, slots = self._single()
        return remap(made_of("dense", pattern)[0], slots).reshape(*self.batch_shape, *pattern.shape)

    def to_scipy(self, like: Any = None) -> Any:
        """A SciPy CSR array, or BSR for blocks. like: a SciPy matrix or array, whose format, class and index type the
        result then has."""
        if self.batch_shape:
            raise ShapeError(f"to_scipy: a batch of {self.batch_shape}; choose one: A.with_values(A.values[0])")
        return self.pattern.to_scipy(np.asarray(self.slots()), like)


class NumPy(SciPy):
    """The matrices that the NumPy front end takes: a Matrix, and SciPy's."""

    @staticmethod
    def is_matrix(given):
        return isinstance(given, Matrix) or is_matrix(given)

    def parts(self, matrix):
        if isinstance(matrix, Matrix):
            return matrix.pattern, matrix.slots(), len(matrix.batch_shape)
        return super().parts(matrix)


def _known(make, layout, indices, what, shape, *more):
    """The pattern of these indices, the same one for the same indices."""
    indices = [_index(given, name)[0] for given, name in zip(indices, what)]
    return interned(make, layout, indices, _sizes(shape), *more, "auto")


def _entries(pattern, in_order):
    """The map of the order that is meant; None where that is the order of the slots."""
    if in_order is False or pattern.entries is not None and pattern.entries.is_identity:
        return None
    if pattern.entries is None:
        if in_order:
            raise ArgumentError(
                'Matrix: this pattern was derived from another and has no order of entries; give values by slots, '
                'order="slots"'
            )
        return None
    if in_order is None:
        raise ArgumentError(
            "Matrix: the pattern keeps its entries in another order than that of the indices it was made of; say in "
            'which order the values are: order="entries", that of the indices, or order="slots"'
        )
    return pattern.entries
