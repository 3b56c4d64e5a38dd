# SPDX-License-Identifier: Apache-2.0
"""Determinants, selected inverses, traces and quadratic forms, beside dense torch and NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from one_graph import compiles_hessians
from reference import dense, real_chart, same, smooth, square, values
from scipy.linalg import hilbert, invhilbert

import lacuna
import lacuna.torch as lt

both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])
pattern = square()
other = lacuna.Pattern.from_coo([0, 5, 2, 2], [5, 0, 2, 1], (6, 6))  # entries that the pattern lacks
b_values = torch.randn(other.nnz, dtype=torch.float64)


def taken(where, m):
    """The entries of dense matrices where a pattern has entries."""
    _, columns, rows = (torch.tensor(s.copy()) for s in where.structure())
    return m[..., rows, columns]


def principal(m):
    """log det of a dense matrix, complex ones with the phase."""
    sign, logabs = torch.linalg.slogdet(m)
    return torch.complex(logabs, torch.angle(sign)) if m.is_complex() else logabs


# name -> (function of values, the same of the dense matrix)
FUNCTIONS = {
    "logdet": (lambda a: lt.logdet(pattern, a), principal),
    "sign": (lambda a: lt.slogdet(pattern, a)[0], lambda m: torch.linalg.slogdet(m)[0]),
    "logabs": (lambda a: lt.slogdet(pattern, a)[1], lambda m: torch.linalg.slogdet(m)[1]),
    "det": (lambda a: lt.det(pattern, a), torch.linalg.det),
    "selected_inverse": (
        lambda a: lt.selected_inverse(pattern, a),
        lambda m: taken(pattern, torch.linalg.inv(m).mT),
    ),
    "inverse_on": (lambda a: lt.inverse_on(pattern, a, other), lambda m: taken(other, torch.linalg.inv(m))),
    "inverse_diagonal": (
        lambda a: lt.inverse_diagonal(pattern, a),
        lambda m: torch.linalg.inv(m).diagonal(dim1=-2, dim2=-1),
    ),
    "trace_solve": (
        lambda a: lt.trace_solve(pattern, a, other, b_values.to(a.dtype)),
        lambda m: (torch.linalg.inv(m) @ dense(other, b_values.to(m.dtype))).diagonal(dim1=-2, dim2=-1).sum(-1),
    ),
}
each = pytest.mark.parametrize("name", FUNCTIONS)


def pair(name):
    function, of_dense = FUNCTIONS[name]
    return function, lambda a: of_dense(dense(pattern, a))


@each
@both
def test_first_and_second_derivatives(name, dtype):
    function, twin = pair(name)
    a = values(pattern, dtype).requires_grad_()
    same(function(a), twin(a))
    assert torch.autograd.gradcheck(function, (a,), check_forward_ad=True, check_batched_grad=True)
    if name != "sign" or a.is_complex():  # of reals it is constant
        assert torch.autograd.gradgradcheck(function, (a,), check_fwd_over_rev=True)


@each
@both
def test_batches_and_vmap(name, dtype):
    function, twin = pair(name)
    a = values(pattern, dtype, (2, 3))
    same(function(a), twin(a))
    same(torch.func.vmap(torch.func.vmap(function))(a), twin(a))
    grad = torch.func.vmap(torch.func.grad(smooth(function)))
    same(grad(a[0]), torch.func.vmap(torch.func.grad(smooth(twin)))(a[0]))


@pytest.mark.parametrize("name", ["logdet", "det", "selected_inverse", "trace_solve"])
@both
def test_hessians(name, dtype):
    function, twin = pair(name)
    got, expected = (real_chart(smooth(f), values(pattern, dtype)) for f in (function, twin))
    same(torch.func.hessian(got[0])(got[1]), torch.func.hessian(expected[0])(got[1]), rtol=1e-8)


def third_of_logdet(m):
    """The third derivatives of y^4 + y^3, y = log|det|, in the entries of the pattern, in closed form.

    With Z_kl = (A^-1)(column of k, row of l):  dy_k = Z_kk,  ddy_kl = -Z_kl Z_lk,
    dddy_klm = Z_kl Z_lm Z_mk + Z_km Z_ml Z_lk.
    """
    _, columns, rows = (torch.tensor(s.copy()) for s in pattern.structure())
    y, z = torch.linalg.slogdet(m)[1], torch.linalg.inv(m)[columns][:, rows]
    first, second = z.diagonal(), -z * z.mT
    third = torch.einsum("kl,lm,mk->klm", z, z, z)
    mixed = torch.einsum("kl,m->klm", second, first)
    return (
        (24 * y + 6) * torch.einsum("k,l,m->klm", first, first, first)
        + (12 * y**2 + 6 * y) * (mixed + mixed.permute(0, 2, 1) + mixed.permute(2, 1, 0))
        + (4 * y**3 + 3 * y**2) * (third + third.mT)
    )


@pytest.mark.parametrize("seed", range(3))
def test_third_derivatives(seed):
    """Beside a closed form, because that of torch is a third derivative too; to rounding, as the condition lets
    grow."""
    a = values(pattern, generator=torch.Generator().manual_seed(seed))
    m = dense(pattern, a)
    got = torch.func.jacrev(torch.func.hessian(smooth(pair("logdet")[0])))(a)
    rounding = torch.finfo(a.dtype).eps * torch.linalg.cond(m) ** 3  # three inverses
    same(got, third_of_logdet(m), rtol=float(1000 * rounding))


@pytest.mark.parametrize("method", ["auto", "lu", "pivoting_lu"])
@pytest.mark.parametrize("size", [2.0**-460, 1.0, 2.0**460])
def test_second_derivatives_lose_no_more_than_the_condition_takes(method, size):
    """Hilbert's matrix, condition 1.5e10, whose inverse is known: the Hessian of log|det| is -Z_kl Z_lk."""
    m, inverse = hilbert(8) * size, torch.tensor(invhilbert(8) / size)
    where = lacuna.Pattern.from_scipy(sp.csr_array(m))
    _, columns, rows = (torch.tensor(s.copy()) for s in where.structure())
    z = inverse[columns][:, rows] * size
    solver = lacuna.Solver(where, method)
    hessian = torch.func.hessian(lambda a: lt.logdet(solver, a))(torch.tensor(m.reshape(-1)))
    rounding = np.finfo(float).eps * np.linalg.cond(m)
    same(hessian * size * size, -z * z.mT, rtol=10 * rounding)


