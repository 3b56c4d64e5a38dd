# SPDX-License-Identifier: Apache-2.0
"""Lines, groups, matrices made of matrices: beside SciPy, NumPy and dense torch, with first and second derivatives."""

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from reference import dense, rectangular, values

import lacuna
import lacuna.torch as lt

P = rectangular()  # 7 x 5, row 3 empty
Q = lacuna.Pattern.from_coo([0, 1, 2, 0, 2, 6, 5, 3], [0, 1, 2, 2, 1, 4, 3, 3], (7, 5))
RNG = np.random.default_rng(7)
G = lacuna.Map([0, 2, 2, -1, 0, 4, 4, 4], 5)  # groups 1 and 3 are empty


def scipy_pair(complex_=False):
    """Values of P and Q, and their SciPy matrices."""
    made = []
    for p in (P, Q):
        a = RNG.standard_normal(p.nnz) + (1j * RNG.standard_normal(p.nnz) if complex_ else 0)
        made += [a, p.to_scipy(a)]
    return made


def equal(pattern, a, matrix):
    assert pattern.shape == matrix.shape
    np.testing.assert_allclose(pattern.to_scipy(a).toarray(), matrix.toarray(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("complex_", [False, True])
def test_matrices_of_matrices_are_scipys(complex_):
    a, A, b, B = scipy_pair(complex_)
    equal(P.intersection(Q)[0], lacuna.hadamard(P, a, Q, b), A.multiply(B).tocsr())
    equal(P.kron(Q)[0], lacuna.kron(P, a, Q, b), sp.kron(A, B).tocsr())
    equal(lacuna.Pattern.block_diag([P, Q])[0], lacuna.block_diag([P, Q], [a, b]), sp.block_diag([A, B]).tocsr())
    for name in ("hstack", "vstack"):
        made, maps = getattr(lacuna.Pattern, name)([P, Q])
        stacked = lacuna.remap(maps[0], a) + lacuna.remap(maps[1], b)
        equal(made, stacked, getattr(sp, name)([A, B]).tocsr())


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("triangle", ["lower", "upper"])
def test_a_triangle_makes_the_whole_matrix_of_scipy(triangle, complex_):
    p = lacuna.Pattern.from_coo([0, 1, 2, 3, 2, 0, 1, 3], [0, 1, 0, 1, 3, 3, 2, 3], (4, 4))  # entries on both sides
    a = RNG.standard_normal(p.nnz) + (1j * RNG.standard_normal(p.nnz) if complex_ else 0)
    cut = (sp.tril, sp.triu) if triangle == "lower" else (sp.triu, sp.tril)
    for op, turned in (("H", lambda t: t.conj().T), ("T", lambda t: t.T)):
        part, strict = cut[0](p.to_scipy(a)), cut[0](p.to_scipy(a), -1 if triangle == "lower" else 1)
        equal(p.mirror(triangle)[0], lacuna.mirror(p, a, triangle, op), (part + turned(strict)).tocsr())
        made = lambda v: lt.mirror(p, v, triangle, op)  # noqa: B023, E731
        assert torch.autograd.gradcheck(made, (torch.tensor(a, requires_grad=True),))
    with pytest.raises(lacuna.ShapeError, match="square"):
        lacuna.mirror(P, np.ones(P.nnz))
    with pytest.raises(lacuna.ArgumentError, match='op = 0; give "adjoint"'):
        lacuna.mirror(p, a, op="N")


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_entries_of_fixed_rows_and_columns_are_left_out(dtype):
    """-1 as row or column: the matrix is SciPy's of what is kept, and the gradient of what is dropped is 0."""
    row, col = RNG.integers(-1, 6, 60).astype(dtype), RNG.integers(-1, 4, 60).astype(dtype)
    kept = (row >= 0) & (col >= 0)
    assert 0 < kept.sum() < 60
    x = RNG.standard_normal(60)
    for index in (row, torch.tensor(row)):
        p = lacuna.Pattern.from_coo(index, col, (6, 4))
        equal(p, lacuna.remap(p.entries, x), sp.coo_array((x[kept], (row[kept], col[kept])), (6, 4)).tocsr())
        assert ((p.entries.target == -1) == ~kept).all()
    v, w = torch.tensor(x, requires_grad=True), torch.tensor(RNG.standard_normal((6, 4)))
    (dense(p, lt.remap(p.entries, v)) * w).sum().backward()
    np.testing.assert_allclose(v.grad, np.where(kept, w.numpy()[row, col], 0))
    batch = torch.tensor(RNG.standard_normal((2, 60)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: lt.remap(p.entries, v).square(), batch)
    assert torch.autograd.gradgradcheck(lambda v: lt.remap(p.entries, v).square(), batch)
    assert lacuna.Pattern.from_coo(np.full(3, -1), col[:3], (6, 4)).nnz == 0
    row[5] = -2
    with pytest.raises(lacuna.PatternError, match=r"row\[5\] = -2 is outside 0..5 .6 rows, counted from 0; -1 drops"):
        lacuna.Pattern.from_coo(row, np.zeros(60, dtype), (6, 4))


def test_rows_and_columns_by_lists_are_scipys():
    a, A, *_ = scipy_pair()
    rows, cols = RNG.permutation(7), RNG.permutation(5)
    made, to = P.permute(rows, cols)
    equal(made, lacuna.remap(to, a), A[rows, :][:, cols])
    rows, cols = [3, 1, 1, -1, 0], [4, 4, 0]
    made, back = P.select(rows, cols)
    equal(made, lacuna.remap(back, a, "T"), A[rows, :][:, cols])
    equal(P.select(rows=[2])[0], lacuna.remap(P.select(rows=[2])[1], a, "T"), A[[2], :])
    for k in (-2, 0, 3):
        made = lacuna.Pattern.eye(7, 5, k)
        equal(made, np.ones(made.nnz), sp.eye(7, 5, k).tocsr())
    with pytest.raises(lacuna.ArgumentError, match="each index once"):
        P.permute([0, 0, 1, 2, 3, 4, 5])
    with pytest.raises(lacuna.ArgumentError, match="all 7"):
        P.permute([0, 1])
    with pytest.raises(lacuna.IndexOverflowError, match="beyond"):
        wide = lacuna.Pattern.eye(1, 1 << 40)
        wide.kron(wide)


def test_lines_and_norms_are_scipys():
    a, A, *_ = scipy_pair()
    d, e = RNG.standard_normal(7), RNG.standard_normal(5)
    np.testing.assert_allclose(lacuna.row_sum(P, a), A.sum(1))
    np.testing.assert_allclose(lacuna.col_sum(P, a), A.sum(0))
    np.testing.assert_allclose(lacuna.diagonal(P, a), A.diagonal())
    np.testing.assert_allclose(lacuna.trace(P, a), A.diagonal().sum())
    equal(P, lacuna.scale_rows(P, a, d), (sp.diags(d) @ A).tocsr())
    equal(P, lacuna.scale_cols(P, a, e), (A @ sp.diags(e)).tocsr())
    for ord in ("fro", 1, np.inf, 2):
        np.testing.assert_allclose(lacuna.matrix_norm(P, a, ord), np.linalg.norm(A.toarray(), ord), rtol=1e-12)
    with pytest.raises(lacuna.ConvergenceError, match="relative residual"):
        lacuna.matrix_norm(P, a, 2, steps=1)


# name -> (function, dense twin); P's values in
MASK = dense(P, torch.ones(P.nnz, dtype=torch.float64)) > 0


def nothing(A):
    """Absent entries as nothing."""
    return torch.where(MASK, A, torch.full_like(A, -torch.inf))


LINES = {
    "logsumexp rows": (lambda a: lt.sparse_logsumexp(P, a, 1), lambda A: A.logsumexp(-1)),
    "logsumexp columns": (lambda a: lt.sparse_logsumexp(P, a, -2, keepdim=True), lambda A: A.logsumexp(-2, True)),
    "logsumexp stored": (
        lambda a: lt.sparse_logsumexp(P, a, 0, include_zeros=False),
        lambda A: nothing(A).logsumexp(0),
    ),
    "softmax rows": (lambda a: lt.sparse_softmax(P, a, 1, include_zeros=True), lambda A: A.softmax(-1)[MASK]),
    "softmax stored": (lambda a: lt.sparse_softmax(P, a, 0), lambda A: nothing(A).softmax(0)[MASK]),
    "max": (lambda a: lt.sparse_max(P, a, 1), lambda A: A.amax(-1)),
    "min": (lambda a: lt.sparse_min(P, a, 0, keepdim=True), lambda A: A.amin(0, True)),
    "norm fro": (lambda a: lt.matrix_norm(P, a), lambda A: torch.linalg.matrix_norm(A)),
    "norm 1": (lambda a: lt.matrix_norm(P, a, 1), lambda A: torch.linalg.matrix_norm(A, 1)),
    "norm inf": (lambda a: lt.matrix_norm(P, a, "inf"), lambda A: torch.linalg.matrix_norm(A, torch.inf)),
    "trace": (lambda a: lt.trace(P, a), lambda A: A.diagonal().sum()),
    "kron": (lambda a: lt.kron(P, a, P, a).sum(), lambda A: torch.kron(A, A).sum()),
    "scale": (lambda a: lt.scale_rows(P, a, lt.row_sum(P, a)), lambda A: (A.sum(1, True) * A)[MASK]),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_equal_the_dense_matrix(name):
    function, twin = LINES[name]
    a = values(P).requires_grad_()
    got, want = function(a), twin(dense(P, a))
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)
    bar = torch.randn_like(want)
    grads = [torch.autograd.grad(y, a, bar)[0] for y in (got, want)]
    torch.testing.assert_close(*grads, rtol=1e-11, atol=1e-12)
    assert torch.autograd.gradcheck(function, (a,))
    assert torch.autograd.gradgradcheck(function, (a,))


def test_norm_2_can_be_differentiated_once():
    a = values(P).requires_grad_()
    y = lt.matrix_norm(P, a, 2)
    want = torch.linalg.matrix_norm(dense(P, a), 2)
    torch.testing.assert_close(y, want, rtol=1e-12, atol=0)
    got = torch.autograd.grad(y, a)[0]
    torch.testing.assert_close(got, torch.autograd.grad(want, a)[0], rtol=1e-9, atol=1e-10)
    with pytest.raises(lacuna.OrderError):
        torch.autograd.gradgradcheck(lambda v: lt.matrix_norm(P, v, 2), (a,))
    slope = torch.func.jvp(lambda v: lt.matrix_norm(P, v, 2), (a.detach(),), (torch.ones(P.nnz).double(),))[1]
    torch.testing.assert_close(slope, got.sum(), rtol=1e-9, atol=1e-10)
    twice = torch.func.jvp(torch.func.grad(lambda v: lt.matrix_norm(P, v, 2)), (a.detach(),), (a.detach(),))[1]
    assert twice.isnan().all()  # not silently wrong


def test_both_directions_come_column_first():
    a = values(P, batch=(3,))
    A = dense(P, a)
    col, row = lt.sparse_bidir_logsumexp(P, a)
    torch.testing.assert_close(col, A.logsumexp(-2))
    torch.testing.assert_close(row, A.logsumexp(-1))
    col, row = lt.sparse_bidir_logsumexp(P, a, keepdim=True)
    assert col.shape == (3, 1, 5) and row.shape == (3, 7, 1)
    padded = lt.sparse_bidir_logsumexp(P, a[0], output_layout="padded")
    assert padded.shape == (2, 7) and padded[0, 5:].eq(-torch.inf).all()
    torch.testing.assert_close(padded[1], row[0, :, 0])
    _, row = lt.sparse_bidir_logsumexp(P, a[0], include_zeros=False)
    assert row.isfinite().equal(MASK.any(1)) and row[3] == -torch.inf


def test_groups_reduce():
    x = torch.randn(8, dtype=torch.float64, requires_grad=True)
    rows = [[0, 4], [], [1, 2], [], [5, 6, 7]]
    torch.testing.assert_close(lt.segment_sum(G, x), torch.stack([x[r].sum() for r in rows]))
    mean = torch.stack([x[r].mean() if r else x.new_zeros(()) for r in rows])
    torch.testing.assert_close(lt.segment_mean(G, x), mean)
    top = torch.stack([x[r].amax() if r else -torch.inf * x.new_ones(()) for r in rows])
    torch.testing.assert_close(lt.segment_max(G, x), top)
    assert lt.segment_min(G, x, full=3)[1] == 0
    torch.testing.assert_close(lt.segment_logsumexp(G, x), torch.stack([x[r].logsumexp(0) for r in rows]))
    for f in (lt.segment_mean, lambda m, v: lt.segment_softmax(m, v, full=4)):
        assert torch.autograd.gradgradcheck(lambda v, f=f: f(G, v), (x,))
    features = torch.randn(2, 8, 3, dtype=torch.float64, requires_grad=True)
    mean = torch.stack([features[:, r].mean(1) if r else features.new_zeros(2, 3) for r in rows], 1)
    torch.testing.assert_close(lt.segment_mean(G, features, axes=1), mean)
    assert torch.autograd.gradgradcheck(lambda v: lt.segment_mean(G, v, axes=1), (features,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
def test_rows_times_the_matrices_they_name(dtype):
    index = torch.tensor([2, 0, 0, 2, 4, 2, 0])
    a, b = torch.randn(7, 3, dtype=dtype), torch.randn(5, 3, 2, dtype=dtype)
    torch.testing.assert_close(lt.gather_mm(a, b, index), torch.einsum("nd,nde->ne", a, b[index]))
    lengths = [3, 0, 2, 2, 0]
    names = torch.repeat_interleave(torch.arange(5), torch.tensor(lengths))
    torch.testing.assert_close(lt.segment_mm(a, b, lengths), torch.einsum("nd,nde->ne", a, b[names]))
    if dtype != torch.float32:
        a, b = a.requires_grad_(), b.requires_grad_()
        named = lacuna.Map(index.numpy(), 5)
        assert torch.autograd.gradcheck(lambda u, v: lt.gather_mm(u, v, named), (a, b))
        assert torch.autograd.gradgradcheck(lambda u, v: lt.gather_mm(u, v, named), (a, b))


def test_what_does_not_fit_is_refused():
    a, b = np.ones((4, 3)), np.ones((2, 3, 2))
    with pytest.raises(lacuna.ArgumentError, match="outside"):
        lacuna.gather_mm(a, b, [0, 1, 2, 0])
    with pytest.raises(lacuna.ArgumentError, match="indices are"):
        lacuna.gather_mm(a, b, [0, 1, -1, 0])
    with pytest.raises(lacuna.ShapeError, match="add up to 3"):
        lacuna.segment_mm(a, b, [1, 2])
    with pytest.raises(lacuna.ShapeError, match="1 lengths add up to 4"):
        lacuna.segment_mm(a, b, [4])
    with pytest.raises(lacuna.DtypeError, match="real arrays"):
        lacuna.sparse_logsumexp(P, np.ones(P.nnz, complex), 1)
    with pytest.raises(lacuna.ArgumentError, match="axis is 2"):
        lacuna.sparse_logsumexp(P, np.ones(P.nnz), 2)
    with pytest.raises(lacuna.ShapeError, match="last dimension"):
        lacuna.hadamard(P, np.ones(1), P, np.ones(P.nnz))


def test_what_is_made_of_a_pattern_lives_with_it():
    row = np.arange(6)
    p, q = (lacuna.Pattern.from_coo(row, (row * step) % 6, (6, 6)) for step in (1, 5))
    names = [p.row_map().key, p.transpose()[1].key, p.union(q)[2].key, p.product(q).key, p.tril(-1)[0].key]
    gc.collect()
    assert names == [p.row_map().key, p.transpose()[1].key, p.union(q)[2].key, p.product(q).key, p.tril(-1)[0].key]
    made = [weakref.ref(thing) for thing in (p.row_map(), p.union(q)[1], q.row_map(), p.tril()[1])]
    assert p.tril()[0] is p and p.union(p)[0] is p
    gc.disable()
    try:
        del q
        assert [thing() is None for thing in made] == [False, True, True, False]  # with the younger of two
        del p
        assert all(thing() is None for thing in made)
    finally:
        gc.enable()


def test_a_pattern_keeps_few_of_many_parts():
    p = lacuna.Pattern.from_coo(np.arange(200), np.arange(200), (200, 200))
    first = weakref.ref(p.submatrix((0, 1), (0, 200))[1])
    for i in range(1, 200):
        part, take = p.submatrix((i, i + 1), (0, 200))
        assert take.target.tolist() == [0 if j == i else -1 for j in range(200)]
    assert first() is None
