# SPDX-License-Identifier: Apache-2.0
"""The first lines with NumPy, SciPy and PyTorch: one matrix, one solve, one gradient in each (docs/quickstart.md)."""

# [numpy]
import numpy as np

import lacuna

row, col = [2, 0, 0, 1, 1, 2], [2, 0, 1, 1, 2, 0]  # any order; entries of one place would be summed
values, f = np.array([2.0, 4, 1, 3, 1, 1]), np.array([1.0, 2, 3])
A = lacuna.Matrix.from_coo(values, row, col, (3, 3))  # a frozen pattern, and values in the order above


def loss(values):
    u = A.with_values(values).solve(f)  # analysed once, factored once for each new `values`
    return lacuna.dot(u, u)


value, gradient = lacuna.value_and_grad(loss)(values)  # six numbers, in the order of `values`
# [end]

# [scipy]
import scipy.sparse as sp  # noqa: E402

import lacuna.scipy  # noqa: E402

S = sp.csc_array((values, (row, col)), shape=(3, 3))
u = lacuna.scipy.spsolve(S, f)  # was: scipy.sparse.linalg.spsolve
lu = lacuna.scipy.splu(S)  # many right-hand sides
log_det = lacuna.logdet(S)  # every function takes a SciPy matrix in the place of pattern and values
# [end]

# [torch]
import torch  # noqa: E402

import lacuna.torch as lt  # noqa: E402

weights = torch.tensor(values, requires_grad=True)
B = lt.SparseTensor(weights, torch.tensor(row), torch.tensor(col), (3, 3))  # its values are `weights` themselves
x, info = B.solve(torch.tensor(f), return_info=True)
(x @ x).backward()  # weights.grad, on the stored entries alone
C = (B + B.T) @ torch.eye(3, dtype=torch.float64)
# [end]

if __name__ == "__main__":
    dense = S.toarray()
    np.testing.assert_allclose(A.to_dense(), dense)
    np.testing.assert_allclose(u, np.linalg.solve(dense, f))
    np.testing.assert_allclose(lu.solve(f), u)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(dense)[1])
    adjoint = np.linalg.solve(dense.T, 2 * u)  # d (u.u) / d a_ij = -adjoint_i u_j
    np.testing.assert_allclose(gradient, -adjoint[row] * u[col])
    np.testing.assert_allclose(weights.grad.numpy(), gradient)
    np.testing.assert_allclose(C.detach().numpy(), dense + dense.T)
    print(f"loss {value:.6f}, gradient {gradient.round(4)}, {info.method}")
