# SPDX-License-Identifier: Apache-2.0
"""The smallest whole program in PyTorch: solve A u = f, and gradients of any order with respect to the entries of A."""

# [readme]
import torch
import lacuna.torch as lt

row, col = torch.tensor([2, 0, 0, 1, 1, 2]), torch.tensor([2, 0, 1, 1, 2, 0])  # unsorted; duplicates would be summed
values = torch.tensor([2.0, 4, 1, 3, 1, 1], dtype=torch.float64, requires_grad=True)
f = torch.tensor([1.0, 2, 3], dtype=torch.float64)
A = lt.SparseTensor(values, row, col, (3, 3))  # a frozen pattern, and `values` in the order above


def loss(values):
    u = A.with_values(values).solve(f)  # factored once, also for the backward
    return u @ u


loss(values).backward()  # values.grad: six numbers, nothing dense
hessian = torch.func.hessian(loss)(values.detach())
fast = torch.compile(loss, fullgraph=True)
# [end]

if __name__ == "__main__":
    print(values.grad, hessian.shape, fast(values).item())
