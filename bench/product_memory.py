# SPDX-License-Identifier: Apache-2.0
"""Bytes that a product of a CSR tensor and a dense block takes, forward and backward, in a process of its own.

    python product_memory.py FOLDER

The folder has offsets.npy, columns.npy, values.npy and x.npy. Prints the bytes by which the process grew at its largest
while it made y and the gradients of values and x, all of which it holds at the end; then the bytes of the inputs, among
them the gradient of y, and of what was made. Nothing ran before: what a pattern keeps is counted, and so is code that
was loaded late.
"""

import os
import resource
import sys
import warnings

import numpy as np
import torch

import lacuna
from lacuna.torch import SparseTensor


def resident():
    """Bytes of this process that are in memory now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bytes_of(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def main():
    offsets, columns, values, x = (
        torch.from_numpy(np.load(os.path.join(sys.argv[1], f"{name}.npy")))
        for name in ("offsets", "columns", "values", "x")
    )
    shape, bar = (offsets.numel() - 1, x.shape[0]), torch.ones(offsets.numel() - 1, x.shape[1], dtype=x.dtype)
    csr = torch.sparse_csr_tensor(offsets, columns, values, shape).requires_grad_()
    x.requires_grad_()
    before = resident()
    y = SparseTensor.from_torch(csr) @ x
    csr_bar, x_bar = torch.autograd.grad(y, (csr, x), bar)
    grew = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    inputs = bytes_of(offsets, columns, values, x, bar)
    print(grew, inputs, bytes_of(y, csr_bar.values(), x_bar))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # torch says that its CSR support is in beta
    torch.set_num_threads(2)
    lacuna.set_threads(2)
    main()
