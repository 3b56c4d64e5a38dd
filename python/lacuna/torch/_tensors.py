# SPDX-License-Identifier: Apache-2.0
"""Tensors as C takes them: codes and shapes, numbers beside them, addresses on one device; and a sentence for what is
not taken.
"""

import numpy as np
import torch

from .._core import context, lib
from .._io import BFLOAT16
from .._words import input_of, place
from ..errors import ArgumentError, DeviceError, DtypeError
from ._dtypes import CODES, DTYPES, computed
from ._memory import take_from_torch
from ._private import current_stream, empty_on_cpu, empty_on_cuda, outlived

_DEVICES = {"cpu", "cuda"}
PLAIN = {torch.Tensor, torch.nn.Parameter}
_ALIGNED = 16
ARRAY = torch.Tensor
RENAMED = (("axis", "dim"), ("keepdims", "keepdim"))  # as torch's own functions have them
_torch_threads = torch.get_num_threads
_NUMBERS = (int, float, complex, np.number, torch.SymInt, torch.SymFloat)


def metas_of(who, tensors):
    """((dtype code, shape), ...), or a sentence that says what cannot be taken."""
    try:
        return tuple([(CODES[t.dtype], t.shape) for t in tensors])
    except (KeyError, AttributeError):
        raise refusal(who, tensors) from None


def refusal(who, tensors):
    for i, t in enumerate(tensors):
        if not isinstance(t, torch.Tensor):
            return _not_a_tensor(place(who, i), t)
        if t.dtype not in CODES:
            return DtypeError(
                f"{place(who, i)} has dtype {t.dtype}; Lacuna computes in float32, float64, complex64 and complex128: "
                "convert it with .to()"
            )
    return None


def code(dtype):
    """The code of a dtype."""
    if dtype not in CODES:
        raise DtypeError(
            f"lacuna: {dtype!r} is no dtype that Lacuna has: torch.float32, float64, complex64 and complex128"
        )
    return CODES[dtype]


def _not_a_tensor(where, given):
    way = ": torch.as_tensor makes one" if isinstance(given, (np.ndarray, list)) else ""
    return ArgumentError(f"{where} is a {type(given).__name__}; it must be a torch.Tensor{way}")


def asarray(x, who="lacuna", name="an input"):
    """A tensor, as it is; nothing else is made one."""
    if not isinstance(x, torch.Tensor):
        raise _not_a_tensor(f"{who}: {name}", x)
    return x


def as_numpy(tensor):
    """The numbers of a tensor as NumPy has them; bfloat16 by its bits."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return tensor.view(torch.int16).numpy().view(BFLOAT16) if tensor.dtype == torch.bfloat16 else tensor.numpy()


def convert(c, x):
    """A condition as a tensor of x's dtype: 1 where it holds."""
    if isinstance(c, (bool, *_NUMBERS)):
        return number(int(c != 0), x, "where")
    c = asarray(c)
    return c if c.dtype == x.dtype else (c != 0).to(x.dtype)


def number(factor, x, who="scale"):
    """A frozen number beside x, as a tensor of its dtype without dimensions."""
    if not isinstance(factor, _NUMBERS):
        if not isinstance(factor, torch.Tensor):
            raise ArgumentError(f"{who}: {factor!r} is not a number; give a number")
        raise ArgumentError(
            f"{who}: the factor is a frozen number, not a {type(factor).__name__}; make it one with float(), or take "
            "mul, which has derivatives in both"
        )
    if not isinstance(x, torch.Tensor) or computed(x.dtype) is None:
        raise refusal(who, (x,))
    factor = factor.item() if isinstance(factor, np.generic) else factor
    if isinstance(factor, complex) and not x.is_complex():
        if factor.imag:
            raise DtypeError(f"{who}: the number {factor} is complex and the tensor is {x.dtype}; convert the tensor")
        factor = factor.real
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else computed(x.dtype)
    return torch.ones((), dtype=dtype, device=x.device) * factor  # a product: compilers keep its number open


def _context_on_cpu():
    """This thread's context on the CPU, with as many threads as torch has where Lacuna was not asked for a number."""
    ctx, threads = context(), _torch_threads()
    if ctx.threads != threads:
        ctx.follow(threads)
    return ctx


