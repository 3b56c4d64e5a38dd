# SPDX-License-Identifier: Apache-2.0
"""A finite-element matrix as a function of the material, and the gradient of a compliance with respect to it.

assembling.c in PyTorch: a cantilever of bilinear squares in plane stress, clamped at its left edge and pulled down at
its right.
"""

import numpy as np
import torch

import lacuna
import lacuna.torch as lt

NX, NY, POISSON = 24, 8, 0.3


def element_matrix():
    """The integral of B^T D B over a square of side 1, by 2 x 2 Gauss points."""
    x_of, y_of = np.array([-1, 1, 1, -1]), np.array([-1, -1, 1, 1])
    d = np.array([[1, POISSON, 0], [POISSON, 1, 0], [0, 0, (1 - POISSON) / 2]]) / (1 - POISSON**2)
    k = np.zeros((8, 8))
    for x in (-(3**-0.5), 3**-0.5):
        for y in (-(3**-0.5), 3**-0.5):
            b = np.zeros((3, 8))
            b[0, ::2] = b[2, 1::2] = x_of * (1 + y_of * y) / 2
            b[1, 1::2] = b[2, ::2] = y_of * (1 + x_of * x) / 2
            k += b.T @ d @ b / 4
    return torch.tensor(k)


# [structure]
x, y = (axis.ravel() for axis in np.meshgrid(np.arange(NX), np.arange(NY), indexing="ij"))
corner_x, corner_y = x[:, None] + [0, 1, 1, 0], y[:, None] + [0, 0, 1, 1]
node = np.where(corner_x == 0, -1, (corner_x - 1) * (NY + 1) + corner_y)  # -1: fixed
dof = np.where(node[..., None] < 0, -1, 2 * node[..., None] + [0, 1]).reshape(-1, 8)
row, col = (axis.ravel() for axis in np.broadcast_arrays(dof[:, :, None], dof[:, None, :]))

free = 2 * NX * (NY + 1)
pattern = lacuna.Pattern.from_coo(row, col, (free, free))  # what is fixed is dropped
solver = lacuna.Solver(pattern)
# [end]

unit = element_matrix()
load = torch.zeros(free, dtype=torch.float64)
load[2 * ((NX - 1) * (NY + 1) + NY // 2) + 1] = -1


# [compliance]
def compliance(moduli):
    """Every entry times the modulus of its element, summed into the slots of K; a solve; a product."""
    k = lt.remap(pattern.entries, (moduli[:, None, None] * unit).ravel())
    return load @ lt.solve(solver, k, load)


moduli = (1 + 0.5 * torch.sin(0.7 * torch.arange(NX * NY, dtype=torch.float64))).requires_grad_()
c = compliance(moduli)
c.backward()
# [end]

if __name__ == "__main__":
    total = (moduli * moduli.grad).sum().item()  # c is homogeneous of degree -1
    print(f"compliance {c.item():.9f}, sum of e dc/de {total:.9f}")
    assert abs(total + c.item()) < 1e-9 * c.item()
