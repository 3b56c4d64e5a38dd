# SPDX-License-Identifier: Apache-2.0
"""Solvers and factors: analyse a pattern once, factor values, solve in every direction with the same factor."""

import contextlib
import operator

import numpy as np

from ._callbacks import APPLY, PROGRESS, Callback
from ._core import check, context, ffi, fields, lib, sized, text
from ._handle import expect, form, Handle, word
from ._numpy import BY_CODE, DTYPES, contiguous
from .errors import ArgumentError, DtypeError, IndexOverflowError, ShapeError
from .pattern import Pattern



def _words(enum, prefix):
    """The words of a C enumeration: {"amd": LAC_ORDER_AMD, ...}."""
    return {name[len(prefix) :].lower(): code for code, name in ffi.typeof(enum).elements.items()}


_DIRECT = frozenset(
    "direct diagonal triangular banded cholesky ldlt lu block_lu column_lu pivoting_lu "
    "cholmod umfpack klu mumps".split()
)
ORDERINGS = _words("lac_ordering", "LAC_ORDER_")
_KINDS = _words("lac_multigrid_kind", "LAC_MULTIGRID_")
_ENDINGS = {code: name for name, code in _words("lac_ending", "LAC_ENDING_").items()}
_ITERATION = ("rtol", "atol", "adjoint_rtol", "max_iterations", "restart", "look_every")
_NUMBERS = ("omega", "block", "degree", "strength", "coarse_rows", "max_levels")
_ITERATING = ("preconditioner", "null_space", "left_null_space", "near_null", "coordinates", "progress")
_COLUMNS = ("null_space", "left_null_space", "near_null", "coordinates")
_ALL = (
    *("method", "ordering", "pivot_tolerance", "accept_singular", "assume_hermitian", "keep_bytes", "max_bytes"),
    *_ITERATION, *_NUMBERS, *_ITERATING, "multigrid", "full_precision", "accept_unconverged",
)  # fmt: skip
_TEXTS = ("method", "reason", "warning", "ordering", "preconditioner")
_LARGEST, _LARGEST_INT = np.iinfo(np.int64).max, np.iinfo(np.intc).max


def _report(ask, c):
    """What `ask` reports of a solver or factor, as a dict."""
    out = sized("lac_report")
    check(ask(c, out))
    return {name: text(getattr(out, name)) if name in _TEXTS else getattr(out, name) for name in fields(out)}


def _known(report):
    """What a repr says of a report; some methods foresee no fill."""
    nnz = report["factor_nnz"]
    return f"{report['method']}, factor_nnz={nnz}" if nnz >= 0 else report["method"]


def _number(name, given):
    try:
        return float(given)
    except (TypeError, ValueError):
        raise ArgumentError(f"Solver: {name} is {given!r}; it must be a number") from None


def _integer(name, given, largest=_LARGEST, what="an integer"):
    try:
        given = operator.index(given)
    except TypeError:
        raise ArgumentError(f"Solver: {name} is {given!r}; it must be {what}") from None
    if abs(given) > largest:
        raise IndexOverflowError(f"Solver: {name} is {given}; it must be within 0..{largest}")
    return given


@contextlib.contextmanager
def _borrowed(ctx, *arrays):
    """C arrays over the memory of NumPy arrays, while they are used. Inputs that are not aligned are copied."""
    made = [ffi.new("lac_array **") for _ in arrays]
    try:
        for array, out in zip(arrays, made):
            shape, data = ffi.new("int64_t[]", array.shape), ffi.cast("void *", array.ctypes.data)
            own = lib.LAC_OWNERSHIP_COPY if array.ctypes.data % array.itemsize else lib.LAC_OWNERSHIP_BORROW
            ctx.check(lib.lac_array_from(ctx.c, DTYPES[array.dtype], array.ndim, shape, data, own, out))
        yield [out[0] for out in made]
    finally:
        for out in made:
            lib.lac_array_destroy(out)


def _factor(name, make, owner, values):
    """What `make` factors, by a solver or like a factor, of NumPy values [*batch, nnz]."""
    values = contiguous(name, "values", values)
    ctx, out = context(), ffi.new("lac_factor **")
    with _borrowed(ctx, values) as (array,):
        ctx.check(make(ctx.c, owner.c, array, out))
    return Factor.wrap(out[0], owner.held)


