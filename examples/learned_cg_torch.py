# SPDX-License-Identifier: Apache-2.0
"""learned_cg.c in PyTorch: a preconditioner of conjugate gradients, learned by differentiating through three steps.

    A    = A8 (x) I + I (x) A8, A8 = tridiag(-1, 2, -1)     the 64 x 64 Laplacian of a square
    z    = L L^T r                                          L lower bidiagonal: 127 numbers, at first 2 and 0.1
    loss = sum_i w_i log10(1 + |r_i| / |b|)                 w_i ~ 0.7^(3 - i), i = 0..3, summing to 1
"""

import torch

import lacuna.torch as lt

FORM, STEPS = 8, 3
N = FORM * FORM
KNOWN = {0: (1.542e-1, 1.727e-1), 100: (1.127e-1, 4.806e-2)}  # iteration: the published loss and |r_3| / |b|

line = lt.SparseTensor.tridiagonal(FORM)
A = line.kron(lt.SparseTensor.eye(FORM)) + lt.SparseTensor.eye(FORM).kron(line)
place = torch.arange(2 * N - 1)
entries = torch.where(place % 2 == 1, 0.1, 2.0).double().requires_grad_()
L = lt.SparseTensor(entries, (place + 1) // 2, place // 2, (N, N))
b = (-1 + 2 * (torch.arange(N) // FORM + 1) / (FORM + 1)).double()
weights = 0.7 ** torch.arange(STEPS, -1, -1).double()


def residuals():
    """|r_i| / |b| of preconditioned conjugate gradients from x = 0."""
    r, found = b, [torch.ones((), dtype=torch.float64)]
    z = L @ (L.T @ r)
    d, rz = z, r @ z
    for _ in range(STEPS):
        ad = A @ d
        r = r - rz / (d @ ad) * ad
        found.append(r.norm() / b.norm())
        z = L @ (L.T @ r)
        d, rz = z + (r @ z) / rz * d, r @ z
    return torch.stack(found)


adam = torch.optim.AdamW([entries], lr=1e-3, weight_decay=0.01)
for iteration in range(101):
    found = residuals()
    loss = (weights / weights.sum() * torch.log10(1 + found)).sum()
    if iteration in KNOWN:
        print(f"iteration {iteration}: loss {loss.item():.3e}, |r_3|/|b| {found[-1].item():.3e}")
        torch.testing.assert_close((loss.item(), found[-1].item()), KNOWN[iteration], rtol=6e-4, atol=0)
    adam.zero_grad()
    loss.backward()
    adam.step()
