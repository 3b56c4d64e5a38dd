# SPDX-License-Identifier: Apache-2.0
"""heavy_ball.c in NumPy: the best step and momentum of twelve heavy-ball iterations, differentiated through.

    x_{k+1} = x_k - alpha A x_k + beta (x_k - x_{k-1})      A = tridiag(-1, 2, -1), n = 16, k < 12, x_{-1} = x_0
    loss    = sum over x_0 of x_12^T A x_12                 x_0 over the unit vectors
"""

import numpy as np

import lacuna

N, STEPS, SEGMENT = 16, 12, 4

i, low, high = np.arange(N), np.arange(N - 1), np.arange(1, N)
entries = np.r_[np.full(N, 2.0), np.full(2 * N - 2, -1.0)]
A = lacuna.Matrix.from_coo(entries, np.r_[i, low, high], np.r_[i, high, low], (N, N))


def segment(x, before, alpha, beta):
    """A few iterations, of which the backward keeps the ends alone."""
    for _ in range(SEGMENT):
        x, before = x - alpha * (A @ x) + beta * (x - before), x
    return x, before


def loss(alpha, beta):
    x = before = np.eye(N)
    for _ in range(STEPS // SEGMENT):
        x, before = lacuna.checkpoint(segment, x, before, alpha, beta, outputs=2)
    return lacuna.dot(x, A @ x)


start = np.full((1, 1), 0.5)
(alpha, beta), report = lacuna.minimise(loss, start, start)
print(f"{report['outcome']}: alpha {alpha.item():.4f}, beta {beta.item():.4f}, loss {report['value']:.5f}")
found = [report["first_value"], alpha.item(), beta.item(), report["value"]]
np.testing.assert_allclose(found, [0.02384, 0.6530, 0.4292, 0.01749], atol=6e-5)
