# SPDX-License-Identifier: Apache-2.0
"""demo.c in NumPy, small: the conductivity of a plate, recovered from noisy temperatures at a fifth of its points.

    -div(k grad u_s) = f_s     on the unit square, u = 0 at the boundary, s = 1..S heat sources, n x n cells
    k     = exp(theta)         a(k) = M k: conductivities of faces are means of two cells
    loss  = |W (A(k)^-1 F - D)|^2 / (2 noise^2) + smoothness of theta
"""

import numpy as np
import scipy.sparse as sp

import lacuna

N, SOURCES, NOISE, SEEN = 24, 4, 0.01, 0.2
rng = np.random.default_rng(0)
cell = np.arange(N * N).reshape(N, N)

# Faces between two cells, and those of the boundary, whose other side has the temperature 0.
left = np.r_[cell[:, :-1].ravel(), cell[:-1].ravel()]
right = np.r_[cell[:, 1:].ravel(), cell[1:].ravel()]
edge = np.r_[cell[0], cell[-1], cell[:, 0], cell[:, -1]]
row, col = np.r_[left, right, left, right, edge], np.r_[left, right, right, left, edge]


def temperatures(theta):
    k = lacuna.exp(theta)
    face = (lacuna.gather(left, k) + lacuna.gather(right, k)) * 0.5
    entries = lacuna.concat([face, face, -face, -face, 2.0 * lacuna.gather(edge, k)], 0)
    A = lacuna.Matrix.from_coo(entries, row, col, (N * N, N * N))  # the pattern is known from the first time
    return A.solve(sources, method="cg", preconditioner="multigrid")


y, x = (np.mgrid[0:N, 0:N] + 0.5) / N
centres = rng.uniform(0.25, 0.75, (SOURCES, 2))
sources = np.stack([np.exp(-((x - a) ** 2 + (y - b) ** 2) / 0.02).ravel() for a, b in centres], 1)
truth = 0.8 * np.sin(2 * np.pi * x).ravel() * np.sin(np.pi * y).ravel()
clean = temperatures(truth)
noise = NOISE * np.abs(clean).max()
seen = (rng.random((N * N, 1)) < SEEN) * 1.0
data = clean + noise * rng.standard_normal(clean.shape)

line = sp.diags_array([-np.ones(N), np.ones(N)], offsets=[0, 1], shape=(N - 1, N))
rough, rough_values = lacuna.from_scipy(sp.kronsum(line.T @ line, line.T @ line, format="csr"))


def loss(theta):
    misfit = seen * (temperatures(theta) - data) / noise
    return 0.5 * lacuna.dot(misfit, misfit) + 2.0 * lacuna.dot(theta, lacuna.spmm(rough, rough_values, theta))


(theta,), report = lacuna.minimise(loss, np.zeros(N * N), max_iterations=80, gradient_tolerance=1e-4)
error = np.linalg.norm(theta - truth) / np.linalg.norm(truth)
first, last = report["first_value"], report["value"]
print(f"{report['iterations']} steps, loss {first:.0f} -> {last:.0f}, relative error {error:.2f}")
assert error < 0.4