def _set_given(struct, given, names):
    """The options that are given, into a C struct."""
    kinds = {name: field.type.cname for name, field in ffi.typeof(struct).fields}
    for name in names:
        if given.get(name) is None:
            continue
        value = given.pop(name)
        if kinds[name] == "double":
            setattr(struct, name, _number(name, value))
        else:
            setattr(struct, name, _integer(name, value, _LARGEST_INT if kinds[name] == "int" else _LARGEST))


def _flag(name, given):
    if given is None or isinstance(given, (bool, np.bool_)):
        return bool(given)
    raise ArgumentError(f"Solver: {name} is {given!r}; it must be True or False")


def _require_iterating(method, given):
    """A method that does not iterate would leave these options unread."""
    if method in _DIRECT:
        for name in _ITERATING:
            if given.get(name) is not None:
                raise ArgumentError(
                    f"Solver: {name} is for methods that iterate, and {method!r} does not; leave it out"
                )


def _callbacks(options, given):
    """The Python functions among the options, and those of a Factor; the solver must hold what comes back."""
    held = []
    chosen, progress = given.get("preconditioner"), given.pop("progress", None)
    if isinstance(chosen, Factor):
        held.append(chosen.c)
    elif callable(chosen):
        held.append(Callback(given.pop("preconditioner")))
        options.preconditioner.apply, options.preconditioner.apply_data = APPLY, held[-1].data
    if progress is not None:
        if not callable(progress):
            raise ArgumentError(f"Solver: progress is {progress!r}; it must be a function of (iteration, residual)")
        held.append(Callback(progress))
        options.iteration.progress, options.iteration.progress_data = PROGRESS, held[-1].data
    return tuple(held)


def _named(what, name):
    """The name of a method as C reads it; C knows which there are. It lives as long as what comes back."""
    if name is None:
        return ffi.NULL
    if not isinstance(name, str):
        raise ArgumentError(f"Solver: {what} is {name!r}; it must be the name of one")
    return ffi.new("char[]", name.encode())


def _preconditioner(options, given):
    """A name, a Factor, or nothing. What comes back must live while C reads the options."""
    chosen, name = given.pop("preconditioner", None), None
    if isinstance(chosen, Factor):
        options.preconditioner.factor = chosen.c
    else:
        name = options.preconditioner.method = _named("preconditioner", chosen)
    options.preconditioner.kind = word("multigrid", given.pop("multigrid", None) or "auto", _KINDS)
    options.preconditioner.full_precision = _flag("full_precision", given.pop("full_precision", None))
    options.iteration.accept_unconverged = _flag("accept_unconverged", given.pop("accept_unconverged", None))
    return name


def _columns(name, array):
    array = contiguous("Solver", name, array)
    return array[:, None].copy() if array.ndim == 1 else array


@contextlib.contextmanager
def _owned(ctx, arrays):
    """C arrays with memory of their own, by name, while somebody takes hold of them."""
    made = {name: ffi.new("lac_array **") for name in arrays}
    try:
        for name, array in arrays.items():
            shape, data = ffi.new("int64_t[]", array.shape), ffi.cast("void *", array.ctypes.data)
            described = DTYPES[array.dtype], array.ndim, shape
            ctx.check(lib.lac_array_from(ctx.c, *described, data, lib.LAC_OWNERSHIP_COPY, made[name]))
        yield {name: out[0] for name, out in made.items()}
    finally:
        for out in made.values():
            lib.lac_array_destroy(out)


