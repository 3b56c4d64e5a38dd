# SPDX-License-Identifier: Apache-2.0
"""Systems whose matrix nobody stores, by functions of NumPy and torch, against dense solves and differences."""

import lacuna
import lacuna.torch as lt
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

OPTIONS = {"rtol": 1e-13, "max_iterations": 500}


def stencil(c, w, x):
    """c x - (left + right neighbours) + w (right - left): nonsymmetric for w != 0."""
    pad = torch.cat([x.new_zeros(1), x, x.new_zeros(1)])
    return c * x - pad[:-2] - pad[2:] + w * (pad[2:] - pad[:-2])


def dense(c, w):
    n = c.shape[0]
    eye = torch.eye(n, dtype=c.dtype)
    return torch.stack([stencil(c, w, e) for e in eye], 1)


def system(dtype, n=7):
    g = torch.Generator().manual_seed(3)
    c = (4 + torch.rand(n, generator=g, dtype=torch.float64)).to(dtype)
    if dtype.is_complex:
        c = c + 0.5j * torch.rand(n, generator=g, dtype=torch.float64)
    w, b = torch.tensor(0.3, dtype=dtype), torch.randn(n, generator=g, dtype=dtype)
    return [t.requires_grad_() for t in (c, w, b)]


@pytest.mark.parametrize("more", [{}, {"x0": torch.ones(7, dtype=torch.float64)}])
def test_tolerances_of_derivatives(more):
    """atol has the unit of b: small cotangents are solved for all the same, to adjoint_rtol, forward and backward."""
    c, w, b = [t.detach() for t in system(torch.float64)]
    exact = torch.linalg.solve(dense(c, w).T, torch.ones_like(b))
    solved = lambda b: lt.solve_operator(stencil, (c, w), b, atol=1e-2, adjoint_rtol=1e-12, **more)  # noqa: E731
    for scale in (1.0, 1e-9):
        varied = b.clone().requires_grad_()
        (scale * solved(varied).sum()).backward()
        torch.testing.assert_close(varied.grad / scale, exact, rtol=1e-10, atol=1e-10)
        tangent = torch.func.jvp(solved, (b,), (scale * b,))[1]
        torch.testing.assert_close(tangent / scale, torch.linalg.solve(dense(c, w), b), rtol=1e-10, atol=1e-10)


def test_numpy_solves_for_any_shape_of_b():
    a = np.random.default_rng(0).normal(size=(12, 12)) + 8 * np.eye(12)
    b = np.random.default_rng(1).normal(size=(3, 4))
    product = lambda m, x: (m @ x.ravel()).reshape(x.shape)  # noqa: E731
    for method in ("auto", "gmres", "bicgstab"):
        x = lacuna.solve_operator(product, (a,), b, method, **OPTIONS)
        np.testing.assert_allclose(x.ravel(), np.linalg.solve(a, b.ravel()), rtol=1e-10)
    spd = a @ a.T
    x = lacuna.solve_operator(product, [spd], b, "cg", preconditioner=lambda x, op: x / 64, **OPTIONS)
    np.testing.assert_allclose(x.ravel(), np.linalg.solve(spd, b.ravel()), rtol=1e-9)
    assert lacuna.solve_operator(lambda x: x, [], np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_torch_solves_and_differentiates(dtype):
    c, w, b = system(dtype)
    f = lambda c, w, b: lt.solve_operator(stencil, (c, w), b, **OPTIONS)  # noqa: E731
    x = f(c, w, b)
    torch.testing.assert_close(x, torch.linalg.solve(dense(c, w), b), rtol=1e-10, atol=1e-12)
    assert gradcheck(f, (c, w, b), check_forward_ad=True)
    assert gradgradcheck(f, (c, w, b), check_fwd_over_rev=True, check_rev_over_rev=True)


def test_torch_gradients_are_the_dense_ones():
    c, w, b = system(torch.float64)
    ours = torch.autograd.grad(lt.solve_operator(stencil, (c, w), b, **OPTIONS).square().sum(), (c, w, b))
    theirs = torch.autograd.grad(torch.linalg.solve(dense(c, w), b).square().sum(), (c, w, b))
    for mine, other in zip(ours, theirs):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-11)


