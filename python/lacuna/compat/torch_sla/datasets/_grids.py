# SPDX-License-Identifier: Apache-2.0
"""Stencils on grids, of which problems and benchmarks are made."""

import torch

from ..sparse_tensor import SparseTensor


def stiffness(n, scale=1.0):
    """scale tridiag(-1, 2, -1)."""
    return SparseTensor.tridiagonal(n, 2.0 * scale, -scale)


def upwind(m, speed):
    """speed u' by backward differences."""
    at, values = torch.arange(m), torch.full((2 * m - 1,), speed, dtype=torch.float64)
    values[m:] *= -1
    return SparseTensor(values, torch.cat([at, at[1:]]), torch.cat([at, at[:-1]]), (m, m))


def kronecker_sum(lines):
    """A_1 x I x I + I x A_2 x I + ...; the last line is that of neighbours."""
    total, *others = lines
    for other in others:
        ours, theirs = SparseTensor.eye(total.shape[0]), SparseTensor.eye(other.shape[0])
        total = total.kron(theirs) + ours.kron(other)
    return total


def shifted(A, shift):
    """A + shift I, complex."""
    return A.to(torch.complex128) + SparseTensor.eye(A.shape[0], dtype=torch.complex128) * shift
