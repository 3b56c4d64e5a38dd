# SPDX-License-Identifier: Apache-2.0
"""Solvers and factors: analyse a pattern once, factor values, solve in every direction with the same factor."""

import contextlib
import operator

import numpy as np

from ._core import context, ffi, lib, text
from ._handle import Handle, expect, word
from ._numpy import BY_CODE, DTYPES, contiguous
from .errors import ArgumentError, IndexOverflowError, ShapeError
from .pattern import Pattern

_METHODS = {
    name: getattr(lib, "LAC_METHOD_" + name.upper())
    for name in "auto diagonal triangular banded cholesky ldlt lu pivoting_lu cholmod umfpack klu mumps".split()
}
ORDERINGS = {name: getattr(lib, "LAC_ORDER_" + name.upper()) for name in "auto amd metis natural".split()}
_SIDES = {"N": lib.LAC_N, "T": lib.LAC_T, "C": lib.LAC_C, "H": lib.LAC_H}
_TEXTS = ("method", "reason", "warning", "ordering")
_LARGEST = np.iinfo(np.int64).max


def _report(c):
    names = [name for name, _ in ffi.typeof("lac_report").fields]
    return {name: text(getattr(c, name)) if name in _TEXTS else getattr(c, name) for name in names}


def _known(report):
    """What a repr says of a report; some methods foresee no fill."""
    nnz = report["factor_nnz"]
    return f"{report['method']}, factor_nnz={nnz}" if nnz >= 0 else report["method"]


def _number(name, given):
    try:
        return float(given)
    except (TypeError, ValueError):
        raise ArgumentError(f"Solver: {name} is {given!r}; it must be a number") from None


def _bytes(name, given):
    try:
        given = operator.index(given)
    except TypeError:
        raise ArgumentError(f"Solver: {name} is {given!r}; it must be a number of bytes, an integer") from None
    if abs(given) > _LARGEST:
        raise IndexOverflowError(f"Solver: {name} is {given}; it must be within 0..{_LARGEST}")
    return given


@contextlib.contextmanager
def _borrowed(ctx, *arrays):
    """C arrays over the memory of NumPy arrays, while they are used. Inputs that are not aligned are copied."""
    made = [ffi.new("lac_array **") for _ in arrays]
    try:
        for array, out in zip(arrays, made):
            shape, data = ffi.new("int64_t[]", array.shape), ffi.cast("void *", array.ctypes.data)
            own = lib.LAC_COPY if array.ctypes.data % array.itemsize else lib.LAC_BORROW
            ctx.check(lib.lac_array_from(ctx.c, DTYPES[array.dtype], array.ndim, shape, data, own, out))
        yield [out[0] for out in made]
    finally:
        for out in made:
            lib.lac_array_destroy(out)


def _factor(name, make, owner, values):
    """What `make` factors, by a solver or like a factor, of NumPy values [*batch, nnz]."""
    values = contiguous(name, 0, values)
    ctx, out = context(), ffi.new("lac_factor **")
    with _borrowed(ctx, values) as (array,):
        ctx.check(make(ctx.c, owner.c, array, out))
    return Factor.wrap(out[0])


class Solver(Handle):
    """The analysis of a square pattern. It keeps the factors of values that it has just seen and knows them again.

    method: "auto" (the cheapest that fits the pattern and the values), "diagonal", "triangular", "banded", "cholesky",
    "ldlt", "lu", "pivoting_lu", or an engine where it is installed: "cholmod", "umfpack", "klu", "mumps". ordering: "auto",
    "amd", "metis" (nested dissection, where METIS is installed), "natural". A factorisation that is foreseen to need more
    than max_bytes (0: what the machine has free) is refused.
    """

    kind = "lac_solver"

    def __new__(cls, pattern, method="auto", ordering="auto", pivot_tolerance=None, keep_bytes=None, max_bytes=None):
        expect("Solver", pattern, Pattern)
        ctx, out = context(), ffi.new("lac_solver **")
        options = ffi.new("lac_solver_options *", lib.lac_solver_options_defaults())
        options.method, options.ordering = word("method", method, _METHODS), word("ordering", ordering, ORDERINGS)
        if pivot_tolerance is not None:
            options.pivot_tolerance = _number("pivot_tolerance", pivot_tolerance)
        if keep_bytes is not None:
            options.keep_bytes = _bytes("keep_bytes", keep_bytes)
        if max_bytes is not None:
            options.max_bytes = _bytes("max_bytes", max_bytes)
        ctx.check(lib.lac_solver_create(ctx.c, pattern.c, options, out))
        return cls.wrap(out[0])

    def _init(self):
        self._set(shape=self.pattern.shape)

    @property
    def pattern(self):
        return Pattern.wrap(lib.lac_pattern_retain(lib.lac_solver_pattern(self.c)))

    def covering(self, target):
        """A solver of this one's pattern with the entries of another besides; itself where it has them."""
        expect("covering", target, Pattern)
        ctx, out = context(), ffi.new("lac_solver **")
        ctx.check(lib.lac_solver_covering(ctx.c, self.c, target.c, out))
        return Solver.wrap(out[0])

    @property
    def report(self):
        """What is foreseen before there are values, as a dict: the method that they will probably need and why,
        factor_nnz, factor_bytes, flops, warning, ..."""
        return _report(lib.lac_solver_report(self.c))

    def factor(self, values):
        """The factor of NumPy values [*batch, nnz]."""
        return _factor("factor", lib.lac_solver_factor, self, values)

    def __repr__(self):
        return f"Solver({self.shape[0]} x {self.shape[1]}, {_known(self.report)})"


