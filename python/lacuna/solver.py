# SPDX-License-Identifier: Apache-2.0
"""Solvers and factors: analyse a pattern once, factor values, solve in every direction with the same factor."""

from ._core import context, ffi, lib, text
from ._handle import Handle, expect, word
from ._numpy import DTYPES, contiguous
from .pattern import Pattern

_METHODS = {
    name: getattr(lib, "LAC_METHOD_" + name.upper())
    for name in "auto diagonal triangular banded cholesky ldlt lu pivoting_lu cholmod umfpack klu mumps".split()
}
ORDERINGS = {name: getattr(lib, "LAC_ORDER_" + name.upper()) for name in "auto amd metis natural".split()}
_TEXTS = ("method", "reason", "warning", "ordering")


def _report(c):
    names = [name for name, _ in ffi.typeof("lac_report").fields]
    return {name: text(getattr(c, name)) if name in _TEXTS else getattr(c, name) for name in names}


def _factor(name, make, owner, values):
    """What `make` factors, by a solver or like a factor, of NumPy values [*batch, nnz]."""
    values = contiguous(name, 0, values)
    ctx, array, out = context(), ffi.new("lac_array **"), ffi.new("lac_factor **")
    shape, data = ffi.new("int64_t[]", values.shape), ffi.from_buffer(values)
    ctx.check(lib.lac_array_from(ctx.c, DTYPES[values.dtype], values.ndim, shape, data, lib.LAC_COPY, array))
    try:
        ctx.check(make(ctx.c, owner.c, array[0], out))
    finally:
        lib.lac_array_destroy(array)
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
            options.pivot_tolerance = pivot_tolerance
        if keep_bytes is not None:
            options.keep_bytes = keep_bytes
        if max_bytes is not None:
            options.max_bytes = max_bytes
        ctx.check(lib.lac_solver_create(ctx.c, pattern.c, options, out))
        return cls.wrap(out[0])

    def _init(self):
        self._set(shape=self.pattern.shape)

    @property
    def pattern(self):
        return Pattern.wrap(lib.lac_pattern_retain(lib.lac_solver_pattern(self.c)))

    @property
    def report(self):
        """What is foreseen, before there are values, as a dict: method, factor_nnz, factor_bytes, flops, warning, ..."""
        return _report(lib.lac_solver_report(self.c))

    def covering(self, target):
        """A solver of this one's pattern with the entries of another besides; itself where it has them."""
        expect("covering", target, Pattern)
        ctx, out = context(), ffi.new("lac_solver **")
        ctx.check(lib.lac_solver_covering(ctx.c, self.c, target.c, out))
        return Solver.wrap(out[0])

    def factor(self, values):
        """The factor of NumPy values [*batch, nnz]."""
        return _factor("factor", lib.lac_solver_factor, self, values)


class Factor(Handle):
    """An immutable factor of some values: `solve(factor, values, b)` uses it, and refuses other values."""

    kind = "lac_factor"
    made_by = "Solver.factor makes one"

    def _init(self):
        self._set(shape=self.pattern.shape)

    @property
    def pattern(self):
        return Pattern.wrap(lib.lac_pattern_retain(lib.lac_factor_pattern(self.c)))

    @property
    def report(self):
        """What the solver says of its work, as a dict: method, reason, factor_nnz, factorisations, reuses, ..."""
        return _report(lib.lac_factor_report(self.c))

    def refactor(self, values):
        """A factor of other NumPy values of the same shape and dtype, by the choices of this one."""
        return _factor("refactor", lib.lac_factor_refactor, self, values)
