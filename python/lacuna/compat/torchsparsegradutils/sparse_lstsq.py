# SPDX-License-Identifier: Apache-2.0
"""torchsparsegradutils.sparse_lstsq: least squares of torch sparse tensors, with the whole gradient, to every order."""

from lacuna.torch import SparseTensor

from .._later import later


def sparse_generic_lstsq(A, B, lstsq=None, transpose_lstsq=None):
    """x that minimises |A x - B|, the shortest where there are many: A tall, wide or square. Lacuna's own method is
    taken; a function of the caller's is not."""
    if lstsq is not None or transpose_lstsq is not None:
        return later("sparse_generic_lstsq(lstsq=...)", "least squares by functions of the caller")()
    return SparseTensor.of(A, "sparse_generic_lstsq").lstsq(B)
