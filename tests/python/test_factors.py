# SPDX-License-Identifier: Apache-2.0
"""Factors as arrays and least squares, beside dense torch, NumPy and SciPy."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
import torch
from reference import dense, real_chart, same, smooth, square, values

import lacuna
import lacuna.torch as lt

both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])
pattern = square()
DATA = Path(__file__).resolve().parents[2] / "data" / "matrices"


def taken(where, m):
    """The entries of dense matrices where a pattern has entries."""
    _, columns, rows = (torch.tensor(s.copy()) for s in where.structure())
    return m[..., rows, columns]


def mask(where):
    return dense(where, torch.ones(where.nnz, dtype=torch.float64)) != 0


def eliminate(m, where):
    """L and U of a dense matrix, without pivoting, only where a mask has entries."""
    n = m.shape[-1]
    left, upper, place = [], [], torch.arange(n)
    for k in range(n):
        row = torch.where(where[k] & (place >= k), m[..., k, :], 0)
        column = torch.where(where[:, k] & (place > k), m[..., :, k] / m[..., k, k][..., None], 0)
        m = torch.where(where, m - column[..., :, None] * row[..., None, :], 0)
        left.append(column + (place == k))
        upper.append(row)
    return torch.stack(left, -1), torch.stack(upper, -2)


def hermitian(m):
    return (m + m.mH) / 2


def rooted(m, where):
    left, upper = eliminate(hermitian(m), where)
    return left * upper.diagonal(dim1=-2, dim2=-1).real.sqrt()[..., None, :]


def ordered(m, ordering):
    order = torch.tensor(pattern.fill(ordering)[2].target)
    return m[..., order, :][..., :, order]


def places(ordering):
    filled = pattern.fill(ordering)[0]
    return filled.tril()[0], filled.triu()[0]


everywhere = torch.ones(6, 6, dtype=bool)
whole = pattern.union(pattern.transpose()[0])[0]
# name -> (function of values, the same of the dense matrix)
FUNCTIONS = {
    "lu.l": (
        lambda a: lt.lu(pattern, a, "natural")[0],
        lambda m: taken(places("natural")[0], eliminate(m, everywhere)[0]),
    ),
    "lu.u": (
        lambda a: lt.lu(pattern, a, "amd")[1],
        lambda m: taken(places("amd")[1], eliminate(ordered(m, "amd"), everywhere)[1]),
    ),
    "ldlt.l": (
        lambda a: lt.ldlt(pattern, a, "amd")[0],
        lambda m: taken(places("amd")[0], eliminate(ordered(hermitian(m), "amd"), everywhere)[0]),
    ),
    "ldlt.d": (
        lambda a: lt.ldlt(pattern, a, "natural")[1],
        lambda m: torch.linalg.cholesky(hermitian(m)).diagonal(dim1=-2, dim2=-1).real.square(),
    ),
    "cholesky": (
        lambda a: lt.cholesky(pattern, a),
        lambda m: taken(places("auto")[0], torch.linalg.cholesky(ordered(hermitian(m), "auto"))),
    ),
    "ilu0.l": (lambda a: lt.ilu0(pattern, a)[0], lambda m: taken(pattern.tril()[0], eliminate(m, mask(pattern))[0])),
    "ilu0.u": (lambda a: lt.ilu0(pattern, a)[1], lambda m: taken(pattern.triu()[0], eliminate(m, mask(pattern))[1])),
    "ic0": (lambda a: lt.ic0(pattern, a), lambda m: taken(whole.tril()[0], rooted(m, mask(whole)))),
}
each = pytest.mark.parametrize("name", FUNCTIONS)


def pair(name):
    function, of_dense = FUNCTIONS[name]
    return function, lambda a: of_dense(dense(pattern, a))


@each
@both
def test_first_and_second_derivatives_of_factors(name, dtype):
    function, twin = pair(name)
    a = values(pattern, dtype).requires_grad_()
    same(function(a), twin(a))
    assert torch.autograd.gradcheck(function, (a,), check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(function, (a,), check_fwd_over_rev=True)


@each
@both
def test_batches_of_factors_and_vmap(name, dtype):
    function, twin = pair(name)
    a = values(pattern, dtype, (2, 3))
    same(function(a), twin(a))
    same(torch.func.vmap(torch.func.vmap(function))(a), twin(a))
    grad = torch.func.vmap(torch.func.grad(smooth(function)))
    same(grad(a[0]), torch.func.vmap(torch.func.grad(smooth(twin)))(a[0]))


@pytest.mark.parametrize("name", ["cholesky", "ilu0.u"])
def test_hessians_and_third_derivatives_of_factors(name):
    function, twin = pair(name)
    got, expected = (real_chart(smooth(f), values(pattern, torch.complex128)) for f in (function, twin))
    same(torch.func.hessian(got[0])(got[1]), torch.func.hessian(expected[0])(got[1]), rtol=1e-8)
    a, v = values(pattern), torch.randn(pattern.nnz, dtype=torch.float64)

    def third(f):  # along one direction, twice
        along = lambda g: lambda a: torch.func.jvp(g, (a,), (v,))[1]  # noqa: E731
        return torch.func.grad(along(along(smooth(f))))(a)

    same(third(function), third(twin), rtol=1e-8)


def test_factors_compile():
    function, twin = pair("cholesky")
    compiled = torch.compile(lambda a: torch.func.grad(smooth(function))(a), fullgraph=True, backend="aot_eager")
    a = values(pattern)
    same(compiled(a), torch.func.grad(smooth(twin))(a))


@both
def test_the_gradient_of_cholesky_is_hermitian(dtype):
    """As that of torch.linalg.cholesky; of complex matrices torch's has a skew part too, which no change of A sees."""
    full = lacuna.Pattern.from_scipy(sp.csr_array(np.ones((5, 5))))
    m = torch.randn(5, 5, dtype=dtype)
    m = (m @ m.mH + torch.eye(5)).requires_grad_()
    loss = smooth(lambda l: l)
    (got,) = torch.autograd.grad(loss(lt.cholesky(full, m.reshape(-1), "natural")), m)
    (expected,) = torch.autograd.grad(loss(taken(full.tril()[0], torch.linalg.cholesky(m))), m)
    same(got, hermitian(expected))
    same(got, got.mH)


