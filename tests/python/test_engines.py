# SPDX-License-Identifier: Apache-2.0
"""Engines through Python: found beside the library, the same answers and gradients, and a sentence where one is
missing."""

import numpy as np
import pytest

import lacuna

sp = pytest.importorskip("scipy.sparse")
rng = np.random.default_rng(3)
ENGINES = ["cholmod", "umfpack", "klu", "mumps"]


def solver_of(pattern, engine):
    try:
        return lacuna.Solver(pattern, method=engine)
    except lacuna.UnsupportedError as error:
        assert "-dev" in str(error)
        pytest.skip(str(error))


def definite(n=40, dtype=np.float64):
    m = sp.random_array((n, n), density=0.1, rng=rng).astype(dtype)
    a = (m + m.conj().T + 10 * sp.eye_array(n)).tocsr()
    a.sort_indices()  # the order of slots
    return a


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_solves_like_scipy(engine, dtype):
    a = definite(dtype=dtype)
    pattern = lacuna.Pattern.from_scipy(a)
    solver, values, b = solver_of(pattern, engine), a.data, rng.standard_normal((40, 3)).astype(dtype)
    for form, op in (("N", a), ("T", a.T), ("H", a.conj().T)):
        np.testing.assert_allclose(op @ lacuna.solve(solver, values, b, form), b, rtol=1e-12, atol=1e-12)
    report = solver.factor(values).report
    assert report["method"] == engine
    assert report["factorisations"] == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_determinant_and_inverse_of_an_engine(engine):
    a = definite()
    pattern = lacuna.Pattern.from_scipy(a)
    solver, values = solver_of(pattern, engine), a.data
    sign, logabs = lacuna.slogdet(solver, values)
    expected = np.linalg.slogdet(a.toarray())
    np.testing.assert_allclose([sign, logabs], expected, rtol=1e-12)
    inverse = np.linalg.inv(a.toarray()).T[a.nonzero()]
    np.testing.assert_allclose(lacuna.selected_inverse(solver, values), inverse, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_of_a_solve_by_an_engine(engine):
    torch = pytest.importorskip("torch")
    import lacuna.torch as lt

    a = definite(12)
    pattern = lacuna.Pattern.from_scipy(a)
    solver = solver_of(pattern, engine)
    values = torch.tensor(a.data, requires_grad=True)
    b = torch.tensor(rng.standard_normal((12, 2)), requires_grad=True)
    symmetric = engine == "cholmod"  # it reads Hermitian values alone
    values = values.detach() if symmetric else values
    assert torch.autograd.gradcheck(lambda v, x: lt.solve(solver, v, x), (values, b))
