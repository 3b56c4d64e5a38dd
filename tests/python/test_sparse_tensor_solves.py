# SPDX-License-Identifier: Apache-2.0
"""Solves, factorizations, determinants and least squares of SparseTensor against dense twins, and their derivatives."""

import gc
import weakref

import numpy as np
import pytest
import torch
from reference import same
from sparse_cases import GIVEN, SQUARES, Given, differentiates, random

import lacuna
from lacuna.torch import SparseTensor

squares = pytest.mark.parametrize("name", SQUARES)


def right(given, *columns):
    return random(*given.batch, given.matrix().shape[-1], *columns, like=given.values)


@squares
def test_solves_of_vectors_and_columns(name):
    given = GIVEN[name]
    a, dense, b = given.tensor(), given.matrix(), right(given, 2)
    same(a.solve(b), torch.linalg.solve(dense, b))
    same(a.solve(b[..., 0]), torch.linalg.solve(dense, b)[..., 0])
    for op, twin in (("T", dense.mT), ("H", dense.mH)):
        same(a.solve(b, op=op), torch.linalg.solve(twin, b))
    same(a.T.solve(b), torch.linalg.solve(dense.mT, b))
    same(a.H.solve(b), torch.linalg.solve(dense.mH, b))


@pytest.mark.parametrize("more", [{}, {"return_info": True}, {"x0": torch.zeros(5, dtype=torch.float64)}])
def test_tolerances_of_derivatives(more):
    """atol has the unit of b: small cotangents are solved for all the same, to adjoint_rtol, forward and backward."""
    given = GIVEN["square"]
    b, dense = right(given), given.matrix()
    exact = torch.linalg.solve(dense.T, torch.ones(5, dtype=dense.dtype))

    def solved(b):
        x = given.tensor().solve(b, method="gmres", preconditioner="identity", atol=1e-2, adjoint_rtol=1e-12, **more)
        return x[0] if "return_info" in more else x

    for scale in (1.0, 1e-9):
        varied = b.clone().requires_grad_()
        (scale * solved(varied).sum()).backward()
        same(varied.grad / scale, exact, 1e-10)
        tangent = torch.func.jvp(solved, (b,), (scale * b,))[1]
        same(tangent / scale, torch.linalg.solve(dense, b), 1e-10)


@squares
def test_solves_differentiate(name):
    given = GIVEN[name]
    differentiates(lambda values, b: given.tensor(values).solve(b), given.values, right(given))


@squares
@pytest.mark.parametrize("op", ["N", "T", "H"])
def test_solves_from_a_start_differentiate(name, op):
    given = GIVEN[name]
    start = right(given, 2)
    solve = lambda values, b: given.tensor(values).solve(b, x0=start, method="gmres", rtol=1e-14, op=op)  # noqa: E731
    b = right(given, 2)
    twin = {"N": given.matrix(), "T": given.matrix().mT, "H": given.matrix().mH}[op]
    same(solve(given.values, b), torch.linalg.solve(twin, b))
    differentiates(solve, given.values, b, second=op == "N")


def poisson(n):
    """-u'' on n points, as entries in both triangles."""
    return SparseTensor.tridiagonal(n)


def test_a_good_start_needs_fewer_iterations():
    a, b = poisson(400), torch.sin(torch.arange(400, dtype=torch.float64))
    exact = a.solve(b)
    options = dict(method="cg", preconditioner="jacobi", rtol=1e-8, return_info=True)
    cold, told = a.solve(b, **options)
    warm, told_warm = a.solve(b, x0=exact * (1 + 1e-7), **options)
    assert told.converged and told_warm.converged and told_warm.iterations < told.iterations
    same(warm, exact, 1e-4)
    assert (b - a @ warm).norm() <= 1e-8 * b.norm() * (1 + 1e-6)


