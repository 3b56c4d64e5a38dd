# SPDX-License-Identifier: Apache-2.0
"""Operators on NumPy arrays: addresses in, new arrays out, nothing copied that is contiguous already."""

import numpy as np

from ._core import context, ffi, lib
from ._program import FORWARD, find
from .errors import DtypeError

DTYPES = {
    np.dtype(np.float32): lib.LAC_F32, np.dtype(np.float64): lib.LAC_F64,
    np.dtype(np.complex64): lib.LAC_C64, np.dtype(np.complex128): lib.LAC_C128,
}  # fmt: skip
_buffer = ffi.from_buffer  # several times faster than asking NumPy for the address
_BY_CODE = {code: dtype for dtype, code in DTYPES.items()}


def contiguous(who, index, array):
    """The array as C reads it: row-major in one piece, one of four dtypes. Numbers are never converted."""
    array = np.asarray(array)
    if array.dtype not in DTYPES:
        raise DtypeError(
            f"{who}: input {index} has dtype {array.dtype}; Lacuna computes in float32, float64, complex64 and "
            "complex128: convert it with .astype()"
        )
    return array if array.flags.c_contiguous else array.copy(order="C")


def apply(name, like, *arrays):
    """Run the operator of a spec's name on arrays."""
    spec, ctx = find(name), context()
    ready, metas = [], []
    for index, array in enumerate(arrays):
        if type(array) is not np.ndarray or array.dtype not in DTYPES or not array.flags.c_contiguous:
            array = contiguous(spec.op.name, index, array)
        ready.append(array)
        metas.append((DTYPES[array.dtype], array.shape))
    program = spec.program(FORWARD, like, tuple(metas))
    outs = [np.empty(shape, _BY_CODE[code]) for shape, code in zip(program.shapes, program.codes)]
    for pointers, buffers in ((ctx.in_pointers, ready), (ctx.out_pointers, outs)):
        for index, array in enumerate(buffers):
            pointers[index] = _buffer(array)
    program.run_prepared(ctx)
    return outs[0] if len(outs) == 1 else tuple(outs)
