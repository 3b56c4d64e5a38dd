# SPDX-License-Identifier: Apache-2.0
"""Test matrices and their dense twins.

References are built by index_add from values: torch's own sparse constructors are differentiable once only, so a
reference made by them would share the fault it is to find.
"""

import numpy as np
import torch

import lacuna
import lacuna.torch as lt

torch.manual_seed(0)


def rectangular():
    """7 x 5, nonsymmetric, row 3 empty, with duplicates in what it was made of."""
    rng = np.random.default_rng(1)
    row, col = rng.integers(0, 7, 16), rng.integers(0, 5, 16)
    row[row == 3] = 2
    row[1], col[1] = row[0], col[0]
    pattern = lacuna.Pattern.from_coo(row, col, (7, 5))
    assert pattern.nnz < 16
    return pattern


def square(n=6):
    """n x n with a full diagonal, nonsymmetric in structure, a duplicate."""
    rng = np.random.default_rng(2)
    row = np.concatenate([np.arange(n), rng.integers(0, n, 2 * n), [0]])
    col = np.concatenate([np.arange(n), rng.integers(0, n, 2 * n), [0]])
    return lacuna.Pattern.from_coo(row, col, (n, n))


def dense(pattern, a):
    _, columns, rows = (torch.tensor(s.copy()) for s in pattern.structure())
    size = pattern.shape[0] * pattern.shape[1]
    flat = a.new_zeros(*a.shape[:-1], size).index_add(-1, rows * pattern.shape[1] + columns, a)
    return flat.reshape(*a.shape[:-1], *pattern.shape)


def values(pattern, dtype=torch.float64, batch=(), generator=None):
    """Random values; square matrices are kept well away from singular ones."""
    a = torch.randn(*batch, pattern.nnz, dtype=dtype, generator=generator)
    if pattern.shape[0] == pattern.shape[1]:
        _, columns, rows = pattern.structure()
        a = a * 0.3 + torch.tensor(columns == rows) * 3.0
    return a


class Case:
    """An operator, its dense twin, and shapes to try them on."""

    def __init__(self, name, pattern, function, twin, n):
        self.name, self.pattern, self.n = name, pattern, n
        self.function = lambda a, x: function(pattern, a, x)
        self.twin = lambda a, x: twin(dense(pattern, a), x)

    def inputs(self, dtype=torch.float64, batch_a=(), batch_x=(), k=3):
        return values(self.pattern, dtype, batch_a), torch.randn(*batch_x, self.n, k, dtype=dtype)


def cases():
    rect, sq = rectangular(), square()
    return [
        Case("spmm", rect, lt.spmm, torch.matmul, 5),
        # Not torch.linalg.solve: under vmap it pairs a batch of matrices with the wrong right-hand sides.
        Case("solve", sq, lt.solve, lambda m, x: torch.linalg.inv(m) @ x, 6),
    ]


CASES = {case.name: case for case in cases()}
FORMS = {"N": lambda m: m, "T": lambda m: m.mT, "conjugated": lambda m: m.conj(), "H": lambda m: m.mH}


def same(got, expected, rtol=1e-9):
    """Equal structure, shapes and numbers."""
    got, expected = (torch.utils._pytree.tree_leaves(tree) for tree in (got, expected))
    assert len(got) == len(expected)
    for g, e in zip(got, expected):
        assert g.shape == e.shape and g.dtype == e.dtype
        torch.testing.assert_close(g, e, rtol=rtol, atol=rtol * float(e.detach().abs().max()) if e.numel() else 0.0)


def smooth(function):
    """A real scalar with derivatives of every order, for complex inputs too: sum |y|^4 + Re y^3."""

    def loss(*inputs):
        y = function(*inputs)
        square = torch.real(y * y.conj())
        return (square * square + torch.real(y * y * y)).sum()

    return loss


def real_chart(function, *inputs):
    """(function, point) in one real vector: torch's jacobians take real inputs, and compile for one alone."""
    is_complex, shapes = inputs[0].is_complex(), [t.shape for t in inputs]
    parts = [torch.view_as_real(t) if is_complex else t for t in inputs]

    def of_vector(z):
        pieces = z.split([p.numel() for p in parts])
        if is_complex:
            pieces = [torch.view_as_complex(piece.reshape(-1, 2)) for piece in pieces]
        return function(*[piece.reshape(shape) for piece, shape in zip(pieces, shapes)])

    return of_vector, torch.cat([p.reshape(-1) for p in parts])


def second(outer, inner):
    """Two jacobians of a scalar, one of the other: all blocks, the mixed ones too."""

    def evaluate(f, d):
        loss, point = real_chart(smooth(f), d["a"], d["x"])
        return outer(inner(loss))(point)

    return evaluate


F = torch.func
# What a user may wrap around a function of (a, x): name -> transform(function, case) evaluated on fixed inputs.
TRANSFORMS = {
    "forward": lambda f, d: f(d["a"], d["x"]),
    "grad": lambda f, d: F.grad(smooth(f), (0, 1))(d["a"], d["x"]),
    "vmap_values": lambda f, d: F.vmap(f, (0, None))(d["A"], d["x"]),
    "vmap_both": lambda f, d: F.vmap(f, (1, 2), out_dims=1)(d["A"].T, d["X"].permute(1, 2, 0)),
    "vmap_inside_batch": lambda f, d: F.vmap(f, (None, 0))(d["A"], d["X"]),
    "vmap_of_grad": lambda f, d: F.vmap(F.grad(smooth(f), (0, 1)), (0, None))(d["A"], d["x"]),
    "vmap_of_grad_shared": lambda f, d: F.vmap(F.grad(smooth(f), (0, 1)), (None, 0))(d["A"], d["X"]),
    "grad_of_vmap": lambda f, d: F.grad(lambda a, x: smooth(F.vmap(f, (0, None)))(a, x), (0, 1))(d["A"], d["x"]),
    "jvp": lambda f, d: F.jvp(f, (d["a"], d["x"]), (d["a"].sin(), d["x"].cos())),
    "jvp_one": lambda f, d: F.jvp(lambda a: f(a, d["x"]), (d["a"],), (d["a"].sin(),)),
    "hessian": second(F.jacfwd, F.jacrev),
    "jacrev_of_jacrev": second(F.jacrev, F.jacrev),
    "jacrev_of_jacfwd": second(F.jacrev, F.jacfwd),
    "jacfwd_of_jacfwd": second(F.jacfwd, F.jacfwd),
}


def data(case, dtype=torch.float64):
    """Inputs, plain and batched, for TRANSFORMS."""
    a, x = case.inputs(dtype)
    big_a, big_x = case.inputs(dtype, (4,), (4,))
    return {"a": a, "x": x, "A": big_a, "X": big_x}
