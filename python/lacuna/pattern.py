# SPDX-License-Identifier: Apache-2.0
"""Patterns: the frozen structure of matrices. Immutable, counted by C, safe to share between threads."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._core import check, context, ffi, fields, lib, sized
from ._derived import Kept, derived
from ._handle import Handle, expect, word
from ._indices import _data, _index, _indices, _list, _placed_indices, _pointer, _ready, _sizes
from .errors import ArgumentError
from .map import Map

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from .format import Format
    from .solver import Solver

    Width = Literal["auto", "32/32", "64/32", "64/64"]
    Indices = ArrayLike | None

_WIDTHS = {
    "auto": lib.LAC_WIDTH_AUTO,
    "32/32": lib.LAC_WIDTH_32_32,
    "64/32": lib.LAC_WIDTH_64_32,
    "64/64": lib.LAC_WIDTH_64_64,
}
_PATTERN, _MAP, _PAIR = ffi.typeof("lac_pattern **"), ffi.typeof("lac_map **"), ffi.typeof("int64_t[2]")
_WORDS, _AUTO = (str, int, float, np.generic, Handle), ("method", "auto")
_TRIANGLES = {"lower": lib.LAC_TRIANGLE_LOWER, "upper": lib.LAC_TRIANGLE_UPPER}


class Pattern(Handle):
    """The immutable structure of a sparse matrix, by rows with ascending columns; values are an array over its slots.

    `shape` is (rows, cols), `nnz` the number of slots. `entries` is the map from the entries a constructor was given to
    slots (duplicates share one), None for derived patterns. Where `blocks` is not (1, 1), a slot holds a block of that
    shape, values are (nnz, *blocks), and maps are between the flattened numbers.
    """

    shape: tuple[int, int]
    nnz: int
    blocks: tuple[int, int]
    entries: Map | None

    kind = "lac_pattern"
    made_by = (
        "Pattern.from_coo, from_csr, from_csc, from_bsr, from_ell, from_sell, from_hyb, from_dia and from_scipy "
        "make one"
    )

    def _init(self):
        c, sides = self.c, ffi.new(_PAIR)
        rows, cols, nnz = lib.lac_pattern_rows(c), lib.lac_pattern_cols(c), lib.lac_pattern_nnz(c)
        lib.lac_pattern_blocks(c, sides, sides + 1)
        blocks = sides[0], sides[1]
        self._set(
            blocks=blocks, shape=(rows, cols), nnz=nnz, sizes=(rows, cols, nnz) if blocks == (1, 1) else (),
            entries=None, _structure=None, _derived=Kept(),
        )  # fmt: skip

    @staticmethod
    def sized(rows, cols, nnz):
        return {"shape": (rows, cols), "nnz": nnz, "blocks": (1, 1), "entries": None}

    @classmethod
    def _build(cls, function, *arguments, width, ctx=None):
        ctx, out, entries = ctx or context(), ffi.new(_PATTERN), ffi.new(_MAP)
        ctx.check(function(ctx.c, *arguments, word("width", width, _WIDTHS), out, entries))
        pattern = cls.wrap(out[0])
        pattern._set(entries=Map.wrap(entries[0]))
        return pattern

    @classmethod
    def from_coo(cls, row: ArrayLike, col: ArrayLike, shape: Sequence[int], width: Width = "auto") -> Pattern:
        """From coordinates in any order. Duplicates share a slot; their values sum.

        A row or a column of -1 drops its entry, as a fixed degree of freedom does: `entries` has -1 for it, so that
        `remap` leaves its value out and its gradient is 0.

        >>> pattern = lacuna.Pattern.from_coo([2, 0, 0], [2, 0, 0], (3, 3))
        >>> pattern, pattern.entries.target
        (Pattern(3 x 3, nnz=2), array([1, 0, 0]))
        >>> lacuna.remap(pattern.entries, np.array([5.0, 1.0, 2.0]))
        array([3., 5.])

        CUDA tensors are read and sorted on their device, and the pattern is born there.
        """
        row, col, kind, ctx = _placed_indices(row, col, ("row", "col"))
        if len(row) != len(col):
            raise ArgumentError(f"from_coo: row has {len(row)} entries and col {len(col)}")
        function = lib.lac_pattern_from_coo_on if ctx else lib.lac_pattern_from_coo
        return cls._build(function, *_sizes(shape), len(row), kind, _data(row), _data(col), width=width, ctx=ctx)

    @classmethod
    def from_csr(
        cls, offsets: ArrayLike, columns: ArrayLike, shape: Sequence[int], width: Width = "auto"
    ) -> Pattern:
        """From compressed rows; columns within a row may be unsorted and repeated. CUDA tensors stay on their
        device."""
        *indices, ctx = _placed_indices(offsets, columns, ("offsets", "indices"))
        function = lib.lac_pattern_from_csr_on if ctx else lib.lac_pattern_from_csr
        return cls._compressed(function, *indices, shape, 0, "from_csr", width, ctx)

    @classmethod
    def from_csc(cls, offsets: ArrayLike, rows: ArrayLike, shape: Sequence[int], width: Width = "auto") -> Pattern:
        """From compressed columns. CUDA tensors stay on their device."""
        *indices, ctx = _placed_indices(offsets, rows, ("offsets", "indices"))
        function = lib.lac_pattern_from_csc_on if ctx else lib.lac_pattern_from_csc
        return cls._compressed(function, *indices, shape, 1, "from_csc", width, ctx)

    @classmethod
    def from_bsr(
        cls, offsets: ArrayLike, columns: ArrayLike, shape: Sequence[int], blocksize: Sequence[int],
        width: Width = "auto",
    ) -> Pattern:  # fmt: skip
        """From compressed rows of blocks, in any order and repeated, as SciPy's indptr, indices, shape and blocksize.

        `entries` takes the flattened numbers of SciPy's data to those of values (nnz, *blocks).
        """
        offsets, columns, kind = _indices(offsets, columns, ("offsets", "columns"))
        (rows, cols), (br, bc) = _sizes(shape), _sizes(blocksize)
        if br and rows % br == 0 and offsets.size != rows // br + 1:
            raise ArgumentError(
                f"from_bsr: {rows // br} rows of blocks need {rows // br + 1} offsets, got {offsets.size}"
            )
        if offsets.size and offsets[-1] > columns.size:
            raise ArgumentError(f"from_bsr: the last offset is {offsets[-1]}, but there are {columns.size} columns")
        function = lib.lac_pattern_from_bsr
        return cls._build(function, rows, cols, br, bc, kind, _data(offsets), _data(columns), width=width)

    @classmethod
    def from_ell(cls, columns: ArrayLike, shape: Sequence[int], width: Width = "auto") -> Pattern:
        """From ELL: `columns` is (rows, entries a row), negative in padding. `entries` is on its flattened
        positions."""
        rows, cols = _sizes(shape)
        columns = _ready(columns)
        if columns.ndim != 2 or columns.shape[0] != rows:
            raise ArgumentError(f"from_ell: columns must have shape ({rows}, entries a row), got {columns.shape}")
        flat, kind = _index(columns.reshape(-1), "columns")
        return cls._build(lib.lac_pattern_from_ell, rows, cols, columns.shape[1], kind, _data(flat), width=width)

    @classmethod
    def from_sell(
        cls, offsets: ArrayLike, columns: ArrayLike, shape: Sequence[int], slice: int, rows: Indices = None,
        width: Width = "auto",
    ) -> Pattern:  # fmt: skip
        """From sliced ELL: where slices of `slice` rows begin, columns by positions, the row of each lane or None."""
        offsets, columns, kind = _indices(offsets, columns, ("offsets", "columns"))
        lanes = columns[:0] if rows is None else _ready(_index(rows, "rows")[0], columns.dtype)
        (count, cols), slice = _sizes(shape), _sizes((slice, 0))[0]
        slices = -(-count // slice) if slice else 0
        if slice and (offsets.size != slices + 1 or (rows is not None and lanes.size != slices * slice)):
            raise ArgumentError(
                f"from_sell: {count} rows in slices of {slice} need {slices + 1} offsets and {slices * slice} rows, "
                f"got {offsets.size} and {lanes.size}"
            )
        if offsets.size and offsets[-1] > columns.size:
            raise ArgumentError(f"from_sell: the last offset is {offsets[-1]}, but there are {columns.size} columns")
        lanes = ffi.NULL if rows is None else _data(lanes)
        arrays = _data(offsets), _data(columns), lanes
        return cls._build(lib.lac_pattern_from_sell, count, cols, slice, kind, *arrays, width=width)

    @classmethod
    def from_hyb(
        cls, columns: ArrayLike, rows: ArrayLike, shape: Sequence[int], entries_a_row: int, width: Width = "auto"
    ) -> Pattern:
        """From ELL + COO: columns of rows x entries_a_row positions and then of the COO entries, whose rows are
        `rows`."""
        columns, tail, kind = _indices(columns, rows, ("columns", "rows"))
        (count, cols), (each, _) = _sizes(shape), _sizes((entries_a_row, 0))
        if columns.size != count * each + tail.size:
            raise ArgumentError(
                f"from_hyb: {count} x {each} + {tail.size} columns are needed, got {columns.size}"
            )
        arrays = _data(columns), _data(tail)
        return cls._build(lib.lac_pattern_from_hyb, count, cols, each, tail.size, kind, *arrays, width=width)

    @classmethod
    def from_dia(
        cls, offsets: ArrayLike, shape: Sequence[int], length: int | None = None, width: Width = "auto"
    ) -> Pattern:
        """From diagonals as SciPy keeps them: data is (len(offsets), length), by default as long as there are columns.

        What lies inside the matrix is an entry, zeros too. `entries` is on the flattened positions of data.
        """
        offsets, kind = _index(offsets, "offsets")
        rows, cols = _sizes(shape)
        length = cols if length is None else _sizes((length, 0))[0]
        return cls._build(
            lib.lac_pattern_from_dia, rows, cols, offsets.size, length, kind, _data(offsets), width=width
        )

    @classmethod
    def _compressed(cls, function, offsets, indices, kind, shape, axis, who, width, ctx=None):
        shape = _sizes(shape)
        if len(offsets) != shape[axis] + 1:
            raise ArgumentError(f"{who}: a shape of {shape} needs {shape[axis] + 1} offsets, got {len(offsets)}")
        last = int(offsets[-1])
        if last > len(indices):
            raise ArgumentError(f"{who}: the last offset is {last}, but there are {len(indices)} indices")
        return cls._build(function, *shape, kind, _data(offsets), _data(indices), width=width, ctx=ctx)

    @classmethod
    def from_scipy(cls, matrix: Any, width: Width = "auto") -> Pattern:
        """From any SciPy sparse matrix or array, BSR with its blocks; lacuna.from_scipy gives the values too, and says
        more."""
        from ._scipy import pattern_of, readable

        return pattern_of(readable(matrix), width)

    @property
    def width(self) -> str:
        """How offsets and columns are kept: "32/32", "64/32" or "64/64"."""
        return {code: name for name, code in _WIDTHS.items()}[lib.lac_pattern_width(self.c)]

    def structure(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(offsets, columns, rows) as read-only int64 arrays: rows + 1, nnz and nnz of them; in blocks if it has
        any."""
        if self._structure is None:
            arrays = [np.empty(n, np.int64) for n in (self.shape[0] // self.blocks[0] + 1, self.nnz, self.nnz)]
            check(lib.lac_pattern_read(self.c, *(ffi.cast("int64_t *", _data(array)) for array in arrays)))
            for array in arrays:
                array.flags.writeable = False
            self._set(_structure=tuple(arrays))
        return self._structure

    def same(self, other: Pattern) -> bool:
        """Whether both have equal structure, and therefore equal slots."""
        expect("same", other, Pattern)
        return bool(lib.lac_pattern_same(self.c, other.c))

    def _same_csr(self, offsets, columns, kind):
        """Whether compressed rows on the host are those of the pattern in its own order: addresses of `rows` + 1
        offsets and nnz columns, and C's name of their type."""
        rows = self.shape[0] // self.blocks[0]
        sides = [ffi.cast("void *", at) for at in (offsets, columns)]
        return bool(lib.lac_pattern_same_csr(self.c, rows, kind, *sides))

    def to_scipy(self, values: ArrayLike, like: Any = None) -> Any:
        """A SciPy CSR array, or BSR for blocks, over these values, without copying them.

        like: a SciPy matrix or array; the result then has its format, its class (matrix or array) and its index type.
        """
        from ._scipy import to_scipy

        return to_scipy(self, values, like)

    def _derive(self, function, *arguments):
        ctx, out, map_ = context(), ffi.new("lac_pattern **"), ffi.new("lac_map **")
        ctx.check(function(ctx.c, self.c, *arguments, out, map_))
        return Pattern.wrap(out[0]), Map.wrap(map_[0])

    def _join(self, function, argument):
        ctx, out = context(), ffi.new("lac_pattern **")
        maps = ffi.new("lac_map **"), ffi.new("lac_map **")
        ctx.check(function(ctx.c, self.c, argument, out, *maps))
        return Pattern.wrap(out[0]), Map.wrap(maps[0][0]), Map.wrap(maps[1][0])

    def _product(self, other):
        ctx, out = context(), ffi.new("lac_pattern **")
        ctx.check(lib.lac_pattern_product(ctx.c, self.c, other.c, out))
        return (Pattern.wrap(out[0]),)

    def transpose(self) -> tuple[Pattern, Map]:
        """(A^T, the map that takes values there).

        >>> turned, to = lacuna.Pattern.from_coo([0, 0, 1], [0, 2, 1], (2, 3)).transpose()
        >>> turned, lacuna.remap(to, np.array([1.0, 2.0, 3.0]))
        (Pattern(3 x 2, nnz=3), array([1., 3., 2.]))
        """
        return derived("transpose", (self.key,))

    def tril(self, k: int = 0) -> tuple[Pattern, Map]:
        """(the entries on and below the k-th diagonal, the map that takes values there)."""
        return derived("tril", (self.key,), operator.index(k))

    def triu(self, k: int = 0) -> tuple[Pattern, Map]:
        """(the entries on and above the k-th diagonal, the map that takes values there)."""
        return derived("triu", (self.key,), operator.index(k))

    def mirror(self, triangle: Literal["lower", "upper"] = "lower") -> tuple[Pattern, Map, Map]:
        """(the whole of a symmetric or Hermitian matrix known by one triangle, the map of the triangle's values, the
        map of those off the diagonal to their mirror images); lacuna.mirror gives the values."""
        return derived("mirror", (self.key,), word("triangle", triangle, _TRIANGLES))

    def submatrix(self, rows: tuple[int, int], cols: tuple[int, int]) -> tuple[Pattern, Map]:
        """(rows [r0, r1) and columns [c0, c1), the map that takes values there)."""
        return derived("submatrix", (self.key,), *rows, *cols)

    def scalar(self) -> tuple[Pattern, Map]:
        """(the single entries of a pattern of blocks, the map that takes flattened values there)."""
        return derived("scalar", (self.key,))

    def blocked(self, blocksize: Sequence[int]) -> tuple[Pattern, Map]:
        """(the blocks of (br, bc) that hold any entry, the map that takes values to their flattened numbers)."""
        return derived("blocked", (self.key,), *_sizes(blocksize))

    def union(self, other: Pattern) -> tuple[Pattern, Map, Map]:
        """(entries of either, the map of our values, the map of the other's)."""
        return derived("union", (self.key, expect("union", other, Pattern)))

    def product(self, other: Pattern) -> Pattern:
        """Where A B may be nonzero."""
        return derived("product", (self.key, expect("product", other, Pattern)))[0]

    def intersection(self, other: Pattern) -> tuple[Pattern, Map, Map]:
        """(entries of both, the map of our values, the map of the other's)."""
        return derived("intersection", (self.key, expect("intersection", other, Pattern)))

    def kron(self, other: Pattern) -> tuple[Pattern, Map]:
        """(the Kronecker product, the map that takes the outer product of the values, by rows, to its slots)."""
        return derived("kron", (self.key, expect("kron", other, Pattern)))

    @staticmethod
    def _stack(function, who, patterns):
        if not hasattr(patterns, "__iter__"):
            raise ArgumentError(f"Pattern.{who}: got a {type(patterns).__name__}; give a list of patterns")
        patterns = list(patterns)
        if not patterns:
            raise ArgumentError(f"Pattern.{who}: the list is empty; give at least one pattern")
        for pattern in patterns:
            expect(f"Pattern.{who}", pattern, Pattern)
        ctx, out = context(), ffi.new("lac_pattern **")
        maps = ffi.new("lac_map *[]", max(len(patterns), 1))
        given = ffi.new("const lac_pattern *[]", [p.c for p in patterns])
        ctx.check(function(ctx.c, len(patterns), given, out, maps))
        return Pattern.wrap(out[0]), [Map.wrap(maps[i]) for i in range(len(patterns))]

    @classmethod
    def _stacked(cls, function, who, patterns):
        """(pattern, the map from the slots of all, one after the other, to its own)."""
        made, maps = cls._stack(function, who, patterns)
        return made, Map(np.concatenate([part.target for part in maps]), made.nnz)

    @classmethod
    def hstack(cls, patterns: Iterable[Pattern]) -> tuple[Pattern, list[Map]]:
        """([A B ...], the maps that take the values of each there)."""
        return cls._stack(lib.lac_pattern_hstack, "hstack", patterns)

    @classmethod
    def vstack(cls, patterns: Iterable[Pattern]) -> tuple[Pattern, list[Map]]:
        """([A; B; ...], the maps that take the values of each there)."""
        return cls._stack(lib.lac_pattern_vstack, "vstack", patterns)

    @classmethod
    def block_diag(cls, patterns: Iterable[Pattern]) -> tuple[Pattern, list[Map]]:
        """(A, B, ... along the diagonal, the maps that take the values of each there)."""
        return cls._stack(lib.lac_pattern_block_diag, "block_diag", patterns)

    @classmethod
    def eye(cls, rows: int, cols: int | None = None, k: int = 0, width: Width = "auto") -> Pattern:
        """The pattern of the k-th diagonal: a matrix whose values are a vector."""
        rows, cols = _sizes((rows, rows if cols is None else cols))
        ctx, out = context(), ffi.new("lac_pattern **")
        ctx.check(lib.lac_pattern_eye(ctx.c, rows, cols, operator.index(k), word("width", width, _WIDTHS), out))
        return cls.wrap(out[0])

    def permute(self, rows: Indices = None, cols: Indices = None) -> tuple[Pattern, Map]:
        """(A[rows, :][:, cols] for permutations, the map that takes values there); None leaves the order."""
        lists = [_list(given, size, what) for given, size, what in zip((rows, cols), self.shape, ("rows", "cols"))]
        for given, size, what in zip(lists, self.shape, ("rows", "cols")):
            if given is not None and given.size != size:
                raise ArgumentError(f"permute: {given.size} {what} came; a permutation has all {size}")
        return self._derive(lib.lac_pattern_permute, *map(_pointer, lists))

    def select(self, rows: Indices = None, cols: Indices = None) -> tuple[Pattern, Map]:
        """(A[rows, :][:, cols] for any lists of indices, the map from its slots to ours); None takes all.

        Indices may repeat, so this map runs backwards: values follow by remap(map, a, "T").
        """
        row, col = (_list(given, n, what) for given, n, what in zip((rows, cols), self.shape, ("rows", "cols")))
        sizes = (0 if row is None else row.size, 0 if col is None else col.size)
        return self._derive(lib.lac_pattern_select, sizes[0], _pointer(row), sizes[1], _pointer(col))

    def row_map(self) -> Map:
        """The map from slots to rows: remap by it sums each row."""
        return derived("row_map", (self.key,))[0]

    def col_map(self) -> Map:
        """The map from slots to columns: remap by it sums each column."""
        return derived("col_map", (self.key,))[0]

    def diagonal(self) -> Map:
        """The map from slots to the min(rows, cols) numbers of the diagonal."""
        return derived("diagonal", (self.key,))[0]

    def dense(self) -> Map:
        """The map from slots to the rows * cols numbers of the dense matrix."""
        return derived("dense", (self.key,))[0]

    def components(self) -> Map:
        """The map from the rows of a square pattern to its connected components, in the order of their first rows."""
        return derived("components", (self.key,))[0]

    def _map(self, function):
        ctx, out = context(), ffi.new("lac_map **")
        ctx.check(function(ctx.c, self.c, out))
        return (Map.wrap(out[0]),)

    def to_ell(self) -> Format:
        """The Format of ELL: as many entries a row as the longest has."""
        return self._format(lib.lac_format_ell)

    def to_sell(self, slice: int = 8, window: int = 1) -> Format:
        """The Format of sliced ELL, rows sorted by length within windows of so many; sell_mm multiplies by it."""
        return self._format(lib.lac_format_sell, slice, window)

    def to_hyb(self, entries_a_row: int = -1) -> Format:
        """The Format of ELL + COO; by default as wide as a third of the rows fill."""
        return self._format(lib.lac_format_hyb, entries_a_row)

    def to_dia(self) -> Format:
        """The Format of diagonals, as SciPy keeps them: reshape the storage to format.shape."""
        return self._format(lib.lac_format_dia)

    def _format(self, function, *arguments):
        from .format import Format

        ctx, out = context(), ffi.new("lac_format **")
        ctx.check(function(ctx.c, self.c, *arguments, out))
        return Format.wrap(out[0])

    def fill(self, ordering: str = "auto") -> tuple[Pattern, Map, Map]:
        """(the structure of the factors in that order, the map that takes values there, the map of its rows to ours).

        gather by the last takes a vector to the order of the factors, scatter_add takes it back.
        """
        from ._options import ORDERINGS

        return derived("fill", (self.key,), word("ordering", ordering, ORDERINGS))

    def _fill(self, ordering):
        ctx, out = context(), ffi.new("lac_pattern **")
        maps = ffi.new("lac_map **"), ffi.new("lac_map **")
        ctx.check(lib.lac_pattern_fill(ctx.c, self.c, ordering, out, *maps))
        return Pattern.wrap(out[0]), Map.wrap(maps[0][0]), Map.wrap(maps[1][0])

    def augmented(self) -> tuple[Pattern, Map]:
        """([[I, A], [A^T, I]], the map that takes (first diagonal, a, its mirror image, second diagonal) there)."""
        return derived("augmented", (self.key,))

    @property
    def nature(self) -> dict[str, Any]:
        """What can be read off a square pattern, as a dict: is_diagonal, is_triangular (by some permutation of rows and
        of columns), is_symmetric, lower and upper bandwidth, diagonals, structural_rank, blocks, components. Found
        once."""
        ctx, out = context(), sized("lac_nature")
        ctx.check(lib.lac_pattern_nature(ctx.c, self.c, out))
        return {name: getattr(out, name) for name in fields(out)}

    def damped(self) -> Pattern:
        """This pattern over the identity, made once: least squares with damp are those of [A; damp]."""
        return derived("damped", (self.key,))[0]

    def _over_identity(self):
        return (Pattern.vstack([self, Pattern.eye(self.shape[1])])[0],)

    def lstsq_solver(self, method: Literal["lsmr", "lsqr"] | None = None, damped: bool = False) -> Solver:
        """The solver of least squares with default options, analysed once. method: None, the direct one of the system
        that augmented() gives; "lsmr" or "lsqr", of the pattern itself or of damped()."""
        return derived("lstsq_solver", (self.key,), method, damped and method is not None)[0]

    def _lstsq_solver(self, method, damped):
        of = self.augmented()[0] if method is None else self.damped() if damped else self
        return (of.solver(method=method),)

    @property
    def is_solved(self) -> bool:
        """Whether the solver with default options is made."""
        return ("solver", (self.key,), ()) in self._derived.solvers

    def solver(self, **options: Any) -> Solver:
        """The solver with these options, those of Solver, analysed once: the pattern keeps the one without options, and
        the latest 16 of those with words and numbers. One with functions or arrays is a new one each time."""
        return solver_of(self, options)

    def _solver(self, options):
        from .solver import Solver

        return (Solver(self, **options),)

    def spread(self, blocksize: Sequence[int]) -> Pattern:
        """The pattern with a block of (br, bc) in place of each entry: values are (nnz, br, bc), slot by slot."""
        return derived("spread", (self.key,), *_sizes(blocksize))[0]

    def _spread(self, blocksize):
        offsets, columns, _ = self.structure()
        shape = tuple([size * block for size, block in zip(self.shape, blocksize)])
        return (Pattern.from_bsr(offsets, columns, shape, blocksize),)

    def _block_places(self):
        """The pattern of its blocks, each of which counts as one."""
        offsets, columns, _ = self.structure()
        return (Pattern.from_csr(offsets, columns, [size // b for size, b in zip(self.shape, self.blocks)]),)

    def __reduce__(self):
        from ._pickled import of_pattern

        return of_pattern(self)

    def __repr__(self):
        blocks = "" if self.blocks == (1, 1) else f", blocks of {self.blocks[0]} x {self.blocks[1]}"
        return f"Pattern({self.shape[0]} x {self.shape[1]}, nnz={self.nnz}{blocks})"


def solver_of(pattern, options):
    """Pattern.solver, of which a compiler needs no more than the pattern's key."""
    given = {name: value for name, value in options.items() if value is not None and (name, value) != _AUTO}
    if all([isinstance(value, _WORDS) for value in given.values()]):
        return derived("solver", (pattern.key,), *sorted(given.items(), key=lambda item: item[0]))[0]
    return pattern._solver(given)[0]
