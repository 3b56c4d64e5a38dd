# SPDX-License-Identifier: Apache-2.0
"""Patterns and maps: the frozen objects. Immutable, counted by C, safe to share between threads."""

import threading
import weakref

import numpy as np

from ._core import context, ffi, lib, release
from ._program import Family
from .errors import ArgumentError

_HANDLES = weakref.WeakValueDictionary()  # key -> the one Python object of a C object
_lock = threading.Lock()
_WIDTHS = {
    "auto": lib.LAC_WIDTH_AUTO,
    "32/32": lib.LAC_WIDTH_32_32,
    "64/32": lib.LAC_WIDTH_64_32,
    "64/64": lib.LAC_WIDTH_64_64,
}


def word(what, given, table):
    """The code of a word, or a sentence that lists the words there are."""
    try:
        return table[given]
    except (KeyError, TypeError):
        raise ArgumentError(f"{what} is {given!r}; it must be one of {', '.join(map(repr, table))}") from None


class Handle:
    """A C object: `key` is its 64-bit name as text, `c` the pointer, `family` what was made of it."""

    kind = None

    @classmethod
    def wrap(cls, pointer):
        """The Python object of a counted pointer that was handed over."""
        c = ffi.gc(pointer, release(getattr(lib, cls.kind + "_destroy"), cls.kind))
        key = str(getattr(lib, cls.kind + "_id")(c))
        with _lock:
            found = _HANDLES.get(key)
            if found is None:
                found = object.__new__(cls)
                found.c, found.key, found.family = c, key, Family()
                found._init()
                _HANDLES[key] = found
        return found

    def _init(self):
        """What a kind reads from C once."""

    def __reduce__(self):
        raise TypeError(
            f"a lacuna.{type(self).__name__} cannot be pickled; make it again from the pattern and the values"
        )

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def _index(array, what):
    array = np.ascontiguousarray(array)
    if array.dtype == np.int32:
        return array, lib.LAC_I32
    if array.dtype.kind not in "iu" and array.size:
        raise ArgumentError(f"{what} must be integers, got {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64), lib.LAC_I64


def _indices(first, second, what):
    """Two index arrays in one integer type."""
    (a, ta), (b, tb) = _index(first, what[0]), _index(second, what[1])
    for array, name in ((a, what[0]), (b, what[1])):
        if array.ndim != 1:
            raise ArgumentError(f"{name} must be one-dimensional, got shape {array.shape}")
    if ta != tb:
        a, b, ta = a.astype(np.int64), b.astype(np.int64), lib.LAC_I64
    return a, b, ta


def _data(array):
    return ffi.from_buffer(array)


class Map(Handle):
    """A frozen index map between entries: out[j] = sum of in[i] over the sources i of j. `remap` applies it."""

    kind = "lac_map"

    def __new__(cls, target, outputs):
        """Entry i is added to out[target[i]]; a target of -1 drops it."""
        target = np.ascontiguousarray(target, dtype=np.int64)
        ctx, out = context(), ffi.new("lac_map **")
        pointer = ffi.cast("const int64_t *", _data(target))
        ctx.check(lib.lac_map_create(ctx.c, target.size, outputs, pointer, out))
        return cls.wrap(out[0])

    @property
    def inputs(self):
        return lib.lac_map_inputs(self.c)

    @property
    def outputs(self):
        return lib.lac_map_outputs(self.c)

    @property
    def is_identity(self):
        return bool(lib.lac_map_is_identity(self.c))

    @property
    def target(self):
        """The target of each input entry, -1 where it is dropped."""
        target = np.empty(self.inputs, np.int64)
        lib.lac_map_read(self.c, ffi.cast("int64_t *", _data(target)))
        return target

    def __reduce__(self):
        return Map, (self.target, self.outputs)

    def __repr__(self):
        return f"Map({self.inputs} -> {self.outputs})"


class Pattern(Handle):
    """The immutable structure of a sparse matrix, by rows with ascending columns; values are an array over its slots.

    `shape` is (rows, cols), `nnz` the number of slots. `entries` is the map from the entries a constructor was given to
    slots (duplicates share one), None for derived patterns.
    """

    kind = "lac_pattern"

    def _init(self):
        self.shape = lib.lac_pattern_rows(self.c), lib.lac_pattern_cols(self.c)
        self.nnz = lib.lac_pattern_nnz(self.c)
        self.entries = self._structure = self._solver = None

    @classmethod
    def _build(cls, function, *arguments, width):
        ctx, out, entries = context(), ffi.new("lac_pattern **"), ffi.new("lac_map **")
        ctx.check(function(ctx.c, *arguments, word("width", width, _WIDTHS), out, entries))
        pattern = cls.wrap(out[0])
        pattern.entries = Map.wrap(entries[0])
        return pattern

    @classmethod
    def from_coo(cls, row, col, shape, width="auto"):
        """From coordinates in any order. Duplicates share a slot; their values sum."""
        row, col, kind = _indices(row, col, ("row", "col"))
        if row.size != col.size:
            raise ArgumentError(f"from_coo: row has {row.size} entries and col {col.size}")
        rows, cols = shape
        return cls._build(lib.lac_pattern_from_coo, rows, cols, row.size, kind, _data(row), _data(col), width=width)

    @classmethod
    def from_csr(cls, offsets, columns, shape, width="auto"):
        """From compressed rows; columns within a row may be unsorted and repeated."""
        return cls._compressed(lib.lac_pattern_from_csr, offsets, columns, shape, shape[0], "from_csr", width)

    @classmethod
    def from_csc(cls, offsets, rows, shape, width="auto"):
        """From compressed columns."""
        return cls._compressed(lib.lac_pattern_from_csc, offsets, rows, shape, shape[1], "from_csc", width)

    @classmethod
    def _compressed(cls, function, offsets, indices, shape, lines, who, width):
        offsets, indices, kind = _indices(offsets, indices, ("offsets", "indices"))
        if offsets.size != lines + 1:
            raise ArgumentError(f"{who}: a shape of {tuple(shape)} needs {lines + 1} offsets, got {offsets.size}")
        if offsets[-1] > indices.size:
            raise ArgumentError(f"{who}: the last offset is {offsets[-1]}, but there are {indices.size} indices")
        return cls._build(function, *shape, kind, _data(offsets), _data(indices), width=width)

    @classmethod
    def from_scipy(cls, matrix, width="auto"):
        """From any SciPy sparse matrix or array; lacuna.from_scipy gives the values too."""
        if matrix.format == "csc":
            return cls.from_csc(matrix.indptr, matrix.indices, matrix.shape, width)
        if matrix.format == "csr":
            return cls.from_csr(matrix.indptr, matrix.indices, matrix.shape, width)
        coo = matrix.tocoo()
        return cls.from_coo(*coo.coords if hasattr(coo, "coords") else (coo.row, coo.col), coo.shape, width)

    @property
    def width(self):
        """How offsets and columns are kept: "32/32", "64/32" or "64/64"."""
        return {code: name for name, code in _WIDTHS.items()}[lib.lac_pattern_width(self.c)]

    def structure(self):
        """(offsets, columns, rows) as read-only int64 arrays: rows + 1, nnz and nnz of them."""
        if self._structure is None:
            arrays = [np.empty(n, np.int64) for n in (self.shape[0] + 1, self.nnz, self.nnz)]
            lib.lac_pattern_read(self.c, *(ffi.cast("int64_t *", _data(array)) for array in arrays))
            for array in arrays:
                array.flags.writeable = False
            self._structure = tuple(arrays)
        return self._structure

    def same(self, other):
        """Whether both have equal structure, and therefore equal slots."""
        return bool(lib.lac_pattern_same(self.c, other.c))

    def to_scipy(self, values):
        """A SciPy CSR array over these values, without copying them."""
        from scipy.sparse import csr_array

        offsets, columns, _ = self.structure()
        return csr_array((values, columns, offsets), shape=self.shape)

    def _derive(self, function, *arguments):
        ctx, out, map_ = context(), ffi.new("lac_pattern **"), ffi.new("lac_map **")
        ctx.check(function(ctx.c, self.c, *arguments, out, map_))
        return Pattern.wrap(out[0]), Map.wrap(map_[0])

    def transpose(self):
        """(A^T, the map that takes values there)."""
        return self._derive(lib.lac_pattern_transpose)

    def tril(self, k=0):
        """(the entries on and below the k-th diagonal, the map that takes values there)."""
        return self._derive(lib.lac_pattern_triangle, lib.LAC_LOWER, k)

    def triu(self, k=0):
        """(the entries on and above the k-th diagonal, the map that takes values there)."""
        return self._derive(lib.lac_pattern_triangle, lib.LAC_UPPER, k)

    def submatrix(self, rows, cols):
        """(rows [r0, r1) and columns [c0, c1), the map that takes values there)."""
        return self._derive(lib.lac_pattern_submatrix, *rows, *cols)

    def union(self, other):
        """(entries of either, the map of our values, the map of the other's)."""
        ctx, out = context(), ffi.new("lac_pattern **")
        maps = ffi.new("lac_map **"), ffi.new("lac_map **")
        ctx.check(lib.lac_pattern_union(ctx.c, self.c, other.c, out, *maps))
        return Pattern.wrap(out[0]), Map.wrap(maps[0][0]), Map.wrap(maps[1][0])

    def product(self, other):
        """Where A B may be nonzero."""
        ctx, out = context(), ffi.new("lac_pattern **")
        ctx.check(lib.lac_pattern_product(ctx.c, self.c, other.c, out))
        return Pattern.wrap(out[0])

    def diagonal(self):
        """The map from slots to the min(rows, cols) numbers of the diagonal."""
        return self._map(lib.lac_pattern_diagonal)

    def dense(self):
        """The map from slots to the rows * cols numbers of the dense matrix."""
        return self._map(lib.lac_pattern_dense)

    def _map(self, function):
        ctx, out = context(), ffi.new("lac_map **")
        ctx.check(function(ctx.c, self.c, out))
        return Map.wrap(out[0])

    def solver(self):
        """The solver with default options, analysed once."""
        from .solver import Solver

        if self._solver is None:
            self._solver = Solver(self)
        return self._solver

    def __reduce__(self):
        offsets, columns, _ = self.structure()
        return Pattern.from_csr, (offsets, columns, self.shape, self.width)

    def __repr__(self):
        return f"Pattern({self.shape[0]} x {self.shape[1]}, nnz={self.nnz})"