def test_factors_solve_systems():
    """P^T L^-T L^-1 P b, with the permutation as a map."""
    a, b = values(pattern).numpy(), np.random.default_rng(0).standard_normal((6, 2))
    m = hermitian(dense(pattern, torch.tensor(a))).numpy()
    filled, _, steps = pattern.fill()
    lower, left = filled.tril()[0], lacuna.cholesky(pattern, a)
    y = lacuna.trisolve(lower, left, lacuna.gather(steps, b))
    x = lacuna.scatter_add(steps, lacuna.trisolve(lower, left, y, op="T"))
    np.testing.assert_allclose(x, np.linalg.solve(m, b), rtol=1e-12)


def test_factors_refuse():
    a = values(pattern)
    with pytest.raises(lacuna.DefiniteError, match="not positive definite: pivot .* in row"):
        lt.cholesky(pattern, -a)
    with pytest.raises(lacuna.SingularError, match="pivot of row 0 is zero"):
        lacuna.ilu0(lacuna.Pattern.from_coo([0, 0, 1, 1], [0, 1, 0, 1], (2, 2)), np.array([0.0, 1, 1, 1]))
    with pytest.raises(lacuna.SingularError, match="row 1 has no diagonal entry"):
        lacuna.ilu0(lacuna.Pattern.from_coo([0, 1], [0, 0], (2, 2)), np.ones(2))
    with pytest.raises(lacuna.ShapeError, match="must be square"):
        lacuna.lu(tall, np.ones(tall.nnz))
    with pytest.raises(lacuna.ArgumentError, match="ordering is 'colamd'"):
        lacuna.lu(pattern, a.numpy(), "colamd")