class Factor(Handle):
    """An immutable factor of some values: `solve(factor, values, b)` uses it, and refuses other values.

    Its own methods take and give NumPy arrays and are not differentiable; dtype and batch are those of the values.
    """

    kind = "lac_factor"
    made_by = "Solver.factor makes one"

    def _init(self):
        meta = lib.lac_factor_meta(self.c)
        self._set(shape=self.pattern.shape, dtype=BY_CODE[meta.dtype])
        self._set(batch=tuple(meta.shape[d] for d in range(meta.ndim - 1)), nnz=meta.shape[meta.ndim - 1])

    @property
    def pattern(self):
        return Pattern.wrap(lib.lac_pattern_retain(lib.lac_factor_pattern(self.c)))

    @property
    def report(self):
        """What the solver says of its work, as a dict: method, reason, factor_nnz, factorisations, reuses, ..."""
        return _report(lib.lac_factor_report(self.c))

    def _fill(self, function, *outs):
        ctx = context()
        with _borrowed(ctx, *outs) as arrays:
            ctx.check(function(ctx.c, self.c, *arrays))
        return [out[()] for out in outs]

    def _real(self):
        return np.empty(self.batch, np.empty(0, self.dtype).real.dtype)

    def solve(self, b, side="N"):
        """op(A)^-1 b: b (*batch, n, k), or one vector (n)."""
        b = contiguous("Factor.solve", 0, b)
        rows = b[:, None] if b.ndim == 1 else b
        try:
            batch = np.broadcast_shapes(self.batch, rows.shape[:-2])
        except ValueError:
            raise ShapeError(
                f"Factor.solve: the batch of b, {rows.shape[:-2]}, does not go with that of the factor, {self.batch}"
            ) from None
        ctx, x = context(), np.empty((*batch, *rows.shape[-2:]), rows.dtype)
        with _borrowed(ctx, rows, x) as arrays:
            ctx.check(lib.lac_factor_solve(ctx.c, self.c, word("side", side, _SIDES), *arrays))
        return x[..., 0] if b.ndim == 1 else x

    def slogdet(self):
        """(sign, logabs) of each matrix: det A = sign exp(logabs)."""
        logabs, sign = self._fill(lib.lac_factor_logdet, self._real(), np.empty(self.batch, self.dtype))
        return sign, logabs

    def logdet(self):
        """log|det A| of each matrix; of complex matrices log|det A| + i arg(det A)."""
        sign, logabs = self.slogdet()
        return logabs + 1j * np.angle(sign) if self.dtype.kind == "c" else logabs

    def selected_inverse(self):
        """A^-T where A has entries: in the slot of (i, j) stands (A^-1)(j, i)."""
        return self._fill(lib.lac_factor_selected_inverse, np.empty((*self.batch, self.nnz), self.dtype))[0]

    @property
    def rcond(self):
        """An estimate of 1 / (norm(A, 1) norm(inv(A), 1)) of each matrix."""
        return self._fill(lib.lac_factor_rcond, self._real())[0]

    def refactor(self, values):
        """A factor of other NumPy values of the same shape and dtype, by the choices of this one."""
        return _factor("refactor", lib.lac_factor_refactor, self, values)

    def __repr__(self):
        batch = f", batch={self.batch}" if self.batch else ""
        return f"Factor({self.shape[0]} x {self.shape[1]}, {self.dtype}{batch}, {_known(self.report)})"
