# SPDX-License-Identifier: Apache-2.0
"""Peers on one GPU: conjugate gradients with Jacobi of CSR tensors on the device, each as its library has it.

A peer is called with offsets, columns, values, b and a tolerance, and gives x with its iterations; one that is not
installed, or fails, raises. `torch` is what torch-sla does: CG in torch's own operations on its CSR product.
"""

import inspect
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others use the card too

import torch

MOST = 100000  # iterations
LOOKS = 10  # iterations between two looks at the residual, each of which waits for the device


def jacobi(offsets, columns, values):
    """1 over the diagonal."""
    n = offsets.numel() - 1
    rows = torch.repeat_interleave(torch.arange(n, device="cuda"), offsets.diff().long())
    out = torch.ones(n, dtype=values.dtype, device="cuda")
    on = rows == columns
    out[rows[on]] = values[on]
    return 1 / out


def by_torch(offsets, columns, values, b, rtol):
    n, b = offsets.numel() - 1, b[:, 0]
    a = torch.sparse_csr_tensor(offsets, columns.to(offsets.dtype), values, (n, n))
    inverse = jacobi(offsets, columns, values)
    x, r = torch.zeros_like(b), b.clone()
    z = inverse * r
    p, rz, target = z.clone(), r @ z, rtol * b.norm()
    for i in range(1, MOST + 1):
        ap = a @ p
        alpha = rz / (p @ ap)
        x.add_(alpha * p)
        r.sub_(alpha * ap)
        if i % LOOKS == 0 and r.norm() <= target:
            return x[:, None], i
        z = inverse * r
        before, rz = rz, r @ z
        p = z.add_((rz / before) * p)
    return x[:, None], MOST


def by_cupy(offsets, columns, values, b, rtol):
    import cupy
    import cupyx.scipy.sparse as cs
    import cupyx.scipy.sparse.linalg as cl

    n, seen = offsets.numel() - 1, [0]
    a = cs.csr_matrix(tuple(cupy.from_dlpack(t) for t in (values, columns, offsets)), shape=(n, n))
    inverse = cupy.from_dlpack(jacobi(offsets, columns, values))
    m = cl.LinearOperator((n, n), matvec=lambda r: inverse * r, dtype=inverse.dtype)

    def count(_):
        seen[0] += 1

    named = "rtol" if "rtol" in inspect.signature(cl.cg).parameters else "tol"  # as it is called by versions
    right, options = cupy.from_dlpack(b[:, 0].contiguous()), {named: rtol, "atol": 0, "maxiter": MOST}
    x, _ = cl.cg(a, right, M=m, callback=count, **options)
    return torch.from_dlpack(x)[:, None], seen[0]


def by_jax(offsets, columns, values, b, rtol):
    import jax

    jax.config.update("jax_enable_x64", True)
    from jax.experimental.sparse import BCSR
    from jax.scipy.sparse.linalg import cg

    n = offsets.numel() - 1
    inverse = jax.dlpack.from_dlpack(jacobi(offsets, columns, values))
    parts = (jax.dlpack.from_dlpack(t) for t in (values, columns, offsets.to(columns.dtype)))
    a = BCSR(tuple(parts), shape=(n, n), unique_indices=True, indices_sorted=True)
    right = jax.dlpack.from_dlpack(b[:, 0].contiguous())
    solve = jax.jit(lambda a, m, right: cg(lambda v: a @ v, right, tol=rtol, maxiter=MOST, M=lambda r: m * r)[0])
    return torch.from_dlpack(solve(a, inverse, right).block_until_ready())[:, None], None


PEERS = {"torch CG": by_torch, "CuPy CG": by_cupy, "JAX CG": by_jax}
