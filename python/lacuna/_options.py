# SPDX-License-Identifier: Apache-2.0
"""The options of solvers: Python's keywords as the C struct."""

import contextlib
import operator

import numpy as np

from ._callbacks import APPLY, PROGRESS, Callback
from ._core import ffi, lib, sized
from ._handle import Handle, word
from ._numpy import DTYPES, promoted
from ._progress import Bars
from .errors import ArgumentError, IndexOverflowError


def of_derivatives(options):
    """The options of the solves that derivatives need: adjoint_rtol is their rtol, and atol, which has the unit of b
    and not of a cotangent, is none of theirs."""
    rtol = options.get("adjoint_rtol") or options.get("rtol")
    left = {name: value for name, value in options.items() if name not in ("rtol", "atol", "adjoint_rtol")}
    return left if rtol is None else {**left, "rtol": rtol}


def words(enum, prefix):
    """The words of a C enumeration: {"amd": LAC_ORDER_AMD, ...}."""
    return {name[len(prefix) :].lower(): code for code, name in sorted(ffi.typeof(enum).elements.items())}


ORDERINGS = words("lac_ordering", "LAC_ORDER_")
_KINDS = words("lac_multigrid_kind", "LAC_MULTIGRID_")
_ITERATION = ("rtol", "atol", "adjoint_rtol", "max_iterations", "restart", "look_every")
_NUMBERS = ("omega", "block", "degree", "strength", "coarse_rows", "max_levels")
COLUMNS = ("null_space", "left_null_space", "near_null", "coordinates")
_ALL = (
    *("method", "ordering", "pivot_tolerance", "accept_singular", "assume_hermitian", "keep_bytes", "max_bytes"),
    *_ITERATION, *_NUMBERS, "preconditioner", *COLUMNS, "progress", "multigrid", "full_precision",
    "accept_unconverged", "low_memory",
)  # fmt: skip
# The methods that iterate, or may.
ITERATES = (
    None, "auto", "cg", "flexible_cg", "minres", "bicgstab", "gmres", "flexible_gmres", "lsmr", "lsqr",
)  # fmt: skip
_ARRAY, _SHAPE, _ADDRESS = ffi.typeof("lac_array **"), ffi.typeof("int64_t[]"), ffi.typeof("uintptr_t")
_LARGEST, _LARGEST_INT = np.iinfo(np.int64).max, np.iinfo(np.intc).max


def is_factor(given):
    return isinstance(given, Handle) and given.kind == "lac_factor"


class Borrowed:
    """C arrays over the memory of NumPy arrays, while they are used. Inputs that are not aligned are copied."""

    def __init__(self, ctx, *arrays):
        self.ctx, self.arrays, self.made = ctx, arrays, []

    def __enter__(self):
        try:
            for array in self.arrays:
                self.made.append(self._borrow(array))
        except BaseException:
            self.__exit__()
            raise
        return [out[0] for out in self.made]

    def __exit__(self, *_):
        for out in self.made:
            lib.lac_array_destroy(out)

    def _borrow(self, array):
        out, data = ffi.new(_ARRAY), ffi.from_buffer(array)  # quicker than asking NumPy for the address
        is_aligned = int(ffi.cast(_ADDRESS, data)) % array.itemsize == 0
        own = lib.LAC_OWNERSHIP_BORROW if is_aligned else lib.LAC_OWNERSHIP_COPY
        shape = ffi.new(_SHAPE, array.shape)
        self.ctx.check(lib.lac_array_from(self.ctx.c, DTYPES[array.dtype], array.ndim, shape, data, own, out))
        return out


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


def _set_given(struct, given, names):
    """The options that are given, into a C struct."""
    asked = [name for name in names if given.get(name) is not None]
    kinds = {name: field.type.cname for name, field in ffi.typeof(struct).fields} if asked else {}
    for name in asked:
        value = given.pop(name)
        if name == "max_iterations" and value == 0:  # which C reads as nothing
            raise ArgumentError("Solver: max_iterations is 0; it must be at least 1, or None for the default")
        if kinds[name] == "double":
            setattr(struct, name, _number(name, value))
        else:
            setattr(struct, name, _integer(name, value, _LARGEST_INT if kinds[name] == "int" else _LARGEST))


def _flag(name, given):
    if given is None or isinstance(given, (bool, np.bool_)):
        return bool(given)
    raise ArgumentError(f"Solver: {name} is {given!r}; it must be True or False")


def _callbacks(options, method, given):
    """The Python functions among the options, and those of a Factor; the solver must hold what comes back."""
    held = []
    chosen, progress = given.get("preconditioner"), given.pop("progress", None)
    if is_factor(chosen):
        held.append(chosen.c)
    elif callable(chosen):
        held.append(Callback(given.pop("preconditioner"), "Solver: the function of preconditioner="))
        options.preconditioner.apply, options.preconditioner.apply_data = APPLY, held[-1].data
    if progress is True:
        progress = Bars(options.iteration.rtol)
    if progress not in (None, False):
        if not callable(progress):
            raise ArgumentError(
                f"Solver: progress is {progress!r}; it must be True, for a bar, or a function of (iteration, residual)"
            )
        held.append(Callback(progress, "Solver: the function of progress="))
        if method in ITERATES or not isinstance(progress, Bars):  # what C would never call, it refuses
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
    if is_factor(chosen):
        options.preconditioner.factor = chosen.c
    else:
        name = options.preconditioner.method = _named("preconditioner", chosen)
    options.preconditioner.kind = word("multigrid", given.pop("multigrid", None) or "auto", _KINDS)
    options.preconditioner.full_precision = _flag("full_precision", given.pop("full_precision", None))
    options.iteration.accept_unconverged = _flag("accept_unconverged", given.pop("accept_unconverged", None))
    return name


def _columns(name, array):
    array = promoted("Solver", name, array)
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


def chosen(method, ordering):
    """(options of a method and an ordering alone, a name that lives as long as C reads them)."""
    options, asked = sized("lac_solver_options"), _named("method", method)
    options.method, options.ordering = asked, word("ordering", ordering, ORDERINGS)
    return options, asked


@contextlib.contextmanager
def filled(who, ctx, method, ordering, given):
    """(options, what must live as long as their solver) of keywords, while C takes them over."""
    options, asked = chosen(method, ordering)
    arrays = {name: _columns(name, given.pop(name)) for name in COLUMNS if given.get(name) is not None}
    if given.get("pivot_tolerance") is not None:
        options.pivot_tolerance = _number("pivot_tolerance", given.pop("pivot_tolerance"))
    for name in ("accept_singular", "assume_hermitian", "low_memory"):
        setattr(options, name, _flag(name, given.pop(name, None)))
    for name in ("keep_bytes", "max_bytes"):
        if given.get(name) is not None:
            setattr(options, name, _integer(name, given.pop(name), what="a number of bytes, an integer"))
    _set_given(options.iteration, given, _ITERATION)
    _set_given(options.preconditioner, given, _NUMBERS)
    callbacks = _callbacks(options, method, given)
    beside = _preconditioner(options, given)
    left = [name for name, value in given.items() if value is not None]
    if left:
        raise TypeError(f"{who}: unexpected option {left[0]!r}; there are {', '.join(_ALL)}")
    with _owned(ctx, arrays) as held:
        for name, array in held.items():
            is_hint = name in ("near_null", "coordinates")
            setattr(options.preconditioner if is_hint else options.iteration, name, array)
        yield options, callbacks
    del asked, beside  # names that C has read