def test_a_large_incomplete_factor():
    """L U equals A on the pattern of A: a grid, against the product itself."""
    n = 30
    lines = [sp.diags_array(d, offsets=[-1, 0, 1], shape=(n, n)) for d in ([-1.0, 2.5, -1.3], [-0.7, 2.0, -1.1])]
    grid = sp.kronsum(*lines, format="csr")
    p, a = lacuna.from_scipy(grid)
    left, upper = lacuna.ilu0(p, a)
    product = (p.tril()[0].to_scipy(left) @ p.triu()[0].to_scipy(upper)).toarray()
    _, columns, rows = p.structure()
    np.testing.assert_allclose(product[rows, columns], a, rtol=1e-13, atol=1e-13)


# -- least squares ---------------------------------------------------------------------------------------------------


def rectangle(m, n, seed=3):
    """m x n with a full diagonal and a duplicate."""
    rng = np.random.default_rng(seed)
    d = np.arange(min(m, n))
    row = np.concatenate([d, rng.integers(0, m, 2 * m), [0]])
    col = np.concatenate([d, rng.integers(0, n, 2 * m), [0]])
    return lacuna.Pattern.from_coo(row, col, (m, n))


tall, wide = rectangle(6, 3), rectangle(3, 5)
shapes = pytest.mark.parametrize("p", [tall, wide, rectangle(3, 3)], ids=["tall", "wide", "square"])


def strong(p, dtype=torch.float64, batch=()):
    """Random values with a strong diagonal: the rank is full."""
    _, columns, rows = p.structure()
    return torch.randn(*batch, p.nnz, dtype=dtype) * 0.4 + torch.tensor(columns == rows) * 2.0


def normal(m, b, damp=0.0):
    """By the normal equations."""
    shift = lambda s: s + damp**2 * torch.eye(s.shape[-1], dtype=s.dtype)  # noqa: E731
    if m.shape[-2] >= m.shape[-1]:
        return torch.linalg.inv(shift(m.mH @ m)) @ (m.mH @ b)
    return m.mH @ (torch.linalg.inv(shift(m @ m.mH)) @ b)


@shapes
@both
@pytest.mark.parametrize("damped", [False, True], ids=["undamped", "damped"])
def test_derivatives_of_least_squares(p, dtype, damped):
    m = p.shape[0]
    a, b = strong(p, dtype).requires_grad_(), torch.randn(m, 1, dtype=dtype, requires_grad=True)
    damp = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    inputs = (a, b, damp) if damped else (a, b)
    function = lambda a, b, *damp: lt.lstsq(p, a, b, *damp)  # noqa: E731
    both_of = lambda a, b, *damp: lt.lstsq(p, a, b, *damp, residual=True)  # noqa: E731
    twin = lambda a, b, *damp: normal(dense(p, a), b, *damp)  # noqa: E731
    x, r = both_of(*inputs)
    same(x, twin(*inputs))
    torch.testing.assert_close(r, b - dense(p, a) @ x, rtol=1e-9, atol=1e-11)
    same(torch.autograd.grad(smooth(function)(*inputs), inputs), torch.autograd.grad(smooth(twin)(*inputs), inputs))
    assert torch.autograd.gradcheck(both_of, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, inputs, check_fwd_over_rev=True)