def context_on(device):
    """This thread's context on a device, on torch's current stream."""
    return _context_on_cpu() if device.type == "cpu" else _context_on_cuda(device.index)


def _context_on_cuda(index):
    take_from_torch()
    ctx = context("cuda", index)
    ctx.set_stream(current_stream(index))
    return ctx


def synchronize(device=None):
    """Wait until what was called on the current stream of a CUDA device (None: the current device) is done, and raise
    the error of values that a call there has left. Calls on CUDA tensors return before their numbers are there: a zero
    pivot makes results NaN, and its error comes out of the next call of Lacuna on the device, or here. On the CPU calls
    raise such errors themselves."""
    device = torch.device("cuda" if device is None else device)
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    ctx = context_on(device)
    ctx.check(lib.lac_context_synchronize(ctx.c))


def one_device(who, tensors):
    device = tensors[0].device
    for i, t in enumerate(tensors):
        if t.device != device:
            raise DeviceError(
                f"{place(who, i)} lies on {t.device} and {input_of(who, 0)} on {device}; move one of them with .to()"
            )
    return device


def all_dense(who, tensors):
    for i, t in enumerate(tensors):
        if t.layout is not torch.strided:
            raise ArgumentError(
                f"{place(who, i)} has layout {t.layout}; pass the values of a sparse tensor, not the tensor"
            )


def ready(who, tensors):
    """The tensors as C reads them: on one device, in one piece, aligned, nothing lazy, in no wrapping of a level of
    torch.func that is gone."""
    tensors = [outlived(t) for t in tensors]
    device, made = one_device(who, tensors), []
    all_dense(who, tensors)
    if device.type not in _DEVICES:
        raise DeviceError(f"{who}: tensors lie on {device}; Lacuna computes on cpu and cuda")
    for t in tensors:
        if t.is_conj() or t.is_neg():
            t = t.resolve_conj().resolve_neg()
        if not t.data_ptr() and t.numel():  # zeros without memory, which torch's derivatives of flat functions are
            t = torch.zeros(t.shape, dtype=t.dtype, device=t.device)
        if not t.is_contiguous() or t.data_ptr() % t.element_size():
            t = t.clone(memory_format=torch.contiguous_format)
        made.append(t)
    return device, made


def read_at(tensors):
    """(index of the CUDA device, or -1 for the CPU; addresses) where C reads the tensors, if they are of no subclass
    and just as it reads them, which most are; else None."""
    found = []
    try:
        index = tensors[0].get_device() if tensors and tensors[0].is_cuda else -1
        for t in tensors:
            if type(t) not in PLAIN or t.get_device() != index or t.is_conj() or t.is_neg() or not t.is_contiguous():
                return None
            address = t.data_ptr()
            if address % _ALIGNED or not address and (t.is_meta or t.numel()):
                return None
            found.append(address)
    except (RuntimeError, AttributeError):  # it is sparse, or in a level of torch.func that is gone; or no tensor
        return None
    return index, found


def outputs_of(program):
    """[(shape, strides, dtype)] of the results of a program, None where one is absent; found once."""
    if program.outputs is None:
        program.outputs = [
            (port.shape, _strides(port.shape), DTYPES[port.code]) if port.var else None for port in program.results
        ]
    return program.outputs


def _strides(shape):
    """Of an array in one piece."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return tuple(strides)


def run(who, program, tensors, read=None):
    """A program on plain tensors, in one C call. Absent results are None. `read`: what read_at gave, if anybody asked
    before."""
    read = read or read_at(tensors)
    if read is None:
        _, tensors = ready(who, tensors)
        read = tensors[0].get_device(), [t.data_ptr() for t in tensors]
    index, addresses = read
    if index < 0:
        ctx, empty = _context_on_cpu(), empty_on_cpu
    else:
        ctx, empty = _context_on_cuda(index), empty_on_cuda(index)
    outs, results = [], []
    for made in program.outputs or outputs_of(program):
        out = made and empty(*made)
        outs.append(out)
        results.append(out.data_ptr() if made else 0)
    program.run(ctx, addresses, results)
    return outs