@each
def test_compiled(name):
    function, twin = pair(name)
    compiled = torch.compile(lambda a: torch.func.grad(smooth(function))(a), fullgraph=True, backend="aot_eager")
    a = values(pattern)
    same(compiled(a), torch.func.grad(smooth(twin))(a))


@compiles_hessians
def test_a_compiled_hessian():
    function, twin = pair("logdet")
    hessian = torch.compile(torch.func.hessian(function), fullgraph=True, backend="aot_eager")
    a = values(pattern)
    same(hessian(a), torch.func.hessian(twin)(a))


@both
def test_quadratic_forms(dtype):
    a, x, y = values(pattern, dtype), torch.randn(6, 3, dtype=dtype), torch.randn(6, 3, dtype=dtype)
    inputs = tuple(t.requires_grad_() for t in (a, x, y))
    for form, of_dense in (
        (lt.quadratic_form, lambda m, y: m @ y),
        (lt.inverse_quadratic_form, lambda m, y: torch.linalg.inv(m) @ y),
    ):
        f = lambda a, x, y: form(pattern, a, x, y)  # noqa: E731
        same(f(*inputs), (x.conj() * of_dense(dense(pattern, a), y)).sum(0))
        same(form(pattern, a, x), (x.conj() * of_dense(dense(pattern, a), x)).sum(0))
        same(form(pattern, a, x[:, 0]), (x[:, 0].conj() * of_dense(dense(pattern, a), x[:, 0])).sum())
        assert torch.autograd.gradcheck(f, inputs, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(f, inputs)
        with pytest.raises(lacuna.ShapeError, match="x has shape"):
            form(pattern, a, x[:5], y)


# -- NumPy -----------------------------------------------------------------------------------------------------------


def test_numpy_in_numpy_out():
    a = values(pattern).numpy()
    m = pattern.to_scipy(a).toarray()
    inverse = np.linalg.inv(m)
    sign, logabs = lacuna.slogdet(pattern, a)
    np.testing.assert_allclose((sign, logabs), np.linalg.slogdet(m), rtol=1e-13)
    np.testing.assert_allclose(lacuna.det(pattern.solver(), a), np.linalg.det(m), rtol=1e-13)
    np.testing.assert_allclose(lacuna.inverse_diagonal(pattern, a), np.diag(inverse), rtol=1e-12)
    np.testing.assert_allclose(
        lacuna.inverse_on(pattern, a, other), inverse[other.structure()[2], other.structure()[1]], rtol=1e-12
    )
    b = b_values.numpy()
    np.testing.assert_allclose(
        lacuna.trace_solve(pattern, a, other, b), np.trace(inverse @ other.to_scipy(b).toarray()), rtol=1e-12
    )


def test_factors_serve_their_own_values_only():
    a = values(pattern).numpy()
    factor = pattern.solver().factor(a)
    assert lacuna.logdet(factor, a) == lacuna.logdet(pattern, a)
    with pytest.raises(lacuna.StaleError, match="logdet: the factor was made of other values"):
        lacuna.logdet(factor, a + 1)
    with pytest.raises(lacuna.StaleError, match="selected_inverse: the factor was made of other values"):
        lacuna.selected_inverse(factor, a + 1)


@pytest.mark.parametrize("method", ["auto", "ldlt", "lu", "pivoting_lu", "banded"])
def test_the_argument_of_a_negative_number_is_pi(method):
    """The principal branch, in (-pi, pi], as that of numpy.log: a zero imaginary part has no sign."""
    m = np.diag([-4.0, 3, 3, 2]) + np.eye(4, k=1) + np.eye(4, k=-1)
    for n in range(1, 5):
        where, a = lacuna.from_scipy(sp.csr_array(m[:n, :n]).astype(complex))
        solver = lacuna.Solver(where, method)
        factor = solver.factor(a)
        for log in (lacuna.logdet(solver, a), factor.logdet()):
            np.testing.assert_allclose(log, np.log(np.linalg.det(m[:n, :n]) + 0j), rtol=1e-13)
        assert not np.signbit(factor.slogdet()[0].imag)


def test_singular_matrices_are_named():
    full = lacuna.Pattern.from_coo([0, 0, 1, 1], [0, 1, 0, 1], (2, 2))
    for function in (lacuna.logdet, lacuna.slogdet, lacuna.det, lacuna.selected_inverse, lacuna.inverse_diagonal):
        with pytest.raises(lacuna.SingularError, match="column"):
            function(full, np.array([1.0, 2.0, 2.0, 4.0]))
    with pytest.raises(lacuna.ShapeError, match="square"):
        lacuna.logdet(lacuna.Pattern.from_coo([0], [0], (2, 3)), np.ones(1))


# -- what others get wrong -------------------------------------------------------------------------------------------


def poisson(n):
    line = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return (sp.kron(sp.eye_array(n), line) + sp.kron(line, sp.eye_array(n))).tocsr()


def poisson_logdet(n):
    line = 2 - 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
    return np.log(line[:, None] + line[None, :]).sum()


@pytest.mark.parametrize("n", [5, 20, 32, 64])
@pytest.mark.parametrize("method", ["auto", "lu"])
def test_the_sign_of_poisson_determinants(n, method):
    where, a = lacuna.from_scipy(poisson(n))
    sign, logabs = lacuna.slogdet(lacuna.Solver(where, method=method), a)
    assert sign == 1
    np.testing.assert_allclose(logabs, poisson_logdet(n), rtol=1e-13)


def test_the_sign_of_random_matrices():
    rng = np.random.default_rng(0)
    for _ in range(50):
        m = sp.random_array((8, 8), density=0.4, rng=rng) + sp.diags_array(rng.standard_normal(8))
        where, a = lacuna.from_scipy(m.tocsr())
        np.testing.assert_allclose(lacuna.det(where, a), np.linalg.det(m.toarray()), rtol=1e-9)


def test_no_overflow_and_no_estimate():
    """Tridiagonal of 2000 rows, log det known: exact, with a gradient, in whatever size."""
    n = 2000
    m = sp.diags_array([-np.ones(n - 1), 4 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
    exact = np.log(4 - 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))).sum()
    where, a = lacuna.from_scipy(m)
    for scale in (1.0, 1e150):
        b = torch.tensor(a * scale, requires_grad=True)
        log = lt.logdet(where, b)
        np.testing.assert_allclose(log.item(), exact + n * np.log(scale), rtol=1e-13)
        (grad,) = torch.autograd.grad(log, b)
        np.testing.assert_allclose((grad * b).sum().item(), n, rtol=1e-12)


def test_tiny_determinants_have_gradients():
    where = lacuna.Pattern.eye(4)
    a = torch.full((4,), 1e-4, dtype=torch.float64, requires_grad=True)
    det = lt.det(where, a)
    np.testing.assert_allclose(det.item(), 1e-16, rtol=1e-13)
    (grad,) = torch.autograd.grad(det, a)
    np.testing.assert_allclose(grad, 1e-12, rtol=1e-13)


def test_no_derivative_factors_again():
    where, a = lacuna.from_scipy(poisson(20))
    solver, a = lacuna.Solver(where), torch.tensor(a, requires_grad=True)
    torch.autograd.grad(lt.logdet(solver, a), a)
    assert solver.factor(a.detach().numpy()).report["factorisations"] == 1
