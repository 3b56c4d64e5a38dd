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


def _common(dtypes):
    """(the dtype that torch promotes to, the one that it is computed in); None for both where there is none."""
    if any([computed(dtype) is None for dtype in dtypes]):
        return None, None
    common = functools.reduce(torch.promote_types, dtypes)
    return common, computed(common)


def _promotions(dtypes):
    """[the dtypes to try, one list after the other]."""
    _, to = _common(dtypes)
    tries = [] if to is None else [_kept(dtypes, to), [to] * len(dtypes)]
    return [given for given in tries if given != dtypes]


def _rounded(results, tensors):
    """Results in the dtype that the tensors ask for: 16 bits where all have 16, unless torch.autocast is on."""
    common, _ = _common([t.dtype for t in tensors])
    if common not in _HALVES or torch.is_autocast_enabled(tensors[0].device.type):
        return results
    if isinstance(results, tuple):
        return tuple([_rounded(result, tensors) for result in results])
    return results.to(common) if results.dtype is torch.float32 else results


def apply_promoted(apply, error, tensors):
    """apply(*tensors) with the tensors in dtypes that go together; the first error where none do."""
    if not tensors or not all([isinstance(t, torch.Tensor) for t in tensors]):
        raise error
    for dtypes in _promotions([t.dtype for t in tensors]):
        try:
            made = apply(*[t.to(dtype) for t, dtype in zip(tensors, dtypes)])
        except DtypeError:
            continue
        return _rounded(made, tensors)
    raise error


def in_one_dtype(who, function, *tensors):
    """function(*tensors) with the tensors in the one dtype that they are computed in; results as of apply_promoted."""
    _, to = _common([t.dtype for t in tensors])
    if to is None:
        raise DtypeError(f"{who}: no numbers of C are those of {', '.join([str(t.dtype) for t in tensors])}")
    return _rounded(function(*[t.to(to) for t in tensors]), tensors)
