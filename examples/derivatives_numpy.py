# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions of NumPy arrays: the code of docs/derivatives.md."""

import numpy as np
import scipy.sparse as sp

import lacuna

# [gradient]
A = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(5, 5), format="csr")
pattern, values = lacuna.from_scipy(A)
b = np.ones(5)


def loss(values, b):
    u = lacuna.solve(pattern, values, b)
    return np.sum(u**2) + 0.1 * lacuna.logdet(pattern, values)


value, (by_values, by_b) = lacuna.value_and_grad(loss, argnums=(0, 1))(values, b)
u = np.linalg.solve(A.toarray(), b)
assert np.allclose(by_b, 2 * np.linalg.solve(A.toarray().T, u))
# [end]

# [orders]
direction = np.ones_like(values)
gradients, products = lacuna.hvp(lambda values: loss(values, b), (values,), (direction,))  # H v, H is never formed
y, pull = lacuna.vjp(lambda b: lacuna.spmm(A, b), b)  # pull(y_bar) = (A^H y_bar,)
y, y_dot = lacuna.jvp(lambda b: lacuna.spmm(A, b), (b,), (b,))  # A b, by forward mode
third = lacuna.grad(lacuna.grad(lacuna.grad(lambda x: x**4)))(2.0)
assert np.allclose(pull(b)[0], A.T @ b) and np.allclose(y_dot, A @ b) and third == 48
# [end]

# [check]
report = lacuna.gradcheck(loss, values, b)  # forward, backward, central differences, second order
assert report["tangent"] < 1e-5
# [end]

# [minimise]
(found,), report = lacuna.minimise(lambda x: np.sum((lacuna.spmm(A, x) - b) ** 2), np.zeros(5))
assert report["outcome"] == "small_gradient" and np.allclose(A @ found, b)
# [end]


# [checkpoint]
def step(values, x):
    return x + 0.1 * lacuna.spmm(pattern, values, np.tanh(x))


def after(values, steps=20):
    x = b
    for _ in range(steps):
        x = lacuna.checkpoint(step, values, x)  # keeps x alone; the derivative computes the step again
    return np.sum(x * x)


lacuna.grad(after)(values)
# [end]