def test_info_says_what_became_of_the_solve_and_of_its_adjoint():
    given = GIVEN["square"]
    values, b = given.values.clone().requires_grad_(), right(given)
    a = given.tensor(values)
    x, info = a.solve(b, method="bicgstab", rtol=1e-12, return_info=True)
    assert info.method == "bicgstab" and info.converged and info.iterations > 0 and info.adjoint is None
    residual = (b - given.dense() @ x.detach()).norm() / b.norm()
    assert info.residual == pytest.approx(float(residual), abs=1e-14) and info.residual <= 1e-12
    (x**2).sum().backward()
    assert info.adjoint.converged and info.adjoint.iterations > 0 and 0 <= info.adjoint.residual <= 1e-12
    twin = given.values.clone().requires_grad_()
    (torch.linalg.solve(given.dense(twin), b) ** 2).sum().backward()
    same(values.grad, twin.grad)
    _, direct = a.solve(b, method="lu", return_info=True)
    assert direct.iterations == 0 and direct.iter_count == 0 and direct.residual < 1e-14 and "lu" in direct.method


def test_not_to_converge_is_an_error_or_is_said():
    a, b = poisson(200), torch.ones(200, dtype=torch.float64)
    options = dict(method="cg", preconditioner="identity", max_iterations=3)
    for start in ({}, {"x0": torch.zeros(200, dtype=torch.float64)}):
        with pytest.raises(lacuna.ConvergenceError, match="3 iterations"):
            a.solve(b, **options, **start)
    x, info = a.solve(b, return_info=True, **options)
    assert not info.converged and info.ending == "limit" and info.iterations == 3
    assert info.residual == pytest.approx(float((b - a @ x).norm() / b.norm()))


@pytest.mark.parametrize("mode", ["backward", "forward"])
def test_a_derivative_that_does_not_converge_is_an_error(mode):
    a, b = SparseTensor.tridiagonal(400), torch.ones(400, dtype=torch.float64)
    start = torch.linalg.solve(a.to_dense(), b)
    solve = lambda b: a.solve(b, method="cg", preconditioner="identity", max_iterations=3, x0=start)  # noqa: E731
    same(solve(b), start)
    direction = torch.arange(400, dtype=torch.float64).sin()
    with pytest.raises(lacuna.ConvergenceError):
        torch.func.jvp(solve, (b,), (direction,)) if mode == "forward" else torch.func.grad(
            lambda b: solve(b) @ direction
        )(b)


@pytest.mark.parametrize("more", [{}, {"x0": torch.zeros(2, dtype=torch.float64)}])
def test_what_a_solve_warns_of_is_a_warning_where_no_report_is_asked_for(more):
    a = SparseTensor.from_dense(torch.tensor([[1.0, 1], [1, 1 + 3e-15]], dtype=torch.float64))
    with pytest.warns(lacuna.AccuracyWarning):
        a.solve(torch.tensor([1, 1.001], dtype=torch.float64), accept_singular=True, **more)


def test_small_right_hand_sides_are_solved_as_large_ones_are():
    a = poisson(50)
    for size in (1e-12, 1e-200):
        b = size * torch.ones(50, dtype=torch.float64)
        same(a.solve(b, method="cg") / size, a.solve(b / size), 1e-8)
        values = a.values.clone().requires_grad_()
        (size * a.with_values(values).solve(b / size, method="cg")).sum().backward()
        twin = a.values.clone().requires_grad_()
        a.with_values(twin).solve(b / size).sum().backward()
        same(values.grad / size, twin.grad, 1e-6)


def test_one_analysis_serves_a_batch_and_a_solver_is_kept():
    given = GIVEN["square"]
    values = torch.stack([given.values, 2 * given.values])
    b = random(2, 5, like=values)
    twin = torch.linalg.solve(torch.stack([given.dense(), 2 * given.dense()]), b[..., None])[..., 0]
    same(given.tensor().solve_batch(values, b), twin)
    same(given.tensor().solve_batch(values, b[..., None])[..., 0], twin)
    a = given.tensor()
    assert a.solver(method="cg", rtol=1e-8) is a.solver(rtol=1e-8, method="cg")
    assert a.solver() is a.pattern.solver()
    assert a.solver(method="cg") is not a.solver(method="gmres")


def test_parts_and_other_solvers_do_not_take_the_place_of_a_solver():
    a = SparseTensor.tridiagonal(50)
    key = a.solver(method="lu").key
    transposed = a.pattern.transpose()[0].key
    for i in range(40):
        same(a[i], a.to_dense()[i])
        a[:, i], a[i, i]
    assert a.solver(method="lu").key == key and a.pattern.transpose()[0].key == transposed
    for i in range(30):
        a.solver(method="cg", max_iterations=i + 1)
        assert a.solver(method="lu").key == key  # the one that was used longest ago goes
    for i in range(100):
        a[i % 7 : 10 + i, 3:]
    assert a.solver(method="lu").key == key


