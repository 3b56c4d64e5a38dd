# SPDX-License-Identifier: Apache-2.0
"""Structured matrices beside SciPy, and their derivatives in torch."""

import numpy as np
import pytest

import lacuna

la = pytest.importorskip("scipy.linalg")
sp = pytest.importorskip("scipy.sparse")
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
FORMS = {"N": lambda m: m, "T": lambda m: m.T, "conjugated": lambda m: m.conj(), "H": lambda m: m.conj().T}
rng = np.random.default_rng(0)


def numbers(shape, dtype=np.float64):
    x = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def close(got, expected, slack=1):
    eps = np.finfo(got.dtype).eps
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=500 * slack * eps * max(1, np.abs(expected).max(initial=0)))


def dense_band(bands, ab, rows=None):
    lower, upper = bands
    n = ab.shape[1]
    a = np.zeros((n if rows is None else rows, n), ab.dtype)
    for i in range(a.shape[0]):
        for j in range(max(0, i - lower), min(n, i + upper + 1)):
            a[i, j] = ab[upper + i - j, j]
    return a


def band(bands, n, dtype=np.float64):
    ab = numbers((sum(bands) + 1, n), dtype)
    ab[bands[1]] += 4
    return ab


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bands", [(1, 1), (2, 1), (0, 3), (3, 0), (0, 0), (7, 9)])
def test_banded_solves_as_scipy_does(bands, dtype):
    ab, b = band(bands, 8, dtype), numbers((8, 3), dtype)
    ab[bands[1]] += 2 * sum(bands)
    close(lacuna.banded_solve(bands, ab, b), np.linalg.solve(dense_band(bands, ab), b), 10)
    if max(bands) < 8:
        close(lacuna.banded_solve(bands, ab, b[:, 0]), la.solve_banded(bands, ab, b[:, 0]), 10)


@pytest.mark.parametrize("form", FORMS)
def test_banded_products_are_the_dense_ones(form):
    bands, ab = (2, 1), band((2, 1), 6, np.complex128)
    a, x = dense_band(bands, ab), numbers((6, 2), np.complex128)
    close(lacuna.banded_mm(bands, ab, x, op=form), FORMS[form](a) @ x)
    other = band((1, 1), 6, np.complex128)
    target = (2 + 1, 1 + 1) if form in ("N", "conjugated") else (1 + 1, 2 + 1)
    product = lacuna.banded_gemm(bands, ab, (1, 1), other, op_x=form, op_y="N")
    assert product.shape == (sum(target) + 1, 6)
    close(dense_band(target, product), FORMS[form](a) @ dense_band((1, 1), other))
    u, v = numbers((6, 2), np.complex128), numbers((6, 2), np.complex128)
    close(dense_band(bands, lacuna.banded_outer(bands, u, v)), np.triu(np.tril(u @ v.conj().T, 1), -2))


def test_a_singular_band_names_its_column():
    with pytest.raises(lacuna.SingularError, match="column 1"):
        lacuna.banded_solve((0, 0), np.array([[1.0, 0.0, 2.0]]), np.ones(3))
    with pytest.raises(lacuna.ShapeError, match="must be 4"):
        lacuna.banded_mm((2, 1), np.ones((3, 4)), np.ones(4))


@pytest.mark.parametrize("n", [1, 2, 50])
def test_tridiagonal_and_diagonal(n):
    lower, diag, upper, b = numbers(n - 1), numbers(n) + 5, numbers(n - 1), numbers((n, 2))
    a = np.diag(diag) + np.diag(lower, -1) + np.diag(upper, 1)
    close(lacuna.tridiagonal_solve(lower, diag, upper, b), np.linalg.solve(a, b))
    close(lacuna.diag_mm(diag, b), diag[:, None] * b)
    close(lacuna.diag_solve(diag, b[:, 0]), b[:, 0] / diag)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 33, 64, 1000])
def test_circulant_is_scipys(n, dtype):
    c, x = numbers(n, dtype), numbers((n, 3), dtype)
    c[0] += 4 * n**0.5
    for form in FORMS:
        close(lacuna.circulant_mm(c, x, op=form), FORMS[form](la.circulant(c)) @ x, n)
    close(lacuna.circulant_solve(c, x[:, 0]), la.solve_circulant(c, x[:, 0]), 10)


@pytest.mark.parametrize("m, n", [(1, 1), (5, 3), (3, 5), (400, 300)])
def test_toeplitz_is_scipys(m, n):
    c, r = numbers(m, np.complex128), numbers(n, np.complex128)
    t = la.toeplitz(c, r)
    for form in FORMS:
        x = numbers((n if form in ("N", "conjugated") else m, 2), np.complex128)
        close(lacuna.toeplitz_mm(c, r, x, op=form), FORMS[form](t) @ x, 10)
    close(lacuna.toeplitz_mm(c, r, numbers(n, np.complex128) * 0), np.zeros(m, np.complex128))


