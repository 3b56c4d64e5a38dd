# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.utils.lsmr: least squares of a matrix."""

import torch

import lacuna.torch as lt
from lacuna.errors import ArgumentError

from ..._later import later


def lsmr(A, b, Armat=None, n=None, damp=0.0, atol=1e-6, btol=1e-6, conlim=1e8, maxiter=None, x0=None,
         check_nonzero=True):  # fmt: skip
    """(x, 0): x minimises |A x - b|^2 + |damp x|^2, A a tensor of any layout. It is found to working precision, by a
    factorisation: tolerances and a start are not needed."""
    if callable(A) and not isinstance(A, torch.Tensor):
        return later("lsmr(function)", "least squares of functions")()
    if not isinstance(A, torch.Tensor):
        raise ArgumentError(f"lsmr: A is a {type(A).__name__}; it must be a tensor")
    tensor = lt.SparseTensor.of(A)
    return tensor.lstsq(b, damp=None if damp == 0 else damp), 0