def test_theta_may_be_a_generator_as_the_parameters_of_a_module_are():
    c, w, b = system(torch.float64)
    module = torch.nn.ParameterList([c.detach(), w.detach()])
    x = lt.solve_operator(stencil, module.parameters(), b.detach(), **OPTIONS)
    torch.testing.assert_close(x, torch.linalg.solve(dense(c, w), b).detach(), rtol=1e-9, atol=1e-11)
    x.sum().backward()
    assert all(p.grad is not None for p in module.parameters())


def test_torch_func_differentiates_and_maps():
    c, w, b = [t.detach() for t in system(torch.float64)]
    loss = lambda c, b: lt.solve_operator(stencil, (c, w), b, **OPTIONS).square().sum()  # noqa: E731
    plain = lambda c, b: torch.linalg.solve(dense(c, w), b).square().sum()  # noqa: E731
    near = {"rtol": 1e-9, "atol": 1e-11}
    torch.testing.assert_close(torch.func.grad(loss)(c, b), torch.func.grad(plain)(c, b), **near)
    many = torch.stack([b, 2 * b, -b])
    mapped = torch.func.vmap(torch.func.grad(loss), (None, 0))(c, many)
    torch.testing.assert_close(mapped, torch.stack([torch.func.grad(plain)(c, row) for row in many]), **near)


ORDERS = ["jacfwd", "jacrev", "jacfwd jacrev", "jacrev jacfwd", "jacrev jacrev", "vmap grad grad"]


@pytest.mark.parametrize("order", ORDERS)
def test_torch_func_differentiates_in_all_modes(order):
    c, w, b = [t.detach() for t in system(torch.float64, n=4)]
    loss = lambda w: lt.solve_operator(stencil, (c, w), b * w, **OPTIONS).square().sum()  # noqa: E731
    # not torch.linalg.solve, whose jacrev of jacfwd is wrong in torch 2.4
    plain = lambda w: (torch.linalg.inv(dense(c, w)) @ (b * w)).square().sum()  # noqa: E731
    at = torch.stack([w, 2 * w]) if "vmap" in order else w
    for name in reversed(order.split()):
        loss, plain = (getattr(torch.func, name)(f) for f in (loss, plain))
    torch.testing.assert_close(loss(at), plain(at), rtol=1e-8, atol=1e-10)


def test_forward_mode_inside_forward_mode_is_refused():
    c, w, b = [t.detach() for t in system(torch.float64, n=4)]
    f = lambda w: lt.solve_operator(stencil, (c, w), b, **OPTIONS)  # noqa: E731
    with pytest.raises(lacuna.OrderError, match="jacfwd of jacrev"):
        torch.func.jacfwd(torch.func.jacfwd(f))(w)


def jvp(f):
    return lambda w: torch.func.jvp(f, (w,), (w,))[1]


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.vmap, jvp, lambda f: torch.func.grad(jvp(f))])
def test_a_transformed_tensor_that_is_not_in_theta_is_refused(transform):
    c, w, b = [t.detach() for t in system(torch.float64, n=4)]
    f = lambda w: lt.solve_operator(lambda x: stencil(c, w, x), (), b, **OPTIONS).sum()  # noqa: E731
    with pytest.raises(lacuna.ArgumentError, match=r"give it in theta, .*, or take its \.detach\(\)"):
        transform(f)(torch.stack([w, w]) if transform is torch.func.vmap else w)


def test_a_tensor_with_a_gradient_that_is_not_in_theta_is_refused():
    c, w, b = system(torch.float64, n=4)
    for of in (w, 2 * w):
        with pytest.raises(lacuna.ArgumentError, match=r"give it in theta, .*, or take its \.detach\(\)"):
            lt.solve_operator(lambda c, x: stencil(c, of, x), (c,), b, **OPTIONS)  # noqa: B023
    taken = lt.solve_operator(lambda c, x: stencil(c, w.detach(), x), (c,), b, **OPTIONS)
    torch.testing.assert_close(taken, torch.linalg.solve(dense(c, w), b), rtol=1e-10, atol=1e-12)
    with torch.no_grad():
        torch.testing.assert_close(lt.solve_operator(lambda x: stencil(c, w, x), (), b, **OPTIONS), taken)


