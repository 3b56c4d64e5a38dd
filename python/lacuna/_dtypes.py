# SPDX-License-Identifier: Apache-2.0
"""The dtypes that arrays are computed in, by one rule for both front ends; `promote` is result_type of NumPy or
promote_types of torch.

    common    what the library promotes the dtypes of all inputs of a call to
    computed  common, where it is float32, float64, complex64 or complex128; float32 for 16-bit floating point;
              the library's default, float64 or torch's own, for integers and booleans
    result    of 16-bit inputs rounded to their dtype; of all others as computed

Inputs that a function takes in different dtypes (real beside complex numbers) keep their kind, and share a precision.
"""

import numpy as np

from ._core import lib

DTYPES = {
    np.dtype(np.float32): lib.LAC_F32, np.dtype(np.float64): lib.LAC_F64,
    np.dtype(np.complex64): lib.LAC_C64, np.dtype(np.complex128): lib.LAC_C128,
}  # fmt: skip
BY_CODE = {code: dtype for dtype, code in DTYPES.items()}
_HALVES = ("float16", "bfloat16")
_F32, _F64, _C64, _C128 = DTYPES


def is_half(dtype):
    return dtype.name in _HALVES


def computed(dtype):
    """The dtype in which arrays of a dtype are computed; None where there is none, as for text and long doubles."""
    if dtype in DTYPES:
        return dtype
    return _F32 if is_half(dtype) else _F64 if dtype.kind in "biu" else None


def _kept(dtypes, to):
    """The dtypes in the precision of `to`, complex where they were."""
    real, pair = (_F32, _C64) if to in (_F32, _C64) else (_F64, _C128)
    return [pair if dtype.kind == "c" else real for dtype in dtypes]


def promotions(dtypes):
    """([the dtypes to try, one list after the other], the dtype that results are rounded to, or None)."""
    try:
        common = np.result_type(*dtypes)
    except TypeError:  # text, dates
        return [], None
    to = computed(common)
    if to is None:
        return [], None
    tries = [_kept(dtypes, to), [to] * len(dtypes)]
    return [given for given in tries if given != list(dtypes)], common if is_half(common) else None


def rounded(results, dtype):
    """Results in a dtype of 16 bits, those that are real and single."""
    if isinstance(results, tuple):
        return tuple([rounded(result, dtype) for result in results])
    return results.astype(dtype) if dtype is not None and results.dtype == _F32 else results
