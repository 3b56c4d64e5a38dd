# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors to try things on, and their dense twins, which are built by index_put from the caller's entries."""

import numpy as np
import scipy.sparse as sp
import torch

from lacuna.torch import SparseTensor

check, check2 = torch.autograd.gradcheck, torch.autograd.gradgradcheck


class Given:
    """Entries as a user has them: indices in no order, some of one place twice."""

    def __init__(self, rows, columns, shape, batch=(), block=(), index=torch.int64, dtype=torch.float64, seed=0):
        self.rows, self.columns = (torch.tensor(side, dtype=index) for side in (rows, columns))
        self.shape, self.batch, self.block = (*batch, *shape, *block), batch, block
        generator = torch.Generator().manual_seed(seed)
        self.values = torch.randn(*batch, len(rows), *block, dtype=dtype, generator=generator)
        if shape[0] == shape[1] and len(block) in (0, 2):  # well away from singular
            on_diagonal = (self.rows == self.columns).to(dtype)
            unit = torch.eye(*block, dtype=dtype) if block else torch.ones((), dtype=dtype)
            self.values = 0.3 * self.values + 3 * on_diagonal.reshape(-1, *[1] * len(block)) * unit

    def tensor(self, values=None):
        dims = len(self.batch), len(self.batch) + 1
        return SparseTensor(self.values if values is None else values, self.rows, self.columns, self.shape, dims)

    def dense(self, values=None):
        """The twin, [*batch, M, N, *block]."""
        values = self.values if values is None else values
        at = len(self.batch)
        moved = values.movedim(at, 0)
        whole = values.new_zeros(*self.shape[at : at + 2], *self.batch, *self.block)
        whole = whole.index_put((self.rows.long(), self.columns.long()), moved, accumulate=True)
        return whole.movedim((0, 1), (at, at + 1))

    def matrix(self, values=None):
        """The twin with blocks side by side, [*batch, rows, columns]."""
        dense, at = self.dense(values), len(self.batch)
        return dense.transpose(at + 1, at + 2).flatten(at + 2).flatten(at, at + 1) if self.block else dense


_SQUARE = ([3, 0, 2, 1, 0, 4, 4, 3, 1, 0, 2], [3, 0, 2, 1, 3, 4, 1, 0, 4, 0, 3], (5, 5))
_WIDE = ([2, 0, 0, 1, 2, 0], [4, 3, 0, 2, 1, 3], (4, 5))
GIVEN = {
    "square": Given(*_SQUARE),
    "int32": Given(*_SQUARE, index=torch.int32),
    "batched": Given(*_SQUARE, batch=(3,)),
    "batches": Given(*_SQUARE, batch=(2, 3)),
    "blocks": Given(*_SQUARE, block=(2, 2)),
    "batched_blocks": Given(*_SQUARE, batch=(2,), block=(2, 2)),
    "complex": Given(*_SQUARE, dtype=torch.complex128),
    "wide": Given(*_WIDE),
    "batched_wide": Given(*_WIDE, batch=(3,)),
    "oblong_blocks": Given(*_WIDE, block=(2, 3)),
}
SQUARES = [name for name in GIVEN if "wide" not in name and "oblong" not in name]


def random(*shape, like, seed=1):
    return torch.randn(*shape, dtype=like.dtype, generator=torch.Generator().manual_seed(seed))


def differentiates(function, *inputs, second=True):
    """Backward and forward mode against differences, and both of the gradient."""
    inputs = [t.detach().clone().requires_grad_() for t in inputs]
    assert check(function, inputs, check_forward_ad=True)
    assert not second or check2(function, inputs)


def grid(m=8, scale=1.0):
    """The five-point matrix, by SciPy."""
    line = sp.diags_array([-np.ones(m - 1), 2 * np.ones(m), -np.ones(m - 1)], offsets=[-1, 0, 1])
    return (scale * (sp.kron(line, sp.eye(m)) + sp.kron(sp.eye(m), line))).tocoo()


def entries(matrix):
    return (torch.tensor(matrix.data), torch.tensor(matrix.row).long(), torch.tensor(matrix.col).long(), matrix.shape)


def given(name="square"):
    case = GIVEN[name]
    return case, (case.values, case.rows, case.columns, case.shape)