def test_functions_among_options_are_not_kept():
    a, b = SparseTensor.tridiagonal(40), torch.ones(40, dtype=torch.float64)
    seen = []

    class Watch:
        __hash__ = None

        def __call__(self, iteration, residual):
            seen.append(iteration)
            return False

    watch = Watch()
    gone = weakref.ref(watch)
    same(a.solve(b, method="cg", progress=watch), torch.linalg.solve(a.to_dense(), b))
    del watch
    gc.collect()
    assert seen and gone() is None


def test_options_are_those_of_solvers():
    given = GIVEN["square"]
    a, b = given.tensor(), right(given)
    diagonal = given.dense().diagonal()

    def jacobi(x, op):
        return x / diagonal.numpy()[:, None]

    expected = torch.linalg.solve(given.dense(), b)
    same(a.solve(b, method="gmres", preconditioner=jacobi, rtol=1e-13), expected)
    same(a.solve(b, method="gmres", near_null=torch.ones(5, 1, dtype=torch.float64), rtol=1e-13), expected)
    with pytest.raises(TypeError, match="unexpected option 'tolerance'"):
        a.solve(b, tolerance=1e-3)
    with pytest.raises(lacuna.ShapeError, match="must be square"):
        GIVEN["wide"].tensor().solve(b)
    with pytest.raises(lacuna.ShapeError, match=r"it must be \(5,\), a vector"):
        a.solve(b[:4])


@squares
def test_factorizations(name):
    given = GIVEN[name]
    a, dense, b = given.tensor(), given.matrix(), right(given, 2)
    factor = a.lu()
    same(factor.solve(b), torch.linalg.solve(dense, b))
    same(factor.solve(b[..., 0], op="H"), torch.linalg.solve(dense.mH, b)[..., 0])
    assert "lu" in factor.report["method"] and "Factorization" in repr(factor)
    differentiates(lambda values, b: given.tensor(values).lu().solve(b), given.values, b, second=False)
    same(factor.refactor(2 * given.values).solve(b), torch.linalg.solve(2 * dense, b))


def test_a_factorization_knows_its_values():
    given = GIVEN["square"]
    values = given.values.clone()
    factor = given.tensor(values).lu()
    b = right(given)
    values.requires_grad_()
    (factor.solve(b) ** 2).sum().backward()
    twin = given.values.clone().requires_grad_()
    (torch.linalg.solve(given.dense(twin), b) ** 2).sum().backward()
    same(values.grad, twin.grad)
    with torch.no_grad():
        values.mul_(2)
    with pytest.raises(lacuna.StaleError):
        factor.solve(b)


def symmetric(batch=()):
    given = GIVEN["square"]
    a = given.tensor()
    return (a + a.T) * 1.0, given.dense() + given.dense().T


@pytest.mark.parametrize("ask, formula", [
    (lambda factor: factor.solve(torch.ones(2)), torch.reciprocal),
    (lambda factor: factor.solve(torch.ones(2, dtype=torch.float64)).float(), torch.reciprocal),
    (lambda factor: factor.logdet(), lambda values: values.log().sum()),
    (lambda factor: factor.slogdet()[1], lambda values: values.log().sum()),
])
def test_a_factorization_refuses_changed_values_whatever_is_asked(ask, formula):
    values = torch.tensor([2.0, 3.0])
    factor = SparseTensor.diag(values).lu()
    torch.testing.assert_close(ask(factor), formula(values))
    values.mul_(10)
    with pytest.raises(lacuna.StaleError, match="other values"):
        ask(factor)


def test_cholesky_refuses_what_is_not_definite():
    a, dense = symmetric()
    b = random(5, like=dense)
    same(a.cholesky().solve(b), torch.linalg.solve(dense, b))
    with pytest.raises(lacuna.DefiniteError):
        (-a).cholesky()


@squares
def test_determinants(name):
    given = GIVEN[name]
    a, dense = given.tensor(), given.matrix()
    same(a.det(), torch.linalg.det(dense))
    sign, logabs = a.slogdet()
    same((sign, logabs), tuple(torch.linalg.slogdet(dense)))
    differentiates(lambda values: given.tensor(values).det(), given.values, second=not given.block)
    differentiates(lambda values: given.tensor(values).logdet().real, given.values, second=not given.block)