class Solver(Handle):
    """The analysis of a pattern. It keeps the factors of values that it has just seen and knows them again.

    method: "auto" (the cheapest that fits the pattern and the values), "direct" (the same without iterating), or by
    name "diagonal", "triangular", "banded", "cholesky", "ldlt", "lu", "block_lu", "column_lu", "pivoting_lu", or an
    engine where it is installed: "cholmod", "umfpack", "klu", "mumps". ordering: "auto", "amd", "metis" (nested
    dissection, where METIS is installed), "natural". A system that is singular to working precision is a SingularError:
    give its null_space, or add to its diagonal; accept_singular=True takes what comes, with an AccuracyWarning. Values
    count as Hermitian where a_ij and conj(a_ji) differ by 8 roundings of the larger or of the root of |a_ii a_jj|;
    assume_hermitian=True says that they are. A factorisation that is foreseen to need more than max_bytes (0: what the
    machine has free) is refused; "auto" iterates instead on what is suited for it. Zero is the default of every number;
    keep_bytes=-1 keeps no factor, pivot_tolerance=-1 takes any diagonal as pivot.

    Or one that iterates until |b - A x| <= max(rtol |b|, atol) (neither given: rtol=1e-10, in single precision 1e-5):
    "cg", "flexible_cg", "bicgstab", "gmres", "flexible_gmres", "minres", and for matrices of any shape "lsmr", "lsqr".
    Derivatives are solved for to adjoint_rtol, rtol where it is not given, and without atol. Further: max_iterations,
    restart, look_every, accept_unconverged, null_space and left_null_space (n, m).

    preconditioner: "auto", "identity", "jacobi", "block_jacobi" (block), "ssor" (omega), "ic0", "ilu0", "chebyshev"
    (degree), "multigrid" (multigrid="pairwise" or "smoothed", strength, full_precision, coarse_rows, max_levels), a
    direct method, a Factor, or a function (x, op) -> y of NumPy arrays [items, n, k] that applies op(M)^-1, op being
    "N", "T", "C" or "H". Each that has a name is a method too: its factor's solve applies it once.

    Hints for multigrid, which do not make "auto" iterate: near_null (n, m), vectors that the matrix takes nearly to
    zero, or coordinates (nodes, 2 or 3), from which the rigid motions of an elastic body follow.

    progress: a function (iteration, residual) that is called at each look at the residual; a true result ends the
    solve. What such a function raises ends the solve and is raised by it.
    """

    kind = "lac_solver"

    def __new__(cls, pattern, method="auto", ordering="auto", **given):
        expect("Solver", pattern, Pattern)
        ctx, out = context(), ffi.new("lac_solver **")
        options, asked = sized("lac_solver_options"), _named("method", method)
        options.method, options.ordering = asked, word("ordering", ordering, ORDERINGS)
        _require_iterating(method, given)
        arrays = {
            name: _columns(name, given.pop(name))
            for name in _COLUMNS
            if given.get(name) is not None
        }
        if given.get("pivot_tolerance") is not None:
            options.pivot_tolerance = _number("pivot_tolerance", given.pop("pivot_tolerance"))
        for name in ("accept_singular", "assume_hermitian"):
            setattr(options, name, _flag(name, given.pop(name, None)))
        for name in ("keep_bytes", "max_bytes"):
            if given.get(name) is not None:
                setattr(options, name, _integer(name, given.pop(name), what="a number of bytes, an integer"))
        _set_given(options.iteration, given, _ITERATION)
        _set_given(options.preconditioner, given, _NUMBERS)
        callbacks = _callbacks(options, given)
        beside = _preconditioner(options, given)
        left = [name for name, value in given.items() if value is not None]
        if left:
            raise TypeError(f"Solver: unexpected option {left[0]!r}; there are {', '.join(_ALL)}")
        with _owned(ctx, arrays) as held:
            for name, array in held.items():
                is_hint = name in ("near_null", "coordinates")
                setattr(options.preconditioner if is_hint else options.iteration, name, array)
            ctx.check(lib.lac_solver_create(ctx.c, pattern.c, options, out))
        del asked, beside  # names that C has read
        return cls.wrap(out[0], callbacks)

    def _init(self):
        pattern = self.pattern
        self._set(shape=pattern.shape, sizes=pattern.sizes)

    @property
    def pattern(self):
        return Pattern.wrap(lib.lac_pattern_retain(lib.lac_solver_pattern(self.c)))

    def covering(self, target):
        """A solver of this one's pattern with the entries of another besides; itself where it has them."""
        expect("covering", target, Pattern)
        ctx, out = context(), ffi.new("lac_solver **")
        ctx.check(lib.lac_solver_covering(ctx.c, self.c, target.c, out))
        return Solver.wrap(out[0], self.held)

    @property
    def report(self):
        """What is foreseen before there are values, as a dict: the method that they will probably need and why,
        factor_nnz, factor_bytes, flops, warning, ..."""
        return _report(lib.lac_solver_report, self.c)

    def factor(self, values):
        """The factor of NumPy values [*batch, nnz]."""
        return _factor("Solver.factor", lib.lac_solver_factor, self, values)

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
        return _report(lib.lac_factor_report, self.c)

    def _fill(self, function, *outs):
        ctx = context()
        with _borrowed(ctx, *outs) as arrays:
            ctx.check(function(ctx.c, self.c, *arrays))
        ctx.warn()
        return [out[()] for out in outs]

    def _real(self):
        return np.empty(self.batch, np.empty(0, self.dtype).real.dtype)

    def _promoted(self, who, name, given):
        """An array in the factor's dtype where nothing is lost by it, as SciPy does: integers, fewer digits, reals."""
        array = np.asanyarray(given)
        if array.dtype != self.dtype and np.can_cast(array.dtype, self.dtype):
            given = array.astype(self.dtype)
        return contiguous(who, name, given)

    def _place(self, who, b, code):
        """b as (*batch, m, k), an empty x that fits it, and whether b is one vector."""
        b = self._promoted(who, "b", b)
        if b.ndim == 0:
            raise ShapeError(f"{who}: b is one number; it must be (*batch, n, k), or one vector (n)")
        rows = b[:, None] if b.ndim == 1 else b
        try:
            batch = np.broadcast_shapes(self.batch, rows.shape[:-2])
        except ValueError:
            raise ShapeError(
                f"{who}: the batch of b, {rows.shape[:-2]}, does not go with that of the factor, {self.batch}"
            ) from None
        n = self.shape[1 if code in (lib.LAC_PLAIN, lib.LAC_CONJUGATED) else 0]
        return np.ascontiguousarray(rows), np.empty((*batch, n, rows.shape[-1]), rows.dtype), b.ndim == 1

    def solve(self, b, op="N"):
        """op(A)^-1 b: b (*batch, n, k), or one vector (n), in the factor's dtype or one that goes into it without
        loss."""
        code = form(op)
        rows, x, is_vector = self._place("Factor.solve", b, code)
        ctx = context()
        with _borrowed(ctx, rows, x) as arrays:
            ctx.check(lib.lac_factor_solve(ctx.c, self.c, arrays[0], code, arrays[1]))
        ctx.warn()
        return x[..., 0] if is_vector else x

    @staticmethod
    def _start(x0, x):
        if x0.dtype != x.dtype:
            raise DtypeError(f"Factor.iterate: x0 is {x0.dtype} and b is {x.dtype}; they must agree")
        try:
            return np.ascontiguousarray(np.broadcast_to(x0, x.shape))
        except ValueError:
            raise ShapeError(f"Factor.iterate: x0 has shape {x0.shape}; it must go with that of x, {x.shape}") from None

    def iterate(self, b, x0=None, op="N"):
        """(x, report): the same from a start x0. What was not reached is in the report, a dict, and is no error."""
        code = form(op)
        rows, x, is_vector = self._place("Factor.iterate", b, code)
        start = []
        if x0 is not None:
            x0 = self._promoted("Factor.iterate", "x0", x0)
            start = [self._start(x0[:, None] if x0.ndim == 1 else x0, x)]
        ctx, report = context(), sized("lac_solve_report")
        with _borrowed(ctx, rows, x, *start) as arrays:
            begin = arrays[2] if start else ffi.NULL
            ctx.check(lib.lac_factor_iterate(ctx.c, self.c, arrays[0], begin, code, arrays[1], report))
        told = {name: getattr(report, name) for name in fields(report)}
        told.update(ending=_ENDINGS[report.ending], reason=text(report.reason), warning=text(report.warning))
        lib.lac_context_clear_warning(ctx.c)  # the report has it
        return (x[..., 0] if is_vector else x), told

    def describe(self):
        """The levels of a multigrid hierarchy as a table; "" for other factors."""
        ctx, out = context(), ffi.new("const char **")
        ctx.check(lib.lac_factor_describe(ctx.c, self.c, out))
        return text(out[0])

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
        return _factor("Factor.refactor", lib.lac_factor_refactor, self, values)

    def __repr__(self):
        batch = f", batch={self.batch}" if self.batch else ""
        return f"Factor({self.shape[0]} x {self.shape[1]}, {self.dtype}{batch}, {_known(self.report)})"