@pytest.mark.parametrize("offsets", [np.arange(-59, 60), [-7, -1, 0, 1]], ids=["full", "sparse"])
def test_toeplitz_systems_are_solved_on_a_pattern(offsets):
    """Matrices without order, positive definite ones, and ones without a diagonal; what is not stored is zero."""
    n, at = 60, np.arange(60)
    pattern = lacuna.Pattern.from_dia(offsets, (n, n))
    falling, beside = 1 / (1.0 + at) ** 2, np.eye(n)[1]
    for c, r in ((numbers(n), numbers(n)), (falling, falling), (beside, beside)):
        a = lacuna.toeplitz(pattern, c, r)
        t, b = la.toeplitz(np.where(np.isin(-at, offsets), c, 0), np.where(np.isin(at, offsets), r, 0)), numbers((n, 2))
        close(lacuna.to_dense(pattern, a), t)
        close(lacuna.solve(pattern, a, b), np.linalg.solve(t, b), np.linalg.cond(t))
        close(lacuna.slogdet(pattern, a)[1], np.linalg.slogdet(t)[1], np.linalg.cond(t))
        close(lacuna.toeplitz(pattern, c, r + 5 * np.eye(n)[0]), a)
    with pytest.raises(lacuna.ShapeError, match="column has 3 numbers and row 60; the pattern has 60 rows"):
        lacuna.toeplitz(pattern, numbers(3), numbers(n))


def test_large_toeplitz_systems_are_solved_by_their_products():
    """By a circulant matrix that is near as preconditioner, in O(n log n) for each iteration."""
    n = 5000
    c, b = 1 / (1.0 + np.arange(n)) ** 2, numbers(n)
    near = np.where(np.arange(n) < n / 2, c, np.roll(c[::-1], 1))
    x = lacuna.solve_operator(lambda c, x: lacuna.toeplitz_mm(c, c, x), (c,), b, "cg",
                              preconditioner=lambda x, op: lacuna.circulant_solve(near, x[0])[None],
                              rtol=1e-12)  # fmt: skip
    close(lacuna.toeplitz_mm(c, c, x), b, 1e4)
    close(x, la.solve_toeplitz(c, b), 1e4)


def test_kronecker_products_are_scipys():
    A = sp.random_array((4, 3), density=0.5, rng=rng, format="csr")
    B = sp.random_array((2, 5), density=0.6, rng=rng, format="csr")
    (pa, a), (pb, b) = lacuna.from_scipy(A), lacuna.from_scipy(B)
    K = sp.kron(A, B).toarray()
    x = numbers((15, 2))
    close(lacuna.kron_mm(pa, a, pb, b, x), K @ x)
    close(lacuna.kron_mm(pa, a, pb, b, numbers(8) * 0 + 1, op="T"), K.T @ np.ones(8))
    S = (sp.random_array((3, 3), density=0.5, rng=rng) + 3 * sp.eye_array(3)).tocsr()
    R = (sp.random_array((4, 4), density=0.5, rng=rng) + 3 * sp.eye_array(4)).tocsr()
    (ps, s), (pr, r) = lacuna.from_scipy(S), lacuna.from_scipy(R)
    y = numbers((12, 2))
    close(lacuna.kronsum_mm(ps, s, pr, r, y), (sp.kron(S, np.eye(4)) + sp.kron(np.eye(3), R)) @ y)
    close(lacuna.kron_solve(ps, s, pr, r, y), np.linalg.solve(sp.kron(S, R).toarray(), y))


def torch_cases():
    import lacuna.torch as lt

    rows, cols = [0, 0, 1, 2], [0, 2, 1, 2]
    pa, pb = lacuna.Pattern.from_coo(rows, cols, (3, 3)), lacuna.Pattern.from_coo([0, 1, 1], [0, 0, 1], (2, 2))
    return {
        "banded_mm": (lambda ab, x: lt.banded_mm((1, 2), ab, x), [(4, 5), (5, 2)]),
        "banded_gemm": (lambda x, y: lt.banded_gemm((1, 0), x, (0, 1), y), [(2, 4), (2, 4)]),
        "banded_solve": (lambda ab, b: lt.banded_solve((0, 1), ab / 4 + lt_diagonal(2, 4, 1), b), [(2, 4), (4, 2)]),
        "tridiagonal_solve": (lambda l, d, u, b: lt.tridiagonal_solve(l, d / 4 + 4, u, b), [(3,), (4,), (3,), (4, 2)]),
        "circulant_mm": (lt.circulant_mm, [(5,), (5, 2)]),
        "circulant_solve": (lambda c, b: lt.circulant_solve(c / 8 + lt_first(5), b), [(5,), (5,)]),
        "toeplitz_mm": (lt.toeplitz_mm, [(3,), (4,), (4, 2)]),
        "toeplitz": (lambda c, r: lt.toeplitz(pa, c, r), [(3,), (3,)]),
        "kron_mm": (lambda a, b, x: lt.kron_mm(pa, a, pb, b, x), [(4,), (3,), (6, 2)]),
        "kronsum_mm": (lambda a, b, x: lt.kronsum_mm(pa, a, pb, b, x), [(4,), (3,), (6, 1)]),
    }


def lt_diagonal(rows, n, upper):
    import torch

    x = torch.zeros(rows, n, dtype=torch.float64)
    x[upper] = 3
    return x


def lt_first(n):
    import torch

    return 3 * torch.eye(n, dtype=torch.float64)[0]


@pytest.mark.parametrize(
    "name",
    "banded_mm banded_gemm banded_solve tridiagonal_solve circulant_mm circulant_solve toeplitz_mm toeplitz "
    "kron_mm kronsum_mm".split(),
)
def test_torch_differentiates_twice(name):
    torch = pytest.importorskip("torch")
    function, shapes = torch_cases()[name]
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(s, dtype=torch.float64, generator=generator, requires_grad=True) for s in shapes]
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)
