# SPDX-License-Identifier: Apache-2.0
"""What the gradient of a sparse matrix means, in six numbers each: the code of docs/gradients.md."""

import numpy as np
import torch

import lacuna
import lacuna.torch as lt

torch.set_default_dtype(torch.float64)

# [stored]
# A = [[2, 0*, .], [., 3, 1]] with a stored zero at (0, 1); nothing is stored at the dots.
pattern = lacuna.Pattern.from_coo(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), (2, 3))
values = torch.tensor([2.0, 0, 3, 1], requires_grad=True)
x = torch.tensor([1.0, 10, 100])

lt.spmm(pattern, values, x).sum().backward()
assert values.grad.tolist() == [1, 10, 10, 100]  # one number a stored entry: the zero has one, the dots have none
# [end]

# [dense]
dense = lt.to_dense(pattern, values.detach()).requires_grad_()
(dense @ x).sum().backward()
assert dense.grad.tolist() == [[1, 10, 100], [1, 10, 100]]  # six numbers: those at the dots are not ours
rows, cols = [0, 0, 1, 1], [0, 1, 1, 2]
assert dense.grad[rows, cols].tolist() == values.grad.tolist()  # the same numbers where entries are stored
# [end]

# [duplicates]
# Entry (0, 0) comes twice: A holds 2 + 5, and each of the two moves it alike.
twice = lacuna.Pattern.from_coo(np.array([0, 1, 0]), np.array([0, 1, 0]), (2, 2))
parts = torch.tensor([2.0, 1, 5], requires_grad=True)
a = lt.remap(twice.entries, parts)  # three numbers to two slots
lt.spmm(twice, a, torch.tensor([3.0, 4])).sum().backward()
assert a.tolist() == [7, 1] and parts.grad.tolist() == [3, 4, 3]
# [end]

# [symmetric]
# [[a, b], [b, c]]: three parameters, four slots. The map says that b stands at (0, 1) and at (1, 0).
square = lacuna.Pattern.from_coo(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), (2, 2))
tied = lacuna.Map([0, 1, 1, 2], 3)  # slot -> parameter
abc = torch.tensor([4.0, 1, 3], requires_grad=True)
u = lt.solve(square, lt.remap(tied, abc, op="T"), torch.tensor([1.0, 2]))
(u @ u).backward()
free = lt.remap(tied, abc.detach(), op="T").requires_grad_()
u = lt.solve(square, free, torch.tensor([1.0, 2]))
(u @ u).backward()
assert torch.allclose(abc.grad, torch.stack([free.grad[0], free.grad[1] + free.grad[2], free.grad[3]]))
# [end]

# [unread]
# A unit triangular solve reads what is strictly below the diagonal: the rest has a gradient of exactly zero.
full = torch.tensor([7.0, 5, 2, 9], requires_grad=True)
y = lt.trisolve(square, full, torch.tensor([1.0, 1]), triangle="lower", diagonal="unit")
y.sum().backward()
assert full.grad.tolist() == [0, 0, -1, 0]
# [end]

# [complex]
# |z|^2 grows fastest along z itself: the gradient is dL/dRe + i dL/dIm, and z - step * gradient descends.
z = torch.tensor([3 + 4j], requires_grad=True)
one = lacuna.Pattern.from_coo(np.array([0]), np.array([0]), (1, 1))
lt.spmm(one, z, torch.ones(1, dtype=torch.complex128)).abs().square().sum().backward()
assert torch.allclose(z.grad, 2 * z.detach())
# [end]

print("gradients are what docs/gradients.md says")
