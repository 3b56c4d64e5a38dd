# SPDX-License-Identifier: Apache-2.0
"""Estimates from probes: exact where these leave nothing to chance, near with random ones."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import torch
from reference import dense, same, smooth, square, values

import lacuna
import lacuna.torch as lt

both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])
pattern = square(8)
symmetric = pattern.union(pattern.transpose()[0])[0]
hadamard = torch.tensor(scipy.linalg.hadamard(8), dtype=torch.float64)  # Z Z^T = 8 I


def poisson(n):
    line = sp.diags_array([-np.ones(n - 1), 2.05 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return (sp.kron(sp.eye_array(n), line) + sp.kron(line, sp.eye_array(n))).tocsr()


def estimate(a):
    return lt.logdet_estimate(symmetric, a, probes=hadamard.to(a.dtype))[0]


def exact(a):
    m = dense(symmetric, a)
    return torch.linalg.slogdet((m + m.mH) / 2)[1]


@both
def test_a_logdet_without_chance_has_its_derivatives(dtype):
    a = values(symmetric, dtype).requires_grad_()
    same(estimate(a), exact(a))
    assert torch.autograd.gradcheck(estimate, (a,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(estimate, (a,))
    same(torch.func.grad(smooth(estimate))(a), torch.func.grad(smooth(exact))(a))


@both
def test_a_trace_has_its_derivatives(dtype):
    a, b = values(pattern, dtype).requires_grad_(), values(symmetric, dtype).requires_grad_()
    z = torch.randn(8, 3, dtype=dtype)  # whatever the probes, derivatives are those of the estimate

    def function(a, b):
        return lt.trace_solve_estimate(pattern, a, symmetric, b, probes=z)

    assert torch.autograd.gradcheck(function, (a, b), check_forward_ad=True)
    trace = lt.trace_solve_estimate(pattern, a, symmetric, b, probes=hadamard.to(dtype))[0]
    same(trace, (torch.linalg.inv(dense(pattern, a)) @ dense(symmetric, b)).diagonal().sum())


def test_random_probes_come_as_near_as_they_say():
    where, a = lacuna.from_scipy(poisson(20))
    true = np.linalg.slogdet(where.to_scipy(a).toarray())[1]
    for seed in range(5):
        value, error = lacuna.logdet_estimate(where, a, probes=30, seed=seed)
        assert 0 < error < 0.05 * true and abs(value - true) < 5 * error
        value, error = lacuna.trace_solve_estimate(where, a, where, a, probes=4, seed=seed)
        np.testing.assert_allclose(value, 400, rtol=1e-12)  # of the identity every probe says the same
        assert error < 1e-10
    assert lacuna.logdet_estimate(where, a, seed=1) == lacuna.logdet_estimate(where, a, seed=1)
    assert lacuna.logdet_estimate(where, a, seed=1) != lacuna.logdet_estimate(where, a, seed=2)


def test_the_gradient_estimates_that_of_logdet():
    where, a = lacuna.from_scipy(poisson(10))
    a = torch.tensor(a, requires_grad=True)
    value, _ = lt.logdet_estimate(where, a, probes=2000)
    (rough,) = torch.autograd.grad(value, a)
    (true,) = torch.autograd.grad(lt.logdet(where, a), a)
    assert (rough - true).norm() < 0.1 * true.norm()


def test_iterative_solvers_serve_the_derivatives():
    where, a = lacuna.from_scipy(poisson(12))
    a = torch.tensor(a, requires_grad=True)
    solver = lacuna.Solver(where, method="cg", preconditioner="ic0", rtol=1e-12)
    found = []
    for by in (solver, where):
        value, _ = lt.logdet_estimate(by, a, probes=5)
        (first,) = torch.autograd.grad(value, a, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), a)
        found.append((value, first, second))
    same(*found, rtol=1e-7)
    assert solver.report["setups"] == 1  # of the value, its gradient and the gradient of that


def test_probes_are_signs_that_a_seed_decides():
    like = np.zeros(1, np.complex64)
    few, many = lacuna.probes(like, 5, 2, seed=3), lacuna.probes(like, 5, 4, seed=3)
    assert few.dtype == np.complex64 and set(np.abs(many.ravel())) == {1}
    np.testing.assert_array_equal(few, many[:, :2])
    assert torch.equal(lt.probes(torch.zeros(1), 5, 4, seed=3), torch.tensor(many.real))


def test_what_has_no_estimate_is_said():
    full = lacuna.Pattern.from_coo([0, 0, 1, 1], [0, 1, 0, 1], (2, 2))
    with pytest.raises(lacuna.DefiniteError, match="not positive definite"):
        lacuna.logdet_estimate(full, np.array([1.0, 2.0, 2.0, 1.0]))
    with pytest.raises(lacuna.SymmetryError, match="both halves"):
        lacuna.logdet_estimate(pattern, values(pattern).numpy())
    with pytest.raises(lacuna.ArgumentError, match="0 probes"):
        lacuna.logdet_estimate(full, np.ones(4), probes=0)
    with pytest.raises(lacuna.ShapeError, match="columns"):
        lacuna.logdet_estimate(full, np.ones(4), probes=np.ones(2))
    value, error = lacuna.logdet_estimate(full, np.array([2.0, 1.0, 1.0, 2.0]), probes=1)
    assert np.isfinite(value) and np.isnan(error)
