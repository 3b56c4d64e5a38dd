# SPDX-License-Identifier: Apache-2.0
"""Matrices and arrays in files: Matrix Market (also gzipped) and safetensors, read and written by the C library."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ._core import context, ffi, lib, release, sized, text
from ._handle import expect, word
from ._numpy import BY_CODE, DTYPES, asarray, contiguous
from .errors import ArgumentError, DtypeError, FileError, MissingFileError, UnsupportedError
from .pattern import _WIDTHS, Pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Path = str | os.PathLike[str]

_SYMMETRIES = {
    "general": lib.LAC_MM_GENERAL, "symmetric": lib.LAC_MM_SYMMETRIC,
    "skew-symmetric": lib.LAC_MM_SKEW, "hermitian": lib.LAC_MM_HERMITIAN,
}  # fmt: skip
# Words of safetensors that NumPy has a dtype for; the F8 are not among them, and of BF16 there are the bits.
BFLOAT16 = np.dtype([("bfloat16", "<u2")])
_WORDS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "C64": "<c8", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?", "BF16": BFLOAT16,
}  # fmt: skip
_BY_DTYPE = {np.dtype(name): code for code, name in _WORDS.items()}
_COMPLEX_KEY = "lacuna.dtype."
_STRUCTURE = (".shape", ".offsets", ".columns")


def _path(path):
    path = os.fsencode(path)
    if b"\0" in path:
        raise ArgumentError(f"lacuna: the path {path!r} has a null byte in it, where C would end it")
    return path


def _check(ctx, needed, status):
    """Raise what a call failed with that needs a file, or a directory; where there is none, that is a
    FileNotFoundError too."""
    try:
        ctx.check(status)
    except FileError as error:
        if os.path.exists(needed):
            raise
        missing = MissingFileError(*error.args)
        missing.trace = error.trace
        raise missing from None


def _directory(path):
    return os.path.dirname(os.fsencode(path)) or b"."


def _dtype(who, dtype):
    """The name of a dtype as C reads it; NULL leaves it to the file."""
    if dtype is None:
        return ffi.NULL
    try:
        return lib.lac_dtype_name(DTYPES[np.dtype(dtype)])
    except (KeyError, TypeError):
        raise DtypeError(f"{who}: dtype is {dtype!r}; float32, float64, complex64 or complex128 can be read") from None


def _array_out(ctx, c):
    """A NumPy copy of a C array that was handed over."""
    held = ffi.gc(c, release(lib.lac_array_destroy, "lac_array"))
    meta = lib.lac_array_meta(held)
    array = np.empty(tuple(meta.shape[d] for d in range(meta.ndim)), BY_CODE[meta.dtype])
    ctx.check(lib.lac_array_read(ctx.c, held, ffi.from_buffer(array)))
    return array


def _array_in(ctx, who, array):
    """A C array over a NumPy array, which it borrows; and that array."""
    array = contiguous(who, 0, array)
    out = ffi.new("lac_array **")
    shape = ffi.new("int64_t[]", array.shape or (0,))
    data = ffi.cast("void *", array.ctypes.data)
    ctx.check(lib.lac_array_from(ctx.c, DTYPES[array.dtype], array.ndim, shape, data, lib.LAC_OWNERSHIP_BORROW, out))
    return ffi.gc(out[0], release(lib.lac_array_destroy, "lac_array")), array


def read_matrix_market(
    path: Path, dtype: Any = None, width: str = "auto", expand: bool = True, most_bytes: int = 0
) -> tuple[Pattern | None, NDArray[Any]]:
    """(pattern, values) of a Matrix Market file, gzipped or not; (None, array) of one in the array format.

    A file of one triangle is expanded to the whole matrix unless `expand` is false; duplicates sum; a file without
    numbers gives ones. `dtype` defaults to float64, or complex128 for a complex file. `most_bytes` bounds what a header
    alone may make the reader allocate (0: 1 GiB and 64 times the file).
    """
    ctx = context()
    storage = lib.LAC_MM_EXPANDED if expand else lib.LAC_MM_AS_STORED
    options = sized("lac_mm_read_options")
    options.storage, options.dtype = storage, _dtype("read_matrix_market", dtype)
    options.width, options.most_bytes = word("width", width, _WIDTHS), most_bytes
    pattern, values = ffi.new("lac_pattern **"), ffi.new("lac_array **")
    _check(ctx, path, lib.lac_read_matrix_market(ctx.c, _path(path), options, pattern, values, ffi.NULL))
    return Pattern.wrap(pattern[0]) if pattern[0] else None, _array_out(ctx, values[0])


def matrix_market_info(path: Path) -> dict[str, Any]:
    """What the head of a Matrix Market file says, as a dict: shape, entries (as stored), format, field, symmetry.

    The whole file is read, and refused where it does not hold what its head says.
    """
    ctx, info = context(), sized("lac_mm_info")
    pattern = ffi.new("lac_pattern **")
    _check(ctx, path, lib.lac_read_matrix_market(ctx.c, _path(path), ffi.NULL, pattern, ffi.NULL, info))
    if pattern[0]:
        Pattern.wrap(pattern[0])  # which lets go of it
    words = {name: _named(name, getattr(info, name)) for name in ("format", "field", "symmetry")}
    return {"shape": (info.rows, info.cols), "entries": info.entries, **words}


def _named(name, code):
    """The word of the format for a code of C."""
    if name == "symmetry":
        return next(word_ for word_, one in _SYMMETRIES.items() if one == code)
    found = ffi.typeof(f"lac_mm_{name}").elements[code]
    return found.removeprefix("LAC_MM_").lower()


def write_matrix_market(
    path: Path, pattern: Pattern | None = None, values: Any = None, symmetry: str = "general", comment: str = ""
) -> None:
    """Write a matrix (pattern and values), a pattern alone, or an array (values alone, two-dimensional).

    Gzipped when the path ends in .gz. A symmetry other than "general" is checked, and one triangle is written.
    """
    if pattern is not None:
        expect("write_matrix_market", pattern, Pattern)
    ctx, c, keep = context(), ffi.NULL, None
    if values is not None:
        c, keep = _array_in(ctx, "write_matrix_market", values)
    note = ffi.new("char[]", comment.encode())
    options = sized("lac_mm_write_options")
    options.symmetry, options.comment = word("symmetry", symmetry, _SYMMETRIES), note
    c_pattern = pattern.c if pattern else ffi.NULL
    _check(ctx, _directory(path), lib.lac_write_matrix_market(ctx.c, _path(path), c_pattern, c, options))
    del keep


# -- safetensors ------------------------------------------------------------------------------------------------------


def _tensor_out(tensors, tensor):
    """A NumPy copy of a tensor of an open file."""
    name, code = text(tensor.name), text(tensor.dtype)
    if code not in _WORDS:
        raise DtypeError(f"load_safetensors: {name!r} has the dtype {code}, which NumPy does not have")
    shape = tuple(tensor.shape[d] for d in range(tensor.ndim))
    array = np.frombuffer(ffi.buffer(tensor.data, tensor.bytes), _WORDS[code]).reshape(shape)
    mark = text(lib.lac_tensors_metadata(tensors, (_COMPLEX_KEY + name).encode()))
    if mark == "c128" and code == "F64" and shape[-1:] == (2,):
        return np.array(array).view(np.complex128)[..., 0]
    return np.array(array)


def load_safetensors(path: Path) -> dict[str, Any]:
    """{name: array} of a safetensors file; a matrix saved under a name is (pattern, values), or a pattern if it has
    none. BF16, which NumPy does not have, comes as float32, of which it is the upper half: the same numbers."""
    return {name: _widened(found) for name, found in read_safetensors(path).items()}


def _widened(found):
    """The numbers of BF16 as float32."""
    if getattr(found, "dtype", None) != BFLOAT16:
        return found
    return np.asarray(found["bfloat16"].astype(np.uint32) << np.uint32(16)).view(np.float32)  # << makes 0-d a scalar


def read_safetensors(path: Path) -> dict[str, Any]:
    """The same with the bits of BF16."""
    ctx, out = context(), ffi.new("lac_tensors **")
    _check(ctx, path, lib.lac_tensors_open(ctx.c, _path(path), out))
    tensors = ffi.gc(out[0], release(lib.lac_tensors_close, "lac_tensors"))
    listed = {}
    for i in range(lib.lac_tensors_count(tensors)):
        tensor = lib.lac_tensors_get(tensors, i)
        listed[text(tensor.name)] = tensor
    loaded = {}
    for name in [n.removesuffix(".shape") for n in listed if n.endswith(".shape")]:
        if all(name + part in listed for part in _STRUCTURE):
            pattern, values = ffi.new("lac_pattern **"), ffi.new("lac_array **")
            has_values = listed.pop(name + ".values", None) is not None
            into = values if has_values else ffi.NULL
            ctx.check(lib.lac_tensors_matrix(ctx.c, tensors, name.encode(), pattern, into))
            made = Pattern.wrap(pattern[0])
            loaded[name] = (made, _array_out(ctx, values[0])) if has_values else made
            for part in _STRUCTURE:
                del listed[name + part]
    loaded.update((name, _tensor_out(tensors, tensor)) for name, tensor in listed.items())
    return loaded


def _flatten(tensors):
    """Names and arrays, with matrices in their parts."""
    for name, value in tensors.items():
        pattern, values = value if isinstance(value, tuple) else (value, None)
        if not isinstance(pattern, Pattern):
            yield name, value
            continue
        if pattern.blocks != (1, 1):
            raise UnsupportedError(f"save_safetensors: {name!r} has blocks; pattern.scalar() gives single entries")
        offsets, columns, _ = pattern.structure()
        yield name + ".shape", np.array(pattern.shape, np.int64)
        yield name + ".offsets", offsets.astype(np.int32 if pattern.width == "32/32" else np.int64)
        yield name + ".columns", columns.astype(np.int64 if pattern.width == "64/64" else np.int32)
        if values is not None:
            values = contiguous("save_safetensors", 0, values)
            if values.ndim == 0 or values.shape[-1] != pattern.nnz:
                raise ArgumentError(
                    f"save_safetensors: {name!r} has {pattern.nnz} slots and values of shape {values.shape}"
                )
            yield name + ".values", values


def save_safetensors(path: Path, tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Write {name: array, (pattern, values) or pattern}, and texts {key: text}, as a safetensors file.

    The format has no complex128: such an array becomes F64 with a last axis of 2, marked in the metadata.
    """
    ctx, keep = context(), []
    texts, listed = dict(metadata or {}), []
    for name, array in _flatten(tensors):
        array = np.asarray(asarray(array), order="C")
        if array.dtype == np.complex128:
            texts[_COMPLEX_KEY + name] = "c128"
            array = np.stack((array.real, array.imag), axis=-1)
        if array.dtype not in _BY_DTYPE:
            raise DtypeError(f"save_safetensors: {name!r} has dtype {array.dtype}, which the format does not have")
        if array.ndim > lib.LAC_MAX_DIMS:
            raise ArgumentError(f"save_safetensors: {name!r} has {array.ndim} dimensions; {lib.LAC_MAX_DIMS} are kept")
        parts = ffi.new("char[]", name.encode()), ffi.new("char[]", _BY_DTYPE[array.dtype].encode())
        keep.append((array, parts))
        data = ffi.cast("void *", array.ctypes.data)
        listed.append((*parts, array.ndim, list(array.shape), data, array.nbytes))
    pairs = [ffi.new("char[]", each.encode()) for pair in texts.items() for each in pair]
    given = len(listed), ffi.new("lac_tensor[]", listed), len(texts), ffi.new("char *[]", pairs)
    _check(ctx, _directory(path), lib.lac_tensors_save(ctx.c, _path(path), *given))
    del keep
