# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices as tensors, from entries to gradients: the code of docs/sparse_tensor.md."""

import torch

torch.set_default_dtype(torch.float64)

# [hello]
import lacuna.torch as lt
from lacuna.torch import SparseTensor

row, col = torch.tensor([2, 0, 0, 1, 1, 2]), torch.tensor([2, 0, 1, 1, 2, 0])  # in any order
values = torch.tensor([2.0, 4, 1, 3, 1, 1])
A = SparseTensor(values, row, col, (3, 3))
f = torch.tensor([1.0, 2, 3])

values.requires_grad_()  # they are A's own values, now or later
u = A.solve(f)
(u @ u).backward()  # values.grad: six numbers in the order of `values`
assert torch.allclose(A @ u, f) and values.grad.shape == (6,) and A.grad.shape == (3, 3)
# [end]

# [rank]
batch = A.detach().with_values(torch.stack([values.detach(), 2 * values.detach()]))  # two matrices, one pattern
assert batch.shape == (2, 3, 3)
b = torch.randn(2, 3)
x = batch.solve(b)  # a vector for each matrix: one dimension more than the batch
y = batch.solve(b[..., None].expand(2, 3, 5))  # five columns for each
assert x.shape == (2, 3) and y.shape == (2, 3, 5)
# [end]

# [arithmetic]
S = A.detach()
symmetric = (S + S.T) / 2  # on the union of the places of both
assert symmetric.is_symmetric() and symmetric.nnz == 9
product = S @ S.T  # sparse
scaled = torch.tensor([1.0, 10, 100])[:, None] * S  # rows times numbers: sparse, nothing dense is made
assert torch.allclose(scaled.to_dense(), torch.diag(torch.tensor([1.0, 10, 100])) @ S.to_dense())
twice = SparseTensor(torch.tensor([1.0, 2.0]), [0, 0], [0, 0], (1, 1))  # one place, two entries
assert twice.exp().to_dense().item() == torch.tensor(3.0).exp()  # exp of their sum
# [end]

# [reductions]
assert S.max(1).tolist() == [4, 3, 2]
assert S.min(1).tolist() == [0, 0, 0]  # what is not stored is 0 ...
assert S.min(1, include_zeros=False).tolist() == [1, 1, 1]  # ... or does not count
assert torch.allclose(S.mean(), S.sum() / 9) and torch.allclose(S.mean(include_zeros=False), S.sum() / 6)
# [end]

# [info]
x, info = A.solve(f, method="gmres", rtol=1e-12, x0=u.detach(), return_info=True)
x.sum().backward()
assert info.converged and info.residual <= 1e-12  # of A x = f
assert info.adjoint.converged and info.adjoint.residual <= 1e-12  # of A^H lambda = x_bar, by which the gradient is made
# [end]

# [factor]
factor = A.lu()
solutions = [factor.solve(torch.randn(3)) for _ in range(3)]  # one factorisation, also for the backward
torch.stack(solutions).sum().backward()
# [end]

# [layouts]
csr = S.to_sparse_csr().requires_grad_()  # torch's own
(SparseTensor.from_torch(csr) @ f).sum().backward()
assert csr.grad.layout is torch.sparse_csr  # and on the places of csr
# [end]

# [module]
layer = torch.nn.Sequential(lt.nn.SparseLinear(S), torch.nn.Tanh())
layer(torch.randn(8, 3)).sum().backward()
assert "0.weight.row_indices" in layer.state_dict()  # values are a Parameter, indices are buffers
# [end]

# [list]
parts = lt.SparseTensorList([S, SparseTensor.eye(2)])
whole = parts.to_block_diagonal()
assert whole.shape == (5, 5) and lt.SparseTensorList.from_block_diagonal(whole, [(3, 3), (2, 2)])[1].nnz == 2
# [end]

# [func]
gradient = torch.func.grad(lambda A: A.solve(f).square().sum())(S)  # a SparseTensor on the same places
assert torch.allclose(gradient.to_dense(), torch.func.grad(lambda D: torch.linalg.inv(D).mv(f).square().sum())(
    S.to_dense()) * (S.to_dense() != 0))  # fmt: skip
fast = torch.compile(lambda A, b: A.T @ A.solve(b), fullgraph=True)
# [end]

if __name__ == "__main__":
    print(A, gradient, sep="\n")
