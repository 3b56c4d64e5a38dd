# SPDX-License-Identifier: Apache-2.0
"""Device memory from torch's caching allocator.

What Lacuna takes on a stream, results between the steps of a program and room for kernels, comes from torch and goes
back to it, as torch's own tensors do: neither keeps memory that the other lacks, and what is taken while torch captures
a graph belongs to that graph. Results of calls are tensors anyway.
"""

from torch.cuda import OutOfMemoryError

from .._core import ffi, lib, raise_later
from ._private import cuda_allocate, cuda_release, cuda_trim


def _failed(kind, exception, trace):
    """C says itself that memory is exhausted; what else was raised waits for the call to end."""
    if not isinstance(exception, OutOfMemoryError):
        raise_later(kind, exception, trace)


@ffi.callback("void *(void *, int, size_t, void *)", onerror=_failed)
def _allocate(_self, device, size, stream):
    return ffi.cast("void *", cuda_allocate(device, size, int(ffi.cast("uintptr_t", stream))))


@ffi.callback("void(void *, int, void *, size_t, void *)", onerror=_failed)
def _release(_self, _device, block, _size, _stream):
    cuda_release(int(ffi.cast("uintptr_t", block)))


@ffi.callback("void(void *, int)", onerror=_failed)
def _trim(_self, _device):
    cuda_trim()


_source = ffi.new("lac_device_allocator *", {"allocate": _allocate, "release": _release, "trim": _trim})
_is_taken = False


def take_from_torch():
    """Let the library take its memory on streams from torch, from the first CUDA tensor on."""
    global _is_taken
    if not _is_taken:
        lib.lac_memory_set_device_allocator(_source)
        _is_taken = True