@squares
def test_inverses_where_they_are_asked_for(name):
    given = GIVEN[name]
    a, inverse = given.tensor(), torch.linalg.inv(given.matrix())
    same(a.inverse_diagonal(), inverse.diagonal(dim1=-2, dim2=-1))
    places = a.flatten_blocks().with_values(torch.ones_like(a._single()[1])).to_dense()
    same(a.inverse_on().to_dense(), inverse * places)
    differentiates(lambda values: given.tensor(values).inverse_diagonal(), given.values, second=False)


@pytest.mark.parametrize("name", ["wide", "batched_wide"])
def test_least_squares(name):
    given = Given([2, 0, 0, 1, 2, 0, 3], [1, 2, 0, 1, 0, 2, 2], (4, 3), batch=GIVEN[name].batch)
    dense, b = given.dense(), random(*given.batch, 4, like=given.values)
    pseudo = torch.linalg.pinv(dense)
    x, residual = given.tensor().lstsq(b, residual=True)
    same(x, (pseudo @ b[..., None])[..., 0])
    same(residual, b - (dense @ x[..., None])[..., 0])
    differentiates(lambda values, b: given.tensor(values).lstsq(b), given.values, b)
    same(given.tensor().lstsq(b, method="lsmr"), x, 1e-6)


def test_triangular_solves():
    given = GIVEN["square"]
    a, b = given.tensor(), right(given)
    same(a.triangular_solve(b), torch.linalg.solve(given.dense().tril(), b))
    same(a.triangular_solve(b, upper=True, op="T"), torch.linalg.solve(given.dense().triu().T, b))
    unit = given.dense().tril(-1) + torch.eye(5, dtype=torch.float64)
    same(a.triangular_solve(b, unitriangular=True), torch.linalg.solve(unit, b))


def test_what_is_no_tensor_is_named():
    a = SparseTensor.tridiagonal(3)
    with pytest.raises(lacuna.ArgumentError, match="from_dense: it is a ndarray; it must be a dense torch.Tensor"):
        SparseTensor.from_dense(np.eye(3))
    with pytest.raises(lacuna.ArgumentError, match="matmul: the right side is a ndarray"):
        a @ np.ones(3)
    with pytest.raises(lacuna.ShapeError, match=r"or \(3, k\), columns"):
        a.solve(torch.ones(4, dtype=torch.float64))


def test_a_start_has_no_derivative_and_shapes_are_integers():
    b, start = torch.ones(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64, requires_grad=True)
    assert not SparseTensor.tridiagonal(3).solve(b, method="cg", x0=start).requires_grad
    with pytest.raises(lacuna.ArgumentError, match="two integers"):
        SparseTensor(torch.ones(1), torch.tensor([0]), torch.tensor([0]), (3.7, 3.2))


def test_a_factorization_is_a_preconditioner():
    given = GIVEN["square"]
    a, b = given.tensor(), right(given)
    for factor in (a.lu(), a.lu().factor):
        x, info = a.solve(b, method="gmres", preconditioner=factor, rtol=1e-12, return_info=True)
        same(x, torch.linalg.solve(given.matrix(), b))
        assert info.iterations <= 2


def test_a_start_and_a_limit_that_mean_nothing_are_refused():
    given = GIVEN["square"]
    a, b = given.tensor(), right(given)
    with pytest.raises(lacuna.ArgumentError, match="x0 is where an iteration starts, and 'lu' has none"):
        a.solve(b, method="lu", x0=b)
    with pytest.raises(lacuna.ArgumentError, match="max_iterations is 0; it must be at least 1"):
        a.solve(b, method="gmres", max_iterations=0)
    same(a.solve(b, x0=b), torch.linalg.solve(given.matrix(), b))


def test_torch_solves_with_a_sparse_matrix():
    given = GIVEN["square"]
    a, b = given.tensor(), right(given, 2)
    same(torch.linalg.solve(a, b), torch.linalg.solve(given.matrix(), b))
    same(torch.linalg.solve(A=a, B=b), torch.linalg.solve(given.matrix(), b))
    with pytest.raises(lacuna.ArgumentError, match="first argument alone"):
        torch.linalg.solve(given.matrix(), a)
    with pytest.raises(lacuna.ArgumentError, match="no left=False"):
        torch.linalg.solve(a, b, left=False)
