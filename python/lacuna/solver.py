# SPDX-License-Identifier: Apache-2.0
"""Solvers and factors: analyse a pattern once, factor values, solve in every direction with the same factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._core import check, context, ffi, fields, lib, sized, text
from ._handle import HANDLES, Handle, expect, form
from ._numpy import BY_CODE, DTYPES, contiguous, promoted
from ._options import COLUMNS, Borrowed, chosen, filled, words
from ._progress import Bars, ticking
from .errors import DtypeError, ShapeError
from .pattern import Pattern

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Form = Literal["N", "T", "H", "plain", "transposed", "conjugated", "adjoint"]

_ENDINGS = {code: name for name, code in words("lac_ending", "LAC_ENDING_").items()}
_SOLVER, _FACTOR = ffi.typeof("lac_solver **"), ffi.typeof("lac_factor **")
_FORWARD = lib.LAC_PLAIN, lib.LAC_CONJUGATED
_AUTO, _DEFAULTS = ("auto", "auto"), (ffi.NULL, None)  # method and ordering, and how C is told of them
_TEXTS = ("method", "reason", "warning", "ordering", "preconditioner")


def _report(ask, c):
    """What `ask` reports of a solver or factor, as a dict."""
    out = sized("lac_report")
    check(ask(c, out))
    return {name: text(getattr(out, name)) if name in _TEXTS else getattr(out, name) for name in fields(out)}


def read_report(report):
    """What is reported of a solve, as a dict."""
    told = {name: getattr(report, name) for name in fields(report)}
    words = {name: text(told[name]) for name in ("reason", "warning", "method", "preconditioner")}
    return told | words | {"ending": _ENDINGS[report.ending]}


def _known(report):
    """What a repr says of a report; some methods foresee no fill."""
    nnz = report["factor_nnz"]
    return f"{report['method']}, factor_nnz={nnz}" if nnz >= 0 else report["method"]


def _is_numbers(array, shape):
    """Whether C reads the numbers of an array as they lie, and no batch is asked for: the way of most calls."""
    return type(array) is np.ndarray and array.shape == shape and array.flags.c_contiguous


def _own(name, value):
    """An option as it is now: arrays may be written to."""
    return np.array(promoted("Solver", name, value)) if name in COLUMNS and value is not None else value


def _has_bars(held):
    return any(isinstance(getattr(what, "function", None), Bars) for what in held)


def _factor(name, make, owner, values):
    """What `make` factors, by a solver or like a factor, of NumPy values [*batch, nnz]."""
    values = promoted(name, "values", values)
    ctx, out = context(), ffi.new(_FACTOR)
    with Borrowed(ctx, values) as (array,), ticking("lacuna: factor", _has_bars(owner.held)):
        ctx.check(make(ctx.c, owner.c, array, out))
    ctx.warn()
    return Factor.wrap(out[0], owner.held)


def _context_of(pattern):
    """The context of the device that alone has a pattern's indices, else the host's."""
    device = lib.lac_pattern_device(pattern.c)
    if device < 0:
        return context()
    import torch

    from lacuna.torch._tensors import context_on

    return context_on(torch.device("cuda", device))


class Solver(Handle):
    """The analysis of a pattern. It keeps the factors of values that it has just seen and knows them again. A pickle
    of it has its pattern and its options, and is analysed anew.

    method: "auto" (the cheapest that fits the pattern and the values), "direct" (the same without iterating), or by
    name "diagonal", "triangular", "banded", "cholesky", "ldlt", "lu", "block_lu", "column_lu", "pivoting_lu",
    "batched" (small matrices, many of them, on a CUDA device), or an engine where it is installed: "cholmod",
    "umfpack", "klu", "mumps", "cudss". ordering: "auto", "amd", "metis" (nested dissection, where METIS is
    installed), "natural". A system that is singular to working precision is a SingularError: give its null_space,
    or add to its diagonal; accept_singular=True takes what comes, with an AccuracyWarning. Values count as
    Hermitian where a_ij and conj(a_ji) differ by 8 roundings of the larger or of the root of |a_ii a_jj|;
    assume_hermitian=True says that they are. A factorisation that is foreseen to need more than max_bytes (0: what
    the machine has free) is refused; "auto" iterates instead on what is suited for it. Zero is the default of every
    number; keep_bytes=-1 keeps no factor, pivot_tolerance=-1 takes any diagonal as pivot.

    Or one that iterates until |b - A x| <= max(rtol |b|, atol) (neither given: rtol=1e-10, in single precision 1e-5):
    "cg", "flexible_cg", "bicgstab", "gmres", "flexible_gmres", "minres", and for matrices of any shape "lsmr", "lsqr".
    Derivatives are solved for to adjoint_rtol, rtol where it is not given, and without atol. Further: max_iterations,
    restart, look_every, accept_unconverged, null_space and left_null_space (n, m), low_memory: less memory in more
    time (docs/iterative.md).

    preconditioner: "auto", "identity", "jacobi", "block_jacobi" (block), "ssor" (omega), "ic0", "ilu0", "chebyshev"
    (degree), "multigrid" (multigrid="grid", "pairwise" or "smoothed", strength, full_precision, coarse_rows,
    max_levels), a direct method, a Factor, or a function (x, op) -> y of NumPy arrays [items, n, k] that applies
    op(M)^-1, op being "N", "T", "H" or "conjugated". Each that has a name is a method too: its factor's solve applies
    it once.

    Hints for multigrid, which do not make "auto" iterate: near_null (n, m), vectors that the matrix takes nearly to
    zero, or coordinates (nodes, 2 or 3), from which the rigid motions of an elastic body follow.

    progress: True shows analyses, factorisations (Solver.factor) and iterations that take more than half a second, by
    tqdm where it is installed, else in a line on stderr. Or a function (iteration, residual) that is called at each
    look at the residual; a true result ends the solve. What it raises ends the solve and is raised by it.

    >>> pattern = lacuna.Pattern.from_coo([0, 0, 1, 1], [0, 1, 0, 1], (2, 2))
    >>> solver = lacuna.Solver(pattern, method="cg", preconditioner="jacobi", rtol=1e-12)
    >>> lacuna.solve(solver, np.array([2.0, 1.0, 1.0, 2.0]), np.array([3.0, 3.0])).round(6)
    array([1., 1.])
    """

    shape: tuple[int, int]

    kind = "lac_solver"

    def __new__(cls, pattern: Any, method: str = "auto", ordering: str = "auto", **given: Any) -> Solver:
        if not isinstance(pattern, Pattern):  # a matrix stands for its own
            if hasattr(pattern, "with_values"):
                pattern = pattern.pattern
            elif hasattr(pattern, "tocoo"):
                pattern = Pattern.from_scipy(pattern)
            expect("Solver", pattern, Pattern)
        ctx, out = _context_of(pattern), ffi.new(_SOLVER)
        if not given:
            options, _name = _DEFAULTS if (method, ordering) == _AUTO else chosen(method, ordering)
            ctx.check(lib.lac_solver_create(ctx.c, pattern.c, options, out))
            return cls.wrap(out[0])._asked(method, ordering)
        bars, asked = given.get("progress") is True, {name: _own(name, value) for name, value in given.items()}
        with filled("Solver", ctx, method, ordering, given) as (options, callbacks), ticking("lacuna: analysis", bars):
            ctx.check(lib.lac_solver_create(ctx.c, pattern.c, options, out))
        return cls.wrap(out[0], callbacks)._asked(method, ordering, **asked)

    def _asked(self, method="auto", ordering="auto", **given):
        """Itself, which remembers its options: those are its pickle."""
        words = {"method": method, "ordering": ordering}
        self._set(_options={name: word for name, word in words.items() if word != "auto"} | given)
        return self

    def __reduce__(self):
        from ._pickled import of_solver

        return of_solver(self)

    def _init(self):
        pattern = HANDLES.get(lib.lac_pattern_id(lib.lac_solver_pattern(self.c))) or self.pattern
        self._set(shape=pattern.shape, sizes=pattern.sizes, _count=pattern.nnz if pattern.sizes else -1)

    @staticmethod
    def sized(rows, cols, nnz):
        return {"shape": (rows, cols)}

    @property
    def pattern(self) -> Pattern:
        """What it was made of."""
        return Pattern.wrap(lib.lac_pattern_retain(lib.lac_solver_pattern(self.c)))

    def covering(self, target: Pattern) -> Solver:
        """A solver of this one's pattern with the entries of another besides; itself where it has them."""
        expect("covering", target, Pattern)
        ctx, out = context(), ffi.new("lac_solver **")
        ctx.check(lib.lac_solver_covering(ctx.c, self.c, target.c, out))
        found = Solver.wrap(out[0], self.held)
        return found if "_options" in vars(found) else found._asked(**self._options)

    @property
    def report(self) -> dict[str, Any]:
        """What is foreseen before there are values, as a dict: the method that they will probably need and why,
        factor_nnz, factor_bytes, flops, warning, ..."""
        return _report(lib.lac_solver_report, self.c)

    def factor(self, values: ArrayLike) -> Factor:
        """The factor of NumPy values [*batch, nnz]: what solve(factor, values, b) takes, and Factor.solve uses."""
        if self.held or not _is_numbers(values, (self._count,)) or values.dtype not in DTYPES:
            return _factor("Solver.factor", lib.lac_solver_factor, self, values)
        ctx, out = context(), ffi.new(_FACTOR)
        data = ffi.from_buffer(values)
        ctx.check(lib.lac_solver_factor_numbers(ctx.c, self.c, DTYPES[values.dtype], data, out))
        ctx.warn()
        return Factor.wrap(out[0])

    def __repr__(self):
        return f"Solver({self.shape[0]} x {self.shape[1]}, {_known(self.report)})"