def test_a_function_may_differentiate_inside():
    """The Jacobian of u^3 + 4 u, transposed, by a gradient that the function takes: its own leaf is no tensor of the
    caller's."""
    u = torch.linspace(0.5, 1.5, 4, dtype=torch.float64)

    def product(theta, x):
        at = u.clone().requires_grad_()
        return torch.autograd.grad(theta * at**3 + 4 * at, at, x, create_graph=True)[0]

    theta = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    b = torch.ones(4, dtype=torch.float64, requires_grad=True)
    f = lambda theta, b: lt.solve_operator(product, (theta,), b, **OPTIONS)  # noqa: E731
    torch.testing.assert_close(f(theta, b), b / (3 * theta * u**2 + 4))
    assert gradcheck(f, (theta, b)) and gradgradcheck(f, (theta, b))


def test_a_function_may_write_to_its_argument_and_give_one_buffer():
    a = np.random.default_rng(0).normal(size=(5, 5)) + 8 * np.eye(5)
    b, buffer = np.arange(1.0, 6), np.empty(5)

    def product(x):
        buffer[:] = a @ x
        x[:] = np.nan
        return buffer

    np.testing.assert_allclose(lacuna.solve_operator(product, (), b, **OPTIONS), np.linalg.solve(a, b), rtol=1e-10)
    assert b.tolist() == [1, 2, 3, 4, 5]


def test_b_may_be_a_single_number():
    assert lacuna.solve_operator(lambda x: 2 * x, (), np.array(3.0)) == 1.5
    b = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda b: lt.solve_operator(lambda x: 2 * x, (), b), (b,), check_forward_ad=True)