@shapes
@both
@pytest.mark.parametrize("damped", [False, True], ids=["undamped", "damped"])
def test_least_squares_by_iterating(p, dtype, damped):
    a, b = strong(p, dtype).requires_grad_(), torch.randn(p.shape[0], 1, dtype=dtype, requires_grad=True)
    damp = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    inputs = (a, b, damp) if damped else (a, b)
    tight = lacuna.Solver(p.damped() if damped else p, "lsmr", rtol=1e-14)
    function = lambda a, b, *damp: lt.lstsq(p, a, b, *damp, solver=tight)  # noqa: E731
    twin = lambda a, b, *damp: normal(dense(p, a), b, *damp)  # noqa: E731
    x, r = lt.lstsq(p, *inputs, solver=tight, residual=True)
    same(x, twin(*inputs))
    torch.testing.assert_close(r, b - dense(p, a) @ x, rtol=1e-9, atol=1e-11)
    same(torch.autograd.grad(smooth(function)(*inputs), inputs), torch.autograd.grad(smooth(twin)(*inputs), inputs))
    assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, inputs)
    for name in ("lsmr", "lsqr"):
        torch.testing.assert_close(lt.lstsq(p, *inputs, solver=name), x, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "full", [[[2, 1, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3]], [[2, 0, 0, 0], [1, 0, 0, 0], [0, 1, 2, 3]]]
)
def test_least_squares_by_iterating_where_the_pattern_has_not_full_rank(full):
    full = torch.tensor(full, dtype=torch.float64)
    row, col = torch.nonzero(full, as_tuple=True)
    p = lacuna.Pattern.from_coo(row.numpy(), col.numpy(), tuple(full.shape))
    a = full[row, col].clone().requires_grad_()
    b = torch.randn(full.shape[0], 1, dtype=torch.float64, requires_grad=True)
    function = lambda a, b: lt.lstsq(p, a, b, solver=lacuna.Solver(p, "lsmr", rtol=1e-14))  # noqa: E731
    torch.testing.assert_close(function(a, b), torch.linalg.pinv(full) @ b, rtol=1e-10, atol=1e-12)
    assert torch.autograd.gradcheck(function, (a, b), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, (a, b))


def test_least_squares_by_iterating_take_any_size_and_what_is_nearly_consistent():
    rng = np.random.default_rng(0)
    full = rng.standard_normal((40, 12))
    p = lacuna.Pattern.from_coo(*np.indices(full.shape).reshape(2, -1), full.shape)
    x, b = rng.standard_normal(12), rng.standard_normal(40)
    expected = np.linalg.lstsq(full, b, rcond=None)[0]
    for method in ("lsmr", "lsqr"):
        for damp in (1e-6, 1e-8, 1e-10):  # A^H r is rounding of A x long before it is little of r
            np.testing.assert_allclose(lacuna.lstsq(p, full.ravel(), full @ x, damp, solver=method), x, rtol=1e-7)
        for size in (1e-300, 1e-165, 1e160, 1e300):
            found = lacuna.lstsq(p, size * full.ravel(), b, solver=method)
            np.testing.assert_allclose(found * size, expected, rtol=1e-7)


def test_least_squares_by_iterating_refuse_what_does_not_fit():
    a, b = strong(tall), torch.randn(tall.shape[0], dtype=torch.float64)
    with pytest.raises(lacuna.ArgumentError, match="'lsmr', 'lsqr'"):
        lt.lstsq(tall, a, b, solver="cg")
    with pytest.raises(lacuna.PatternError, match="another pattern"):
        lt.lstsq(tall, a, b, 0.5, solver=lacuna.Solver(tall, "lsmr"))
    with pytest.raises(lacuna.ConvergenceError, match="max_iterations"):
        lt.lstsq(tall, a, b, solver=lacuna.Solver(tall, "lsqr", max_iterations=1))


