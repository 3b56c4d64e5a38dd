# SPDX-License-Identifier: Apache-2.0
"""jacobi_weights.c in NumPy: the best weights of one Jacobi step, one for each unknown.

    e(omega) = (I - diag(omega) D^-1 A) x        A = tridiag(-1, 2, -1), n = 16
    loss     = sum over x of e^T A e             x over the unit vectors: the mean over random x ~ N(0, I)
"""

import numpy as np

import lacuna

N = 16
EXACT = [0.7889, 0.5279, 0.6276, 0.5895, 0.6040, 0.5985, 0.6006, 0.5999]  # from the normal equations; symmetric

i, low, high = np.arange(N), np.arange(N - 1), np.arange(1, N)
entries = np.r_[np.full(N, 2.0), np.full(2 * N - 2, -1.0)]
A = lacuna.Matrix.from_coo(entries, np.r_[i, low, high], np.r_[i, high, low], (N, N))
x = np.eye(N)


def loss(omega):
    e = x - omega * (A @ x) / 2  # the diagonal is 2
    return lacuna.dot(e, A @ e)


(omega,), report = lacuna.minimise(loss, np.full((N, 1), 0.5), gradient_tolerance=1e-9)
print(f"{report['outcome']} in {report['iterations']} steps: {omega[: N // 2, 0].round(4)}")
np.testing.assert_allclose(omega[:, 0], EXACT + EXACT[::-1], atol=6e-5)
