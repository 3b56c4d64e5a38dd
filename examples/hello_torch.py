# SPDX-License-Identifier: Apache-2.0
"""The smallest whole program in PyTorch: solve A u = f, and gradients of any order with respect to the entries of A."""

# [readme]
import numpy as np
import torch
import lacuna
import lacuna.torch as lt

row, col = np.array([2, 0, 0, 1, 1, 2]), np.array([2, 0, 1, 1, 2, 0])
pattern = lacuna.Pattern.from_coo(row, col, (3, 3))  # unsorted; duplicates would be summed
values = torch.tensor([2.0, 4, 1, 3, 1, 1], dtype=torch.float64, requires_grad=True)
f = torch.tensor([1.0, 2, 3], dtype=torch.float64)


def loss(values):
    u = lt.solve(pattern, lt.remap(pattern.entries, values), f)  # factored once, also for the backward
    return u @ u


loss(values).backward()  # values.grad: six numbers, nothing dense
hessian = torch.func.hessian(loss)(values.detach())
fast = torch.compile(loss, fullgraph=True)
# [end]

if __name__ == "__main__":
    print(values.grad, hessian.shape, fast(values).item())