def test_what_lacuna_computes_may_be_the_function():
    pattern = lacuna.Pattern.from_coo([0, 0, 1, 2, 2], [0, 1, 1, 0, 2], (3, 3))
    a = torch.tensor([4.0, 1, 5, -1, 6], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([1.0, 2, 3], dtype=torch.float64, requires_grad=True)
    f = lambda a, b: lt.solve_operator(lambda a, x: lt.spmm(pattern, a, x), (a,), b, **OPTIONS)  # noqa: E731
    torch.testing.assert_close(f(a, b), lt.solve(pattern, a, b), rtol=1e-12, atol=1e-13)
    assert gradcheck(f, (a, b)) and gradgradcheck(f, (a, b))


@pytest.mark.parametrize("bend", [lambda x: x + 1, lambda x: x.abs(), lambda x: x.relu(), lambda x: x**3 + x])
def test_what_is_not_linear_is_refused(bend):
    b = torch.ones(4, dtype=torch.float64)
    with pytest.raises(lacuna.ArgumentError, match="not linear in x"):
        lt.solve_operator(bend, (), b)


def test_errors_name_what_is_wrong():
    b = np.ones(4)
    with pytest.raises(lacuna.ArgumentError, match="it must be a function"):
        lacuna.solve_operator(b, (), b)
    with pytest.raises(lacuna.ArgumentError, match="theta is a ndarray; it must be a list or tuple of arrays"):
        lacuna.solve_operator(lambda t, x: t * x, b, b)
    with pytest.raises(lacuna.ArgumentError, match="theta is a Tensor; it must be a list or tuple of arrays"):
        lt.solve_operator(lambda t, x: t * x, torch.ones(3), torch.ones(3))
    with pytest.raises(lacuna.ShapeError, match=r"solve_operator: the function returned an array of shape \(3,\)"):
        lacuna.solve_operator(lambda x: x[:3], (), b)
    with pytest.raises(lacuna.ArgumentError, match="returned None"):
        lacuna.solve_operator(lambda x: None, (), b)
    with pytest.raises(lacuna.ArgumentError, match="^solve_operator: lu needs a matrix"):
        lacuna.solve_operator(lambda x: x, (), b, "lu")
    with pytest.raises(TypeError, match="unexpected option 'tol'"):
        lacuna.solve_operator(lambda x: x, (), b, tol=1)
    with pytest.raises(lacuna.ConvergenceError, match="did not reach the tolerance"):
        lacuna.solve_operator(lambda x: np.arange(1, 5) * x, (), b, max_iterations=1)
    with pytest.raises(ZeroDivisionError):
        lacuna.solve_operator(lambda x: 1 / 0, (), b)
    with pytest.raises(lacuna.ArgumentError, match=r"theta\[0\] is a float"):
        lt.solve_operator(lambda t, x: t * x, (2.0,), torch.ones(3))


def test_a_start_saves_products_and_has_no_derivative():
    """The residual is relative to b from any start."""
    system = torch.diag(torch.arange(1.0, 31, dtype=torch.float64)) + 0.1
    b, calls = torch.ones(30, dtype=torch.float64), []

    def product(A, x):
        calls.append(1)
        return A @ x

    def solved(A, b, x0=None):
        calls.clear()
        return lt.solve_operator(product, (A,), b, "cg", x0, rtol=1e-12)

    want = torch.linalg.solve(system, b)
    from_zero, many = solved(system, b), len(calls)
    from_near, few = solved(system, b, want), len(calls)
    torch.testing.assert_close(from_zero, want), torch.testing.assert_close(from_near, want)
    assert few < many / 2
    inputs = system.clone().requires_grad_(), b.clone().requires_grad_()
    gradients = [torch.autograd.grad(solved(*inputs, x0).pow(2).sum(), inputs) for x0 in (None, want + 0.1)]
    torch.testing.assert_close(*gradients)
    starts = torch.stack([want, 0 * want])
    torch.testing.assert_close(torch.func.vmap(lambda x0: solved(system, b, x0))(starts), want.expand(2, 30))
    host = system.numpy()
    x = lacuna.solve_operator(lambda x: host @ x, (), b.numpy(), "cg", want.numpy(), max_iterations=1)
    np.testing.assert_allclose(x, want.numpy())


# -- Lanczos' process -------------------------------------------------------------------------------------------------


def hermitian(dtype, n=9, seed=0):
    """Positive definite, by NumPy."""
    g = np.random.default_rng(seed)
    a = g.normal(size=(n, n)) + (1j * g.normal(size=(n, n)) if np.issubdtype(dtype, np.complexfloating) else 0)
    return (a @ a.conj().T / n + np.eye(n)).astype(dtype)


def tridiagonal(alpha, beta):
    return np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("is_preconditioned", [False, True])
def test_lanczos_has_the_moments_of_the_matrix(dtype, is_preconditioned):
    """(T^k)_00 = s^H (B A)^k B s / s^H B s for k up to twice the steps, and T has the norm of what is left."""
    a, b, steps = hermitian(dtype), hermitian(dtype, seed=1) if is_preconditioned else np.eye(9), 4
    start = np.random.default_rng(2).normal(size=(2, 9)).astype(dtype)
    inverse = (lambda x, op: x @ b.T) if is_preconditioned else None
    alpha, beta = lacuna.lanczos(lambda m, x: x @ m.T, (a,), start, steps, inverse)
    of_torch = lt.lanczos(lambda m, x: x @ m.T, (torch.from_numpy(a),), torch.from_numpy(start), steps, inverse)
    for numbers, tensor in zip((alpha, beta), of_torch):
        np.testing.assert_allclose(numbers, tensor.numpy(), rtol=1e-13)
    assert alpha.shape == beta.shape == (2, steps) and alpha.dtype == np.float64 and not of_torch[0].requires_grad
    for s, T in zip(start, map(tridiagonal, alpha, beta)):
        for k in range(2 * steps):
            want = s.conj() @ np.linalg.matrix_power(b @ a, k) @ b @ s / (s.conj() @ b @ s)
            np.testing.assert_allclose(np.linalg.matrix_power(T, k)[0, 0], want, rtol=1e-11)
    whole = tridiagonal(*lacuna.lanczos(lambda x: x @ a.T, (), start[0], 9, inverse))
    np.testing.assert_allclose(np.linalg.eigvalsh(whole), np.sort(np.linalg.eigvals(b @ a).real), rtol=1e-10)


def test_lanczos_ends_where_the_space_does_and_refuses():
    alpha, beta = lacuna.lanczos(lambda x: 2 * x, (), np.eye(3, dtype=np.float32)[1], 5)
    assert alpha.tolist() == [2, 1, 1, 1, 1] and beta.tolist() == [0] * 5 and alpha.dtype == np.float32
    assert [part.shape for part in lacuna.lanczos(lambda x: x, (), np.ones((0, 3)), 2)] == [(0, 2)] * 2
    assert lacuna.lanczos(lambda x: x, (), np.ones(3), 0)[0].shape == (0,)
    with pytest.raises(lacuna.DefiniteError, match="lanczos: the preconditioner is not positive definite"):
        lacuna.lanczos(lambda x: x, (), np.ones(3), 2, lambda x, op: -x)
    with pytest.raises(lacuna.ShapeError, match=r"lanczos: start has shape \(\)"):
        lacuna.lanczos(lambda x: x, (), 1.0, 2)
    with pytest.raises(lacuna.ArgumentError, match="lanczos: theta is a ndarray"):
        lacuna.lanczos(lambda a, x: a @ x, np.eye(3), np.ones(3), 2)
    with pytest.raises(lacuna.ShapeError, match="lanczos: the function returned an array of shape"):
        lacuna.lanczos(lambda x: x[:2], (), np.ones(3), 2)


@pytest.mark.skipif(not lt._private.is_whole, reason="this torch does not tell what is wrapped")
def test_lanczos_refuses_transforms():
    a, starts = torch.eye(3, dtype=torch.float64), torch.ones(2, 3, dtype=torch.float64)
    alpha = lambda a, start: lt.lanczos(torch.mv, (a,), start, 2)[0].sum()  # noqa: E731
    hidden = lambda a: lt.lanczos(lambda x: a @ x, (), starts[0], 2)[0].sum()  # noqa: E731
    calls = [
        lambda: torch.func.vmap(lambda start: alpha(a, start))(starts), lambda: torch.func.grad(alpha)(a, starts[0]),
        lambda: torch.func.jacrev(alpha)(a, starts[0]), lambda: torch.func.jacfwd(alpha)(a, starts[0]),
        lambda: torch.func.vmap(hidden)(torch.stack([a, a])), lambda: torch.func.grad(hidden)(a),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(lacuna.UnsupportedError, match="lanczos: no transform of torch.func takes it; start"):
            call()
    assert not alpha(a.clone().requires_grad_(), starts[0]).requires_grad


# -- rectangles -------------------------------------------------------------------------------------------------------

RECTANGLES = [(7, 3), (3, 7)]


def rectangle(shape, dtype):
    g = torch.Generator().manual_seed(5)
    A, b = (torch.randn(s, generator=g, dtype=dtype) for s in (shape, shape[:1]))
    return A.requires_grad_(), b.requires_grad_()


@pytest.mark.parametrize("shape", RECTANGLES)
def test_numpy_solves_least_squares(shape):
    A, b = (t.detach().numpy() for t in rectangle(shape, torch.complex128))
    want = np.linalg.lstsq(A, b)[0]
    product, adjoint = lambda m, x: m @ x, lambda m, y: m.conj().T @ y
    for method in ("auto", "lsqr"):
        x = lacuna.solve_operator(product, [A], b, method, adjoint=adjoint, shape=(shape[1],), rtol=1e-13)
        np.testing.assert_allclose(x, want, atol=1e-11)
    given = {"adjoint": adjoint, "shape": (shape[1],), "x0": want, "return_info": True}
    x, report = lacuna.solve_operator(product, [A], b, **given)
    np.testing.assert_allclose(x, want, atol=1e-9)
    assert report["ending"] == "converged" and report["method"] == "lsmr" and report["iterations"] <= 1
    columns = lacuna.solve_operator(lambda x: A @ x.ravel(), [], b, "lsqr", adjoint=lambda y: (A.conj().T @ y)[:, None],
                                    shape=(shape[1], 1), rtol=1e-13)  # fmt: skip
    np.testing.assert_allclose(columns[:, 0], want, atol=1e-11)


@pytest.mark.parametrize("shape", RECTANGLES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("adjoint", [None, lambda A, y: A.mH @ y])
def test_torch_differentiates_least_squares(shape, dtype, adjoint):
    A, b = rectangle(shape, dtype)
    more = {"adjoint": adjoint, "shape": (shape[1],), "rtol": 1e-13}
    f = lambda A, b: lt.solve_operator(torch.matmul, (A,), b, "lsqr", **more)  # noqa: E731
    torch.testing.assert_close(f(A, b), torch.linalg.pinv(A) @ b, rtol=1e-10, atol=1e-11)
    assert gradcheck(f, (A, b), check_forward_ad=True)
    assert gradgradcheck(f, (A, b), check_fwd_over_rev=True, check_rev_over_rev=True)
    A, b = A.detach(), b.detach()
    ours, plain = (lambda A: f(A, b).abs().sum()), lambda A: (torch.linalg.pinv(A) @ b).abs().sum()
    torch.testing.assert_close(torch.func.grad(ours)(A), torch.func.grad(plain)(A))
    many = torch.stack([A, 2 * A])
    mapped = [torch.func.vmap(torch.func.grad(loss))(many) for loss in (ours, plain)]
    torch.testing.assert_close(*mapped)


@pytest.mark.parametrize("shape", RECTANGLES)
def test_torch_func_differentiates_least_squares_in_all_modes(shape):
    A, b = (t.detach() for t in rectangle(shape, torch.float64))
    ours = lambda A: lt.solve_operator(torch.matmul, (A,), b, "lsqr", shape=shape[1:], rtol=1e-13)  # noqa: E731
    plain = lambda A: torch.linalg.pinv(A) @ b  # noqa: E731
    for mode in (torch.func.jacfwd, torch.func.jacrev):
        torch.testing.assert_close(mode(ours)(A), torch.func.jacrev(plain)(A))
    hessians = [torch.func.hessian(lambda A: f(A).square().sum())(A) for f in (ours, plain)]  # noqa: B023
    torch.testing.assert_close(*hessians)


@pytest.mark.parametrize("method", ["lsqr", "lsmr"])
def test_least_squares_solve_nonsymmetric_systems(method):
    c, w, b = system(torch.float64)
    f = lambda c, w, b: lt.solve_operator(stencil, (c, w), b, method, **OPTIONS)  # noqa: E731
    torch.testing.assert_close(f(c, w, b), torch.linalg.solve(dense(c, w), b), rtol=1e-10, atol=1e-12)
    assert gradcheck(f, (c, w, b))
    A, right = dense(c, w).detach().numpy(), b.detach().numpy()
    x = lacuna.solve_operator(lambda x: A @ x, (), right, method, adjoint=lambda y: A.T @ y, **OPTIONS)
    np.testing.assert_allclose(x, np.linalg.solve(A, right), rtol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_a_wide_system_is_solved_nearest_its_start(dtype):
    A, b = rectangle((3, 7), dtype)
    x0 = torch.randn(7, generator=torch.Generator().manual_seed(6), dtype=dtype)
    nearest = lambda A, b, x0=x0: x0 + torch.linalg.pinv(A) @ (b - A @ x0)  # noqa: E731
    for more in ({}, {"adjoint": lambda A, y: A.mH @ y}):
        given = {"shape": (7,), "rtol": 1e-13, **more}
        f = lambda A, b, x0=x0: lt.solve_operator(torch.matmul, (A,), b, x0=x0, **given)  # noqa: B023, E731
        torch.testing.assert_close(f(A, b), nearest(A, b), rtol=1e-10, atol=1e-11)
        assert gradcheck(f, (A, b), check_forward_ad=True)
        assert gradgradcheck(f, (A, b))
        for ours, dense in zip(torch.autograd.grad(f(A, b).abs().sum(), (A, b)),
                               torch.autograd.grad(nearest(A, b).abs().sum(), (A, b))):  # fmt: skip
            torch.testing.assert_close(ours, dense)
    starts = torch.stack([x0, -2 * x0])
    mapped = [torch.func.vmap(lambda x0: g(A.detach(), b.detach(), x0))(starts) for g in (f, nearest)]  # noqa: B023
    torch.testing.assert_close(*mapped)
    x, info = f(A, b), lt.solve_operator(torch.matmul, (A,), b, x0=x0, return_info=True, **given)
    torch.testing.assert_close(info[0], x, rtol=1e-6, atol=1e-8)
    assert info[1].converged and info[1].method == "lsmr"
    with pytest.raises(lacuna.ShapeError, match="x0"):
        lt.solve_operator(torch.matmul, (A,), b, x0=b, **given)
    with pytest.raises(lacuna.ShapeError, match="the function returned an array of shape"):
        lt.solve_operator(lambda x: x, (), b, x0=x0, shape=(7,), adjoint=lambda y: y.new_ones(7))


def test_a_preconditioner_of_a_tall_system_is_left_out_where_it_does_not_fit():
    g = torch.Generator().manual_seed(8)
    L, b = (torch.randn(s, generator=g, dtype=torch.float64).requires_grad_() for s in ((6, 3), (6,)))
    d, sizes = np.array([0.5, 2, 1.5]), set()

    def inverse(x, op):
        sizes.add(x.shape)
        return x * d[None, :, None]

    for adjoint in (None, lambda A, y: A.mH @ y):
        f = lambda L, b: lt.solve_operator(  # noqa: E731
            torch.matmul, (L,), b, "lsmr", adjoint=adjoint, shape=(3,), rtol=1e-13, preconditioner=inverse  # noqa: B023
        )  # fmt: skip
        torch.testing.assert_close(f(L, b), torch.linalg.pinv(L) @ b, rtol=1e-10, atol=1e-11)
        assert gradcheck(f, (L, b), check_forward_ad=True)
    assert sizes == {(1, 3, 1)}


def test_a_preconditioner_of_a_derivative_is_the_adjoint_one():
    c, w, b = system(torch.complex128)
    inverse, ops = torch.linalg.inv(dense(c, w)).detach().numpy(), []

    def apply(x, op):
        ops.append(op)
        return (inverse if op == "N" else inverse.conj().T) @ x

    x, info = lt.solve_operator(stencil, (c, w), b, preconditioner=apply, return_info=True, rtol=1e-12)
    assert set(ops) == {"N"} and info.iterations <= 2
    ops.clear(), x.abs().sum().backward()
    assert set(ops) == {"H"} and info.adjoint.iterations <= 2


def test_an_ill_conditioned_rectangle_keeps_its_digits():
    g = torch.Generator().manual_seed(0)
    u, v = (torch.linalg.qr(torch.randn(n, 50, generator=g, dtype=torch.float64))[0] for n in (200, 50))
    sizes = torch.logspace(0, -6, 50, dtype=torch.float64)
    A, b = u * sizes @ v.T, u.sum(1) + 1e-3 * torch.randn(200, generator=g, dtype=torch.float64)
    want = v @ (u.T @ b / sizes)
    for method in ("lsqr", "lsmr"):
        x = lt.solve_operator(lambda x: A @ x, (), b, method, shape=(50,), rtol=1e-14, max_iterations=20000)
        assert torch.linalg.norm(x - want) <= 1e-7 * torch.linalg.norm(want)


def test_information_comes_with_the_solution():
    c, w, b = system(torch.float64)
    x, info = lt.solve_operator(stencil, (c, w), b, return_info=True, rtol=1e-12)
    assert info.converged and info.method == "gmres" and info.preconditioner == "identity" and info.adjoint is None
    x.sum().backward()
    assert info.adjoint.converged and info.adjoint.iterations > 0
    _, info = lt.solve_operator(stencil, (c, w), b, return_info=True, max_iterations=1)
    assert not info.converged and info.ending == "limit"


def test_errors_of_rectangles_name_what_is_wrong():
    A, b = np.ones((4, 2)), np.ones(4)
    with pytest.raises(lacuna.ArgumentError, match="give adjoint"):
        lacuna.solve_operator(lambda x: A @ x, (), b, shape=(2,))
    with pytest.raises(lacuna.ArgumentError, match="give adjoint"):
        lacuna.solve_operator(lambda x: 2 * x, (), b, "lsqr")
    with pytest.raises(lacuna.ArgumentError, match="adjoint does not compute"):
        lacuna.solve_operator(lambda x: A @ x, (), b, shape=(2,), adjoint=lambda y: 2 * (A.T @ y))
    with pytest.raises(lacuna.ArgumentError, match="adjoint does not compute"):
        lt.solve_operator(lambda x: torch.ones(4, 2) @ x, (), torch.ones(4), shape=(2,), adjoint=lambda y: y[:2])
    with pytest.raises(lacuna.UnsupportedError, match="x is not the shortest of many solutions"):
        wide = {"shape": (4,), "adjoint": lambda y: A @ y, "preconditioner": lambda x, op: 2 * x}
        lacuna.solve_operator(lambda x: A.T @ x, (), b[:2], "lsmr", **wide)
    with pytest.raises(lacuna.ShapeError, match="gmres needs a square matrix, and b has 4 numbers where x has 2"):
        lacuna.solve_operator(lambda x: A @ x, (), b, "gmres", shape=(2,), adjoint=lambda y: A.T @ y)
    with pytest.raises(lacuna.ShapeError, match=r"returned an array of shape \(3,\); it must be \(2,\)"):
        lacuna.solve_operator(lambda x: A @ x, (), b, shape=(2,), adjoint=lambda y: y[:3])
    with pytest.raises(lacuna.ShapeError, match="x0"):
        lacuna.solve_operator(lambda x: A @ x, (), b, shape=(2,), adjoint=lambda y: A.T @ y, x0=b)
