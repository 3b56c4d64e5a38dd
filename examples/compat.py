# SPDX-License-Identifier: Apache-2.0
"""A program for torch_sla and for numml whose imports alone were changed: the code of docs/compat.md."""

import torch

torch.manual_seed(0)

# [sla]
from lacuna.compat.torch_sla import SolverConfig, SparseTensor, solve, spsolve  # was: from torch_sla import ...

row, col = torch.tensor([0, 0, 1, 1, 1, 2, 2]), torch.tensor([0, 1, 0, 1, 2, 1, 2])
val = torch.tensor([4.0, -1, -1, 4, -1, -1, 4], dtype=torch.float64)
A, b = SparseTensor(val, row, col, (3, 3)), torch.tensor([1.0, 2, 3], dtype=torch.float64)

val.requires_grad_()  # after A was made: it is A's own tensor
x = A.solve(b, backend="scipy", method="lu")
x.sum().backward()
with SolverConfig(method="cg", preconditioner="jacobi", rtol=1e-12, return_info=True):
    y, info = solve(A.detach(), b)
assert torch.allclose(x, y) and info.converged and info.iter_count > 0
assert torch.allclose(A.T() @ x, b) and torch.allclose(spsolve(val, row, col, (3, 3), b), y)
# [end]

# [install]
import lacuna.compat

lacuna.compat.install()  # first: imports below, and those of other packages, find Lacuna

import numml.sparse as sp
from torchsparsegradutils import sparse_mm

S = sp.SparseCSRTensor((val.detach(), (row, col)), shape=(3, 3))
assert torch.allclose(sp.linalg.spsolve(S, b), y)
coo = torch.sparse_coo_tensor(torch.stack([row, col]), val.detach(), (3, 3)).requires_grad_()
sparse_mm(coo, b[:, None]).sum().backward()  # coo.grad is a COO tensor on the same places
# [end]
assert coo.grad.layout is torch.sparse_coo and torch.allclose(coo.grad.coalesce().values(), b[col])
