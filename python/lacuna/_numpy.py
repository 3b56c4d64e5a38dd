# SPDX-License-Identifier: Apache-2.0
"""Operators and functions on NumPy arrays: addresses in, new arrays out, nothing copied that is contiguous and aligned
already.
"""

import numpy as np

from ._autodiff import recorded as _recorded
from ._core import context, ffi
from ._dtypes import BY_CODE, DTYPES, computed, promotions, rounded
from ._program import FORWARD, find
from ._words import place
from .errors import ArgumentError, DtypeError

_buffer = ffi.from_buffer  # several times faster than asking NumPy for the address


def _given(who, index, array):
    """An array of what came, in any dtype."""
    if type(array) is not np.ndarray:
        if isinstance(array, np.ma.MaskedArray):
            what = "is a masked array; say what its masked numbers are with .filled()"
            raise ArgumentError(f"{place(who, index)} {what}")
        array = _array(f"{place(who, index)} is", array)
    return array


def contiguous(who, index, array):
    """The array as C reads it: row-major in one piece, aligned, one of four dtypes. Numbers are never converted."""
    array = _given(who, index, array)
    if array.dtype not in DTYPES:
        raise DtypeError(
            f"{place(who, index)} has dtype {array.dtype}; Lacuna computes in float32, float64, complex64 and "
            "complex128: convert it with .astype()"
        )
    return array if _is_ready(array.flags) else array.copy(order="C")


def promoted(who, index, array):
    """The same, of any numbers: in the dtype that they are computed in (_dtypes.py)."""
    array = _given(who, index, array)
    if array.dtype in DTYPES:
        return contiguous(who, index, array)
    return contiguous(who, index, array.astype(computed(array.dtype) or array.dtype, copy=False))


def _array(what, given):
    """NumPy's array of something that has numbers, by __array__ or __dlpack__: of None and of SciPy's matrices NumPy
    makes arrays of objects."""
    if hasattr(given, "__dlpack__") and not isinstance(given, np.ndarray):
        given = _exchanged(what, given)
    array = np.asarray(given)
    if array.dtype != object or isinstance(given, np.ndarray):
        return array
    way = " (lacuna.from_scipy gives the pattern and the values of a sparse matrix)" if hasattr(given, "tocoo") else ""
    if hasattr(given, "with_values"):
        way = " (those of a matrix are its values; A.with_values(values) is the matrix of others)"
    raise ArgumentError(f"{what} a {type(given).__name__}; it must be an array of numbers{way}")


def _exchanged(what, given):
    """The array of what follows the DLPack protocol, without a copy where that can be."""
    ways = [np.from_dlpack, *([np.asarray] if hasattr(given, "__array__") else [])]
    for read in ways:
        try:
            return read(given)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:  # a device, a gradient, a dtype of its own
            why = error
    if getattr(given, "requires_grad", False):
        raise ArgumentError(
            f"{what} a {type(given).__name__} that requires grad, and functions of NumPy arrays do not pass torch's "
            "gradients; take lacuna.torch, which does, or its numbers alone, x.detach()"
        )
    raise ArgumentError(
        f"{what} a {type(given).__name__} that NumPy cannot read ({why}); copy it to the host first, as x.get() of "
        "CuPy does, or take lacuna.torch, which computes on CUDA devices"
    )


def _is_ready(flags):
    return flags.c_contiguous and flags.aligned


def code(dtype):
    """The code of a dtype."""
    try:
        return DTYPES[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise DtypeError(
            f"lacuna: {dtype!r} is no dtype that Lacuna has: float32, float64, complex64 and complex128"
        ) from None


def asarray(x, who="lacuna", name="an input"):
    """An array of anything but a masked array, whose mask would be lost."""
    if type(x) is np.ndarray or isinstance(x, _recorded.Array):
        return x
    if isinstance(x, np.ma.MaskedArray):
        raise ArgumentError(f"{who}: {name} is a masked array; say what its masked numbers are with .filled()")
    return _array(f"{who}: {name} is", x)


def convert(c, x):
    """A condition as an array of x's dtype: 1 where it holds."""
    if isinstance(c, _recorded.Array):
        return c if c.dtype == x.dtype else _recorded.cast(c, x.dtype)
    c = np.asarray(c)
    return c if c.dtype == x.dtype else (c != 0).astype(x.dtype)


ARRAY = np.ndarray
RENAMED = ()


def number(factor, x, who="scale"):
    """A frozen number beside x, as an array of its dtype without dimensions."""
    given, factor = factor, np.asarray(factor)
    if factor.ndim or factor.dtype.kind not in "biufc":
        raise ArgumentError(
            f"{who}: {given!r} is not a number; give a number"
            if factor.ndim == 0
            else f"{who}: the factor is one frozen number, not a {factor.dtype} array of shape {factor.shape}; "
            "mul takes arrays"
        )
    dtype = computed(x.dtype) or contiguous(who, 0, x).dtype
    if factor.dtype.kind == "c" and dtype.kind != "c":
        if factor.imag:
            raise DtypeError(f"{who}: the number {factor} is complex and the array is {x.dtype}; convert the array")
        factor = factor.real
    return factor.astype(dtype if x.dtype.kind in "biu" else x.dtype)


def apply(name, like, *arrays):
    """Run the operator or function of a spec's name on arrays."""
    spec, ctx = find(name), context()
    ready, metas = [], []
    try:
        for index, array in enumerate(arrays):
            if type(array) is not np.ndarray or array.dtype not in DTYPES or not _is_ready(array.flags):
                if isinstance(array, _recorded.Array):
                    return _recorded.apply(name, like, arrays)
                array = contiguous(spec.op.name, index, array)
            ready.append(array)
            metas.append((DTYPES[array.dtype], array.shape))
        program = spec.program(FORWARD, like, tuple(metas))
    except DtypeError as error:
        if any([isinstance(array, _recorded.Array) for array in arrays]):
            return _recorded.apply(name, like, arrays)
        return _apply_promoted(error, name, like, [_given(spec.op.name, i, array) for i, array in enumerate(arrays)])
    outs = [np.empty(shape, BY_CODE[code]) for shape, code in zip(program.shapes, program.codes)]
    if spec.is_composed:
        ready = [ready[i] for i in program.takes]
    table = ctx.table(len(ready))
    for pointers, buffers in ((table.in_pointers, ready), (table.out_pointers, outs)):
        for index, array in enumerate(buffers):
            pointers[index] = _buffer(array)
    program.run_prepared(ctx, table)
    return outs[0] if len(outs) == 1 else tuple(outs)


def _apply_promoted(error, name, like, arrays):
    """The same with the arrays in dtypes that go together; the first error where none do."""
    tries, result = promotions([array.dtype for array in arrays])
    for dtypes in tries:
        spec, metas = find(name), tuple([(DTYPES[dtype], array.shape) for array, dtype in zip(arrays, dtypes)])
        try:
            spec.program(FORWARD, like, metas)
        except DtypeError:
            continue
        return rounded(apply(name, like, *[a.astype(dtype) for a, dtype in zip(arrays, dtypes)]), result)
    raise error