class Factor(Handle):
    """An immutable factor of some values: `solve(factor, values, b)` uses it, and refuses other values.

    Its own methods take and give NumPy arrays and are not differentiable; dtype and batch are those of the values.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    batch: tuple[int, ...]
    nnz: int

    kind = "lac_factor"
    made_by = "Solver.factor makes one"

    def _init(self):
        meta, pattern = lib.lac_factor_meta(self.c), lib.lac_factor_pattern(self.c)
        *batch, nnz = [meta.shape[d] for d in range(meta.ndim)]
        is_single = not batch and lib.lac_pattern_nnz(pattern) == nnz  # one matrix without blocks
        shape = lib.lac_pattern_rows(pattern), lib.lac_pattern_cols(pattern)
        self._set(
            shape=shape, dtype=BY_CODE[meta.dtype], batch=tuple(batch), nnz=nnz, _count=nnz if is_single else -1
        )

    @property
    def pattern(self) -> Pattern:
        """What it was made of."""
        return Pattern.wrap(lib.lac_pattern_retain(lib.lac_factor_pattern(self.c)))

    @property
    def report(self) -> dict[str, Any]:
        """What the solver says of its work, as a dict: method, reason, factor_nnz, factorisations, reuses, ..."""
        return _report(lib.lac_factor_report, self.c)

    def _fill(self, function, *outs):
        ctx = context()
        with Borrowed(ctx, *outs) as arrays:
            ctx.check(function(ctx.c, self.c, *arrays))
        ctx.warn()
        return [out[()] for out in outs]

    def _real(self):
        return np.empty(self.batch, np.empty(0, self.dtype).real.dtype)

    def _promoted(self, who, name, given):
        """An array in the factor's dtype where nothing is lost by it, as SciPy does: integers, fewer digits, reals."""
        if type(given) is np.ndarray and given.dtype == self.dtype:
            return contiguous(who, name, given)
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
        batch = self._joint(who, rows.shape[:-2]) if self.batch else rows.shape[:-2]
        n = self.shape[1 if code in _FORWARD else 0]
        return rows, np.empty((*batch, n, rows.shape[-1]), rows.dtype), b.ndim == 1

    def _joint(self, who, batch):
        try:
            return np.broadcast_shapes(self.batch, batch)
        except ValueError:
            raise ShapeError(
                f"{who}: the batch of b, {batch}, does not go with that of the factor, {self.batch}"
            ) from None

    def solve(self, b: ArrayLike, op: Form = "N") -> NDArray[Any]:
        """op(A)^-1 b: b (*batch, n, k), or one vector (n), in the factor's dtype or one that goes into it without
        loss. Not differentiable: lacuna.solve(factor, values, b) is.

        >>> pattern = lacuna.Pattern.from_coo([0, 0, 1], [0, 1, 1], (2, 2))
        >>> factor = pattern.solver().factor(np.array([2.0, 1.0, 4.0]))
        >>> factor.solve([4, 4]), factor.solve([4, 4], op="T"), factor.slogdet()
        (array([1.5, 1. ]), array([2. , 0.5]), (1.0, 2.0794415416798357))
        """
        code, ctx = form(op), context()
        rows, cols = self.shape if code in _FORWARD else self.shape[::-1]
        if self._count >= 0 and _is_numbers(b, (rows,)) and b.dtype == self.dtype:
            x = np.empty(cols, b.dtype)
            ctx.check(lib.lac_factor_solve_numbers(ctx.c, self.c, 1, ffi.from_buffer(b), code, ffi.from_buffer(x)))
            ctx.warn()
            return x
        rows, x, is_vector = self._place("Factor.solve", b, code)
        with Borrowed(ctx, rows, x) as arrays:
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

    def iterate(
        self, b: ArrayLike, x0: ArrayLike | None = None, op: Form = "N"
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """(x, report): the same from a start x0. What was not reached is in the report, a dict, and is no error."""
        code = form(op)
        rows, x, is_vector = self._place("Factor.iterate", b, code)
        start = []
        if x0 is not None:
            x0 = self._promoted("Factor.iterate", "x0", x0)
            start = [self._start(x0[:, None] if x0.ndim == 1 else x0, x)]
        ctx, report = context(), sized("lac_solve_report")
        with Borrowed(ctx, rows, x, *start) as arrays:
            begin = arrays[2] if start else ffi.NULL
            ctx.check(lib.lac_factor_iterate(ctx.c, self.c, arrays[0], begin, code, arrays[1], report))
        lib.lac_context_clear_warning(ctx.c)  # the report has it
        return (x[..., 0] if is_vector else x), read_report(report)

    def describe(self) -> str:
        """The levels of a multigrid hierarchy as a table; "" for other factors."""
        ctx, out = context(), ffi.new("const char **")
        ctx.check(lib.lac_factor_describe(ctx.c, self.c, out))
        return text(out[0])

    def slogdet(self) -> tuple[Any, Any]:
        """(sign, logabs) of each matrix: det A = sign exp(logabs)."""
        logabs, sign = self._fill(lib.lac_factor_logdet, self._real(), np.empty(self.batch, self.dtype))
        return sign, logabs

    def logdet(self) -> Any:
        """log|det A| of each matrix; of complex matrices log|det A| + i arg(det A)."""
        sign, logabs = self.slogdet()
        return logabs + 1j * np.angle(sign) if self.dtype.kind == "c" else logabs

    def selected_inverse(self) -> NDArray[Any]:
        """A^-T where A has entries: in the slot of (i, j) stands (A^-1)(j, i)."""
        return self._fill(lib.lac_factor_selected_inverse, np.empty((*self.batch, self.nnz), self.dtype))[0]

    @property
    def rcond(self) -> Any:
        """An estimate of 1 / (norm(A, 1) norm(inv(A), 1)) of each matrix."""
        return self._fill(lib.lac_factor_rcond, self._real())[0]

    def refactor(self, values: ArrayLike) -> Factor:
        """A factor of other NumPy values of the same shape and dtype, by the choices of this one."""
        if self.held or not _is_numbers(values, (self._count,)) or values.dtype != self.dtype:
            return _factor("Factor.refactor", lib.lac_factor_refactor, self, values)
        ctx, out = context(), ffi.new(_FACTOR)
        ctx.check(lib.lac_factor_refactor_numbers(ctx.c, self.c, ffi.from_buffer(values), out))
        ctx.warn()
        return self.alike(out[0])

    def __repr__(self):
        batch = f", batch={self.batch}" if self.batch else ""
        return f"Factor({self.shape[0]} x {self.shape[1]}, {self.dtype}{batch}, {_known(self.report)})"
