# SPDX-License-Identifier: Apache-2.0
"""csc_solve.c in NumPy: a matrix of compressed columns, its factor, many right-hand sides, the log-determinant."""

import numpy as np

import lacuna

N, K = 5, 2

# The second difference by columns: -1, 2, -1, but for what lies outside.
rows = [i for j in range(N) for i in range(max(j - 1, 0), min(j + 2, N))]
offsets = np.cumsum([0] + [min(j + 2, N) - max(j - 1, 0) for j in range(N)])
columns = np.repeat(np.arange(N), np.diff(offsets))

# [solve]
A = lacuna.Matrix.from_csc(np.where(rows == columns, 2.0, -1.0), offsets, rows, (N, N))
factor = A.factor()
b = np.arange(1.0, N * K + 1).reshape(N, K)
x = factor.solve(b)
sign, logdet = factor.slogdet()
# [end]

np.testing.assert_allclose(A.to_scipy() @ x, b)
np.testing.assert_allclose(sign * np.exp(logdet), N + 1)
print(f"det {sign * np.exp(logdet):.6f}, {factor.report['method']}")