@both
def test_batches_of_least_squares_and_vmap(dtype):
    a, b = strong(tall, dtype, (3,)), torch.randn(3, 6, 2, dtype=dtype)
    damp = torch.tensor([0.1, 0.5, 2.0], dtype=torch.float64)
    function = lambda a, b, damp: lt.lstsq(tall, a, b, damp)  # noqa: E731
    twin = torch.stack([normal(dense(tall, a[i]), b[i], float(damp[i])) for i in range(3)])
    same(function(a, b, damp), twin)
    same(torch.func.vmap(function)(a, b, damp), twin)
    same(torch.func.vmap(lambda b: lt.lstsq(tall, a[0], b))(b), normal(dense(tall, a[0]), b))
    grad = lambda f: torch.func.vmap(torch.func.grad(smooth(f)), (0, None))(a, b[0])  # noqa: E731
    same(grad(lambda a, b: lt.lstsq(tall, a, b)), grad(lambda a, b: normal(dense(tall, a), b)))


@pytest.mark.parametrize("p", [tall, wide], ids=["tall", "wide"])
def test_compiled_least_squares(p):
    a, b = strong(p), torch.randn(p.shape[0], 2, dtype=torch.float64)
    f = lambda f: lambda a, b, damp: torch.func.grad(smooth(f), (0, 1, 2))(a, b, damp)  # noqa: E731
    compiled = torch.compile(f(lambda a, b, damp: lt.lstsq(p, a, b, damp)), fullgraph=True, backend="aot_eager")
    damp = torch.tensor(0.3, dtype=torch.float64)
    same(compiled(a, b, damp), f(lambda a, b, damp: normal(dense(p, a), b, damp))(a, b, damp))


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("damp", [None, 1e-3, 3.0])
def test_beside_numpy_and_scipy(shape, damp):
    rng = np.random.default_rng(5)
    m = sp.random_array(shape, density=0.3, rng=rng, format="csr") + sp.eye_array(*shape)
    p, a = lacuna.from_scipy(m)
    b = rng.standard_normal(shape[0])
    x, r = lacuna.lstsq(p, a, b, damp, residual=True)
    if damp is None:
        expected = np.linalg.lstsq(m.toarray(), b, rcond=None)[0]
    else:
        damped = np.vstack([m.toarray(), damp * np.eye(shape[1])])
        expected = np.linalg.lstsq(damped, np.concatenate([b, np.zeros(shape[1])]), rcond=None)[0]
    np.testing.assert_allclose(x, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(r, b - m @ expected, rtol=1e-9, atol=1e-12)
    iterated = sl.lsqr(m, b, damp=damp or 0.0, atol=1e-14, btol=1e-14, iter_lim=10000)[0]
    np.testing.assert_allclose(x, iterated, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("turned", [False, True], ids=["wide", "tall"])
def test_a_matrix_from_practice(turned):
    import scipy.io

    m = sp.csr_array(scipy.io.mmread(DATA / "lp_e226.mtx"))
    m = sp.csr_array(m.T) if turned else m
    p, a = lacuna.from_scipy(m)
    b = np.random.default_rng(1).standard_normal((m.shape[0], 2))
    x = lacuna.lstsq(p, a, b)
    expected = np.linalg.lstsq(m.toarray(), b, rcond=None)[0]
    assert np.linalg.norm(x - expected) < 1e-9 * np.linalg.norm(expected)


@pytest.mark.parametrize("turned", [False, True], ids=["tall", "wide"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_rank_is_found(turned, dtype):
    """A column that depends on three others is refused; one that nearly does is not."""
    rng = np.random.default_rng(11)
    for trial in range(12):
        m, n = int(rng.integers(20, 90)), int(rng.integers(5, 20))
        a = sp.random_array((m, n), density=rng.uniform(0.1, 0.5), rng=rng).toarray() + np.eye(m, n)
        a *= 10.0 ** rng.uniform(-3, 3, n)
        others, near = rng.choice(n - 1, 3, replace=False), trial % 2
        a[:, -1] = a[:, others] @ rng.standard_normal(3)
        away = 1e-8 if dtype == np.float64 else 2e-3
        a[:, -1] += near * away * np.abs(a[:, -1]).max() * rng.standard_normal(m)
        p, v = lacuna.from_scipy(sp.csr_array((a.T if turned else a).astype(dtype)))
        b = rng.standard_normal(p.shape[0]).astype(dtype)
        if near:
            assert np.isfinite(lacuna.lstsq(p, v, b)).all()
        else:
            with pytest.raises(lacuna.SingularError, match="damp"):
                lacuna.lstsq(p, v, b)


@pytest.mark.parametrize("turned", [False, True], ids=["tall", "wide"])
def test_an_ill_conditioned_matrix(turned):
    """As accurate as LAPACK where the normal equations would have no digit left."""
    rng = np.random.default_rng(2)
    (u, _), (v, _) = (np.linalg.qr(rng.standard_normal(shape)) for shape in ((30, 8), (8, 8)))
    m = (u * np.logspace(0, -10, 8)) @ v.T
    m = m.T if turned else m
    b = m @ rng.standard_normal(m.shape[1])
    p, a = lacuna.from_scipy(sp.csr_array(m))
    x, expected = lacuna.lstsq(p, a, b), np.linalg.lstsq(m, b, rcond=None)[0]
    assert np.linalg.norm(x - expected) < 1e-4 * np.linalg.norm(expected)
    assert np.linalg.norm(m @ x - b) < 1e-14 * np.linalg.norm(x)


def test_what_peers_get_wrong():
    """Shape, damping and duplicates at once, not in backward; a gradient that has a graph; tiny cotangents."""
    p = rectangle(9, 3)
    a, b = strong(p).requires_grad_(), torch.randn(9, dtype=torch.float64)
    x = lt.lstsq(p, a, b)
    (g,) = torch.autograd.grad(x.square().sum(), a, create_graph=True)
    assert g.requires_grad and torch.autograd.grad(g.sum(), a)[0].abs().max() > 0
    (tiny,) = torch.autograd.grad((1e-12 * lt.lstsq(p, a, b)).sum(), a)
    (plain,) = torch.autograd.grad(lt.lstsq(p, a, b).sum(), a)
    same(tiny * 1e12, plain)
    row, col = [0, 1, 2, 0, 1], [0, 1, 0, 0, 1]  # (0, 0) and (1, 1) come twice
    twice = lacuna.Pattern.from_coo(row, col, (3, 2))
    entries = torch.tensor([1.0, 2, 3, 0.5, 0.25], dtype=torch.float64, requires_grad=True)
    loss = lt.lstsq(twice, lt.remap(twice.entries, entries), b[:3]).sum()
    (g,) = torch.autograd.grad(loss, entries)
    assert g[0] == g[3] and g[1] == g[4]
    with pytest.raises(lacuna.ShapeError, match="b has shape"):
        lt.lstsq(p, a, b[:5])


def test_least_squares_refuse():
    m = np.random.default_rng(0).standard_normal((6, 4))
    m[:, 3] = m[:, 0] - 2 * m[:, 1]
    p, a = lacuna.from_scipy(sp.csr_array(m))
    b = np.ones(6)
    for turned in (False, True):
        q, c = lacuna.from_scipy(sp.csr_array(m.T if turned else m))
        with pytest.raises(lacuna.SingularError, match="give \\(more\\) damp"):
            lacuna.lstsq(q, c, b[: q.shape[0]])
        assert np.isfinite(lacuna.lstsq(q, c, b[: q.shape[0]], 1e-3)).all()
    with pytest.raises(lacuna.DtypeError, match="damp has dtype"):
        lacuna.lstsq(p, a, b, np.array(1.0j))
    with pytest.raises(lacuna.PatternError, match="one of another pattern"):
        lacuna.lstsq(p, a, b, 1.0, solver=pattern.solver())
    np.testing.assert_allclose(
        lacuna.lstsq(p, a, b, 0.5, solver=lacuna.Solver(p.augmented()[0], "pivoting_lu")),
        lacuna.lstsq(p, a, b, 0.5),
        rtol=1e-12,
    )
