# SPDX-License-Identifier: Apache-2.0
"""numml.sparse: matrices that are functions."""


class LinearOperator:
    """A matrix by its products: rm(x) = A x, and lm(x) = x^T A."""

    def __init__(self, shape, rm=None, lm=None):
        self.shape, self.rm, self.lm = tuple(shape), rm, lm

    def __matmul__(self, x):
        return self.rm(x)

    def __rmatmul__(self, x):
        return self.lm(x)
