# SPDX-License-Identifier: Apache-2.0
"""Indices and sizes as C reads them: integers in one piece, of one type, on the host or on a device."""

import operator

import numpy as np

from ._core import ffi, lib
from .errors import ArgumentError, IndexOverflowError

_LARGEST = np.iinfo(np.int64).max


def _ready(array, dtype=None):
    """The array as C reads it: in one piece and aligned, copied if need be."""
    if type(array) is np.ndarray and (dtype is None or array.dtype == dtype):
        flags = array.flags
        if flags.c_contiguous and flags.aligned:  # a tenth of the time of np.require
            return array
    return np.require(array, dtype, ("C", "ALIGNED", "ENSUREARRAY"))


def _index(array, what):
    """One-dimensional integers as C reads them, and their type. Nothing is rounded, flattened, wrapped or unmasked."""
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(f"{what} is a masked array; take out what is masked with .compressed()")
    try:
        array = _ready(array)
    except RuntimeError as error:
        raise ArgumentError(
            f"{what} is a {type(array).__name__} whose numbers cannot be read here ({error}); make the pattern outside "
            "of vmap, grad and compiled code, of indices that are the same in every call"
        ) from None
    if array.ndim != 1:
        raise ArgumentError(f"{what} must be one-dimensional, got shape {array.shape}")
    if array.dtype == np.int32:
        return array, lib.LAC_I32
    if array.dtype.kind not in "iu" and array.size:
        raise ArgumentError(f"{what} must be integers, got {array.dtype}")
    if array.dtype == np.uint64 and array.size and array.max() > _LARGEST:
        where = int(array.argmax())
        raise IndexOverflowError(f"{what}[{where}] = {array[where]} is beyond 64-bit signed integers ({_LARGEST})")
    return _ready(array, np.int64), lib.LAC_I64


def _indices(first, second, what):
    """Two index arrays in one integer type."""
    (a, ta), (b, tb) = _index(first, what[0]), _index(second, what[1])
    if ta != tb:
        a, b, ta = a.astype(np.int64), b.astype(np.int64), lib.LAC_I64
    return a, b, ta


def _is_cuda(array):
    """Whether indices are a torch tensor on a CUDA device."""
    return bool(getattr(array, "is_cuda", False))


def _device_indices(first, second, what, typed=False):
    """Two one-dimensional CUDA tensors in one integer type, and the context of their device on torch's stream. `typed`:
    each keeps its type, and there are two."""
    import torch

    from .torch._tensors import context_on

    given = first, second
    for tensor, name in zip(given, what):
        if not _is_cuda(tensor) or tensor.device != next(t.device for t in given if _is_cuda(t)):
            raise ArgumentError(f"{what[0]} and {what[1]} must lie on one device; {name} does not: move it there")
        if tensor.dim() != 1:
            raise ArgumentError(f"{name} must be one-dimensional, got shape {tuple(tensor.shape)}")
        if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
            raise ArgumentError(f"{name} must be integers, got {tensor.dtype}")
    if typed:  # each in a type of its own
        given = [t if t.dtype == torch.int32 else t.to(torch.int64) for t in given]
        kinds = [lib.LAC_I32 if t.dtype == torch.int32 else lib.LAC_I64 for t in given]
        return *(t.contiguous() for t in given), kinds, context_on(given[0].device)
    narrow = all(tensor.dtype == torch.int32 for tensor in given)
    first, second = (t.to(torch.int32 if narrow else torch.int64).contiguous() for t in given)
    return first, second, lib.LAC_I32 if narrow else lib.LAC_I64, context_on(first.device)


def _placed_indices(first, second, what):
    """Two index arrays in one integer type where they lie, and the context of their device; None for the host."""
    if _is_cuda(first) or _is_cuda(second):
        return _device_indices(first, second, what)
    return *_indices(first, second, what), None


def _sizes(shape):
    try:
        rows, cols = shape
        rows, cols = operator.index(rows), operator.index(cols)
    except (TypeError, ValueError):
        raise ArgumentError(f"a pattern's shape is (rows, cols), two integers; got {shape!r}") from None
    if min(rows, cols) < 0:
        raise ArgumentError(f"a pattern's shape is (rows, cols), 0 or more; got {(rows, cols)}")
    if max(rows, cols) > _LARGEST:
        raise IndexOverflowError(f"a pattern's shape {(rows, cols)} is not within 0..{_LARGEST}")
    return rows, cols


def _list(given, size, what):
    """A list of indices as C reads it, or None; negative ones count from the end."""
    if given is None:
        return None
    array = _ready(_index(given, what)[0], np.int64)
    return np.where(array < 0, array + size, array)


def _pointer(array):
    return ffi.NULL if array is None else ffi.cast("const int64_t *", ffi.from_buffer(array))


def _data(array):
    """The address of indices, on the host or on a device."""
    return ffi.cast("void *", array.data_ptr()) if _is_cuda(array) else ffi.from_buffer(array)
