# SPDX-License-Identifier: Apache-2.0
"""The rule of dtypes (_dtypes.py of the package) on tensors: promote_types of torch, and autocast.

Where torch.autocast is on, results of 16-bit inputs stay in float32, as those of torch's own functions that need the
range do: what is made of a solve is not rounded in between.
"""

import functools

import torch

from .._core import lib
from ..errors import DtypeError

CODES = {
    torch.float32: lib.LAC_F32, torch.float64: lib.LAC_F64, torch.complex64: lib.LAC_C64,
    torch.complex128: lib.LAC_C128,
}  # fmt: skip
DTYPES = {code: dtype for dtype, code in CODES.items()}
_HALVES = (torch.float16, torch.bfloat16)
_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def computed(dtype):
    """The dtype in which tensors of a dtype are computed; None where there is none."""
    if dtype in CODES:
        return dtype
    if dtype is torch.complex32:
        return torch.complex64
    return torch.float32 if dtype in _HALVES else torch.get_default_dtype() if dtype in _INTEGERS else None


def _kept(dtypes, to):
    """The dtypes in the precision of `to`, complex where they were."""
    real = torch.float32 if to in (torch.float32, torch.complex64) else torch.float64
    return [real.to_complex() if dtype.is_complex else real for dtype in dtypes]


def _promotions(dtypes):
    """([the dtypes to try, one list after the other], the dtype that results are rounded to, or None)."""
    if any([computed(dtype) is None for dtype in dtypes]):
        return [], None
    common = functools.reduce(torch.promote_types, dtypes)
    to = computed(common)
    tries = [_kept(dtypes, to), [to] * len(dtypes)]
    return [given for given in tries if given != dtypes], common if common in _HALVES else None


def _rounded(results, dtype):
    if isinstance(results, tuple):
        return tuple([_rounded(result, dtype) for result in results])
    return results.to(dtype) if results.dtype is torch.float32 else results


def apply_promoted(apply, error, tensors):
    """apply(*tensors) with the tensors in dtypes that go together; the first error where none do."""
    if not tensors or not all([isinstance(t, torch.Tensor) for t in tensors]):
        raise error
    tries, result = _promotions([t.dtype for t in tensors])
    for dtypes in tries:
        try:
            made = apply(*[t.to(dtype) for t, dtype in zip(tensors, dtypes)])
        except DtypeError:
            continue
        is_cast = result is None or torch.is_autocast_enabled(tensors[0].device.type)
        return made if is_cast else _rounded(made, result)
    raise error
