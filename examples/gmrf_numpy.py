# SPDX-License-Identifier: Apache-2.0
"""gmrf.c in NumPy: a Gaussian Markov random field on a grid of 60 x 60, fitted by exact maximum likelihood.

    field        x ~ N(0, Q^-1),   Q = tau (kappa^2 I + G)          G: the graph Laplacian of the grid
    data         y = x + sigma e,  e ~ N(0, I)
    likelihood   -2 log p(y) = logdet(Q + s I) - logdet Q - n log s + s y^T y - s^2 y^T (Q + s I)^-1 y + n log 2 pi,
                 s = 1 / sigma^2
"""

import numpy as np
import scipy.sparse as sp

import lacuna

FORM = 60
N = FORM * FORM
NAMES, TRUTH = ("tau", "kappa", "sigma"), np.array([2.0, 0.3, 0.5])

beside, middle = -np.ones(FORM - 1), np.r_[1.0, np.full(FORM - 2, 2.0), 1.0]
path = sp.diags_array([beside, middle, beside], offsets=[-1, 0, 1])
pattern, laplacian = lacuna.from_scipy(sp.kronsum(path, path, format="csr"))
_, columns, rows = pattern.structure()
identity, solver = (rows == columns) * 1.0, lacuna.Solver(pattern)


def precision(theta):
    tau, kappa = lacuna.exp(theta[0]), lacuna.exp(theta[1])
    return tau * (kappa * kappa * identity + laplacian)


def likelihood(theta):
    """-log p(y) / n, which keeps the numbers of the search near 1."""
    q, s = precision(theta), lacuna.exp(-2.0 * theta[2])
    posterior = q + s * identity
    misfit = s * lacuna.dot(y, y - lacuna.solve(solver, posterior, s * y))
    logdets = lacuna.logdet(solver, posterior) - lacuna.logdet(solver, q)
    return (logdets + 2.0 * N * theta[2] + misfit) * (0.5 / N) + 0.5 * np.log(2 * np.pi)


rng = np.random.default_rng(1)
a = precision(np.log(TRUTH))
lower = np.linalg.cholesky(pattern.to_scipy(a).toarray())  # to draw the field: dense, and done once
y = np.linalg.solve(lower.T, rng.standard_normal(N)) + TRUTH[2] * rng.standard_normal(N)

(theta,), report = lacuna.minimise(likelihood, np.zeros(3), gradient_tolerance=1e-8)
hessian = np.stack([lacuna.hvp(likelihood, [theta], [unit])[1][0] for unit in np.eye(3)]) * N
errors = np.sqrt(np.diag(np.linalg.inv(hessian)))  # of the logarithms
for name, found, error, true in zip(NAMES, np.exp(theta), errors, TRUTH):
    print(f"{name:6} {found:.4f} +- {found * error:.4f}   true {true}")
np.testing.assert_allclose(lacuna.logdet(solver, a), np.linalg.slogdet(pattern.to_scipy(a).toarray())[1])
assert report["outcome"].startswith("small") and (np.abs(theta - np.log(TRUTH)) < 4 * errors).all()
