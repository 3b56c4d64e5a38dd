# SPDX-License-Identifier: Apache-2.0
"""Bytes that a product of a CSR tensor and a dense block takes, forward and backward, in a process of its own.

    python product_memory.py FOLDER

The folder has offsets.npy, columns.npy, values.npy and x.npy. Prints the bytes by which the process grew at its largest
while it made y and the gradients of values and x, all of which it holds at the end; then the bytes of the inputs, among
them the gradient of y, and of what was made. A product of one number ran before, which loads code; what a pattern keeps
is counted.
"""

import os
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


def peak():
    """Bytes of this process that were in memory at its largest. getrusage would count the process that started it."""
    with open("/proc/self/status") as file:
        return 1024 * next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def bytes_of(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def gradients(csr, x, bar):
    """y and the gradients of csr and x."""
    y = SparseTensor.from_torch(csr) @ x
    return y, *torch.autograd.grad(y, (csr, x), bar)


def loaded():
    """Let all code be loaded, and threads started."""
    one = torch.ones(1, 1, dtype=torch.float64)
    gradients(one.to_sparse_csr().requires_grad_(), one.clone().requires_grad_(), one)


def main():
    offsets, columns, values, x = (
        torch.from_numpy(np.load(os.path.join(sys.argv[1], f"{name}.npy")))
        for name in ("offsets", "columns", "values", "x")
    )
    shape, bar = (offsets.numel() - 1, x.shape[0]), torch.ones(offsets.numel() - 1, x.shape[1], dtype=x.dtype)
    csr = torch.sparse_csr_tensor(offsets, columns, values, shape).requires_grad_()
    loaded()
    before = resident()
    y, csr_bar, x_bar = gradients(csr, x.requires_grad_(), bar)
    grew = peak() - before
    print(grew, bytes_of(offsets, columns, values, x, bar), bytes_of(y, csr_bar.values(), x_bar))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # torch says that its CSR support is in beta
    torch.set_num_threads(2)
    lacuna.set_threads(2)
    main()
