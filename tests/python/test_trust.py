# SPDX-License-Identifier: Apache-2.0
"""Nothing silently wrong, nothing needlessly refused: singular systems, numbers at the ends of their range, odd
files."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import lacuna

torch = pytest.importorskip("torch")
import lacuna.torch as lt  # noqa: E402


def laplacian(m, n):
    """Of a grid, in integers: singular to the last bit."""
    path = [sp.diags([np.ones(k - 1), np.ones(k - 1)], [-1, 1]) for k in (m, n)]
    edges = sp.kronsum(path[1], path[0]).tocsr()
    return sp.csr_matrix(sp.diags(np.asarray(edges.sum(1)).ravel()) - edges)


def test_a_singular_system_is_an_error_through_every_door():
    a = laplacian(100, 100)
    pattern, values = lacuna.from_scipy(a)
    b = np.ones(a.shape[0])
    with pytest.raises(lacuna.SingularError, match="no digit of x is certain.*null space"):
        lacuna.solve(pattern, values, b)
    with pytest.raises(lacuna.SingularError, match="no digit"):
        lt.solve(pattern, torch.from_numpy(values).requires_grad_(), torch.from_numpy(b))
    with pytest.raises(lacuna.SingularError):
        lacuna.logdet(pattern, values)


def test_the_ways_out_of_a_singular_system_work():
    a = laplacian(9, 8)
    pattern, values = lacuna.from_scipy(a)
    n = a.shape[0]
    b = np.random.default_rng(1).standard_normal(n)
    b -= b.mean()
    x = lacuna.solve(lacuna.Solver(pattern, null_space=np.ones(n)), values, b)
    np.testing.assert_allclose(a @ x, b, atol=1e-8)
    _, columns, rows = pattern.structure()
    held = lacuna.solve(pattern, values + 0.1 * (rows == columns), b)
    np.testing.assert_allclose((a + 0.1 * sp.eye(n)) @ held, b, atol=1e-10)
    with pytest.warns(lacuna.AccuracyWarning, match="no digit of x is certain"):
        lacuna.solve(lacuna.Solver(pattern, accept_singular=True), values, b)


def test_few_certain_digits_are_a_warning_that_names_the_caller():
    pattern, values = lacuna.from_scipy(sp.csr_matrix(np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-44]])))
    for solve in (lacuna.solve, lambda p, a, b: lt.solve(p, torch.from_numpy(a), torch.from_numpy(b))):
        with pytest.warns(lacuna.AccuracyWarning, match="nearly singular") as caught:
            solve(pattern, values, np.array([1.0, 2.0]))
        assert caught[0].filename == __file__
    a = torch.from_numpy(values).requires_grad_()
    with pytest.warns(lacuna.AccuracyWarning):
        x = lt.solve(pattern, a, torch.tensor([1.0, 2.0], dtype=torch.float64))
    with pytest.warns(lacuna.AccuracyWarning):
        x.sum().backward()


def test_scaling_makes_no_system_doubtful():
    rng = np.random.default_rng(2)
    a = laplacian(20, 20) + 0.1 * sp.eye(400)
    rows, cols = 10.0 ** rng.uniform(-9, 9, (2, 400))
    pattern, values = lacuna.from_scipy(sp.csr_matrix(sp.diags(rows) @ a @ sp.diags(cols)))
    x = rng.standard_normal(400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = lacuna.solve(pattern, values, rows * (a @ x))
    np.testing.assert_allclose(cols * got, x, rtol=1e-9)


def test_an_iteration_that_ends_in_rounding_far_above_its_tolerance_says_so():
    a = laplacian(1, 50)
    pattern, values = lacuna.from_scipy(a)
    b = np.random.default_rng(3).standard_normal(50)
    b += 1e-6 - b.mean()  # not quite in the range: x goes along the null space
    said = 0
    for method in ("bicgstab", "minres", "gmres"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                x = lacuna.solve(lacuna.Solver(pattern, method), values, b)
            except lacuna.ConvergenceError:
                continue
        said += any(w.category is lacuna.AccuracyWarning for w in caught)
        assert np.linalg.norm(a @ x - b) <= 1e-6 * np.linalg.norm(b) or said
    assert said


def test_parts_that_have_nothing_in_common_are_judged_by_themselves():
    rng = np.random.default_rng(1)
    held = laplacian(2, 3).toarray() + np.diag([1.0, 0, 0, 0, 0, 0])
    for size in (1e-8, 1e-12, 1e8):
        a = sp.csr_matrix(sp.block_diag([held, size * laplacian(2, 4).toarray() * rng.uniform(0.9, 1.1)]))
        x = rng.standard_normal(14)
        pattern, values = lacuna.from_scipy(a)
        for method in ("auto", "lu", "pivoting_lu"):
            with warnings.catch_warnings():
                warnings.simplefilter("error", lacuna.AccuracyWarning)
                with pytest.raises((lacuna.SingularError, lacuna.AccuracyWarning)):
                    lacuna.solve(lacuna.Solver(pattern, method), values, a @ x)


def has_engine(name):
    try:
        return bool(lacuna.Solver(lacuna.Pattern.eye(1), name))
    except lacuna.UnsupportedError:
        return False


def hessenberg(kind, seed, n=400):
    """Their inverses are as large as 1e60 and graded, so that a factor in another order than theirs is one of another
    matrix."""
    rng = np.random.default_rng(seed)
    full = rng.standard_normal((n, n)) if kind != "uniform" else rng.uniform(-1, 1, (n, n))
    if kind == "sparse":
        full = np.where(rng.random((n, n)) < 0.1, full, 0) + np.diag(np.ones(n - 1), -1)
    return np.triu(full, -1)


@pytest.mark.parametrize("kind", ["normal", "uniform", "sparse"])
def test_determinants_of_hessenberg_matrices(kind):
    engines = [name for name in ("klu", "umfpack", "mumps") if has_engine(name)]
    for seed in range(2):
        full = hessenberg(kind, seed)
        pattern, values = lacuna.from_scipy(sp.csr_matrix(full))
        (sign, logabs), b = np.linalg.slogdet(full), np.ones(len(full))
        x = np.linalg.solve(full, b)
        for method in ["auto", "lu", "pivoting_lu", *engines]:
            solver = lacuna.Solver(pattern, method)
            try:
                got = lacuna.slogdet(solver, values)
            except (lacuna.SingularError, lacuna.ConvergenceError):
                assert method in engines  # whose factors may not be good enough to tell
                continue
            np.testing.assert_allclose(got, (sign, logabs), rtol=1e-9)
            np.testing.assert_allclose(lacuna.solve(solver, values, b), x, rtol=1e-6)


def test_what_is_symmetric_to_rounding_is_symmetric():
    rng = np.random.default_rng(3)
    a = sp.csr_matrix(laplacian(12, 12) + sp.eye(144)).astype(float)
    a.data += 2.2e-16 * rng.uniform(-2, 2, a.nnz)
    pattern, values = lacuna.from_scipy(a)
    for method in ("cholesky", "cg"):
        lacuna.Solver(pattern, method).factor(values)
    values[pattern.to_scipy(np.arange(pattern.nnz)).tocsr()[0, 1]] += 1e-9
    told = r"entry \(0, 1\), -0.99999\S*, does not equal entry \(1, 0\), -\S+, to rounding"
    with pytest.raises(lacuna.SymmetryError, match=told):
        lacuna.Solver(pattern, "cholesky").factor(values)
    lacuna.Solver(pattern, "cholesky", assume_hermitian=True).factor(values)


@pytest.mark.parametrize("size", [2.0**-110, 2.0**-75, 1.0, 2.0**60, 2.0**75, 2.0**110])
def test_derivatives_of_inverses_do_not_depend_on_the_unit(size):
    p = lacuna.Pattern.from_coo(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), (2, 2))
    a = torch.tensor([3.0, 1, 1, 2], dtype=torch.float32).mul_(size).requires_grad_()
    b = torch.tensor([1.0, 2, 3, 4], dtype=torch.float32) * size
    grad = torch.autograd.grad(lt.trace_solve(p, a, p, b), a, create_graph=True)[0]
    torch.testing.assert_close(grad.detach() * size, torch.tensor([0.08, -0.24, -0.04, -0.88]), rtol=1e-4, atol=1e-6)
    second = torch.autograd.grad((grad * size).sum(), a)[0] * size
    unit = torch.tensor([3.0, 1, 1, 2], dtype=torch.float64).requires_grad_()
    one = lt.trace_solve(p, unit, p, torch.tensor([1.0, 2, 3, 4], dtype=torch.float64))
    wanted = torch.autograd.grad(torch.autograd.grad(one, unit, create_graph=True)[0].sum(), unit)[0]
    torch.testing.assert_close(second.double(), wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("x", [1.5 * 2.0**-46, 1.5 * 2.0**50, 2.0])
def test_second_derivatives_of_reciprocals_stay_in_range(x):
    mine, theirs = (torch.tensor([x], requires_grad=True) for _ in range(2))
    seconds = []
    for y, f in ((mine, lt.reciprocal), (theirs, torch.reciprocal)):
        g = torch.autograd.grad(f(y), y, create_graph=True)[0]
        seconds.append(torch.autograd.grad(g, y, y.detach())[0])
    torch.testing.assert_close(*seconds)


@pytest.mark.parametrize(
    "dtype, x", [(torch.float32, 1e7), (torch.float32, 1e4), (torch.float64, 1e17), (torch.float64, -3.0)]
)
def test_log_softmax_of_large_numbers(dtype, x):
    x = torch.tensor([x, x, x - 1], dtype=dtype)
    torch.testing.assert_close(lt.log_softmax(x), torch.log_softmax(x, 0))
    np.testing.assert_allclose(lacuna.log_softmax(x.numpy()), torch.log_softmax(x, 0).numpy(), rtol=1e-6)


def test_a_power_of_zero_in_its_exponent():
    mine, theirs = (torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
    zero = torch.zeros(2, dtype=torch.float64)
    lt.pow(zero, mine).sum().backward()
    torch.pow(zero, theirs).sum().backward()
    assert mine.grad.tolist() == theirs.grad.tolist() == [-np.inf, 0.0]


def test_bytes_that_are_no_text_come_in_a_sentence(tmp_path):
    file = tmp_path / "odd.mtx"
    file.write_bytes(b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 \xff\xfe\n")
    with pytest.raises(lacuna.LacunaError):
        lacuna.read_matrix_market(file)


def test_a_factor_beyond_the_budget_serves_its_backward():
    a = laplacian(30, 30) + sp.eye(900)
    pattern, values = lacuna.from_scipy(sp.csr_matrix(a))
    solver = lacuna.Solver(pattern, "cholesky", keep_bytes=1)
    v = torch.from_numpy(values).requires_grad_()
    lt.solve(solver, v, torch.ones(900, dtype=torch.float64)).sum().backward()
    assert solver.report["factorisations"] == 1


@pytest.mark.parametrize(("keep_bytes", "factorisations"), [(None, 1), (0, 1), (-1, 2)])
def test_zero_is_the_default_and_less_keeps_no_factor(keep_bytes, factorisations):
    a = laplacian(9, 9) + sp.eye(81)
    pattern, values = lacuna.from_scipy(sp.csr_matrix(a))
    solver = lacuna.Solver(pattern, keep_bytes=keep_bytes)
    factors = [solver.factor(values), solver.factor(values)]
    assert solver.report["factorisations"] == factorisations
    x = factors[1].solve(np.ones(81))
    np.testing.assert_allclose(a @ x, np.ones(81), rtol=1e-12)


def test_an_interrupt_ends_a_solve_that_iterates():
    a = laplacian(400, 400) + 1e-9 * sp.eye(160000)
    pattern, values = lacuna.from_scipy(sp.csr_matrix(a))
    solver = lacuna.Solver(pattern, "cg", preconditioner="identity", rtol=1e-14, max_iterations=10**6)
    factor = solver.factor(values)
    begin = time.monotonic()
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        factor.solve(np.random.default_rng(1).standard_normal(160000))
    assert time.monotonic() - begin < 10  # alone it goes on for minutes


def cube(m):
    """The Laplacian of a grid in three dimensions."""
    path = sp.diags([-np.ones(m - 1), 2 * np.ones(m), -np.ones(m - 1)], [-1, 0, 1])
    return sp.csr_matrix(sp.kronsum(path, sp.kronsum(path, path)))


@pytest.mark.parametrize("method", ["cholesky", "lu", "pivoting_lu"])
def test_an_interrupt_ends_a_factorisation(method):
    pattern, values = lacuna.from_scipy(cube(40 if method != "pivoting_lu" else 24))
    solver = lacuna.Solver(pattern, method)
    told = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    told.start()
    with pytest.raises(KeyboardInterrupt):
        solver.factor(values)
        told.join()  # on a machine that is faster than the signal
        time.sleep(1)
    assert time.monotonic() - begin < 1.5
    pattern, values = lacuna.from_scipy(cube(8))
    x = lacuna.Solver(pattern, method).factor(values).solve(np.ones(512))  # and the next call works
    assert np.abs(cube(8) @ x - 1).max() < 1e-12
