# SPDX-License-Identifier: Apache-2.0
"""torch-fem's solver on Lacuna's: the adapter, and the calls that torch-fem makes of it, a solve and its adjoint."""

import torch

# [adapter]
from lacuna.torch import SparseTensor


def sparse_solve(A, b, B=None, stol=1e-10, **_):
    """In place of torchfem.sparse.sparse_solve: B are rigid body modes, which iterative methods take as a hint."""
    is_transposed = A.layout == torch.sparse_csc  # the adjoint's A.t()
    matrix = SparseTensor.from_torch(A.t() if is_transposed else A)
    hints = {} if B is None else {"near_null": B}
    x, info = matrix.solve(b, rtol=stol, op="T" if is_transposed else "N", return_info=True, **hints)
    return x, None, None, info.iterations

# [end]


def main():
    torch.manual_seed(3)
    dense = torch.eye(6, dtype=torch.float64) * 4 + torch.rand(6, 6, dtype=torch.float64).tril()
    b, modes = torch.ones(6, dtype=torch.float64), torch.ones(6, 1, dtype=torch.float64)
    A = dense.to_sparse_csr()
    for matrix, expected in ((A, dense), (A.t(), dense.T)):
        x, *_ = sparse_solve(matrix, b, B=modes)
        torch.testing.assert_close(expected @ x, b)
    print("a solve and its adjoint, one factor")


if __name__ == "__main__":
    main()
