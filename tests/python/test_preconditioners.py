# SPDX-License-Identifier: Apache-2.0
"""The simple preconditioners inside Krylov methods: each does what its name promises, on easy and uneven matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

import lacuna

RNG = np.random.default_rng(0)
HERMITIAN = ["jacobi", "block_jacobi", "ssor", "ic0", "chebyshev"]


def diffusion(n, sigma):
    """-div(c grad) on n x n points, c log-normal: the diagonal varies as e^sigma does."""
    c = np.exp(sigma * RNG.standard_normal((n + 1, n + 1)))
    index = np.arange(n * n).reshape(n, n)
    across, along = 2 / (1 / c[:n, 1:n] + 1 / c[1:, 1:n]), 2 / (1 / c[1:n, :n] + 1 / c[1:n, 1:])
    row = np.concatenate([index[:, :-1].ravel(), index[:-1].ravel()])
    col = np.concatenate([index[:, 1:].ravel(), index[1:].ravel()])
    w = np.concatenate([across.ravel(), along.ravel()])
    off = sp.coo_array((w, (row, col)), (n * n, n * n))
    off = off + off.T
    return (sp.diags_array(off.sum(axis=1) + 0.1 * c[:n, :n].ravel() / n) - off).tocsr()


def iterations(matrix, preconditioner, method="cg", b=None, **options):
    where, a = lacuna.from_scipy(matrix)
    b = np.ones((matrix.shape[0], 1)) if b is None else b
    solver = lacuna.Solver(where, method=method, preconditioner=preconditioner, rtol=1e-8, **options)
    x, report = solver.factor(a).iterate(b)
    assert np.linalg.norm(matrix @ x - b) <= 1.01e-8 * np.linalg.norm(b)
    return report["iterations"]


@pytest.mark.parametrize("sigma", [0, 1.5])
def test_each_is_better_than_what_is_simpler(sigma):
    matrix = diffusion(40, sigma)
    found = {name: iterations(matrix, name) for name in HERMITIAN}
    assert found["ssor"] < 0.7 * found["jacobi"]
    assert found["ic0"] < 0.7 * found["jacobi"]
    assert found["chebyshev"] < 0.8 * found["jacobi"]
    assert found["block_jacobi"] <= found["jacobi"]
    assert iterations(matrix, "chebyshev", degree=5) < found["chebyshev"]
    assert iterations(matrix, "block_jacobi", block=40) < found["jacobi"]


@pytest.mark.parametrize("name", HERMITIAN)
def test_the_scale_of_rows_and_columns_does_not_matter(name):
    """D A D with D from 1e-3 to 1e3: what is made of the diagonal or of blocks undoes it."""
    matrix = diffusion(20, 0)
    d = sp.diags_array(10.0 ** RNG.uniform(-3, 3, 400))
    b = RNG.standard_normal((400, 1))
    scaled = (d @ matrix @ d).tocsr()
    where, a = lacuna.from_scipy(scaled)
    x, report = lacuna.Solver(where, method="cg", preconditioner=name, rtol=1e-12).factor(a).iterate(d @ b)
    np.testing.assert_allclose(d @ x, sp.linalg.spsolve(matrix.tocsc(), b)[:, None], rtol=1e-4, atol=1e-4)
    assert report["iterations"] < 400


@pytest.mark.parametrize("name", ["identity", "jacobi", "block_jacobi", "ssor", "ilu0", "chebyshev"])
@pytest.mark.parametrize("method", ["gmres", "bicgstab"])
def test_wind_and_many_columns(name, method):
    n = 15
    line = sp.diags_array([-1.8 * np.ones(n - 1), 2.2 * np.ones(n), -0.4 * np.ones(n - 1)], offsets=[-1, 0, 1])
    matrix = (sp.kron(sp.eye_array(n), line) + sp.kron(line, sp.eye_array(n))).tocsr()
    b = RNG.standard_normal((n * n, 5))
    assert iterations(matrix, name, method, b) < 150


def test_what_a_matrix_lacks_is_said():
    where = lacuna.Pattern.from_coo([0, 0, 1], [0, 1, 0], (2, 2))
    for name in ("jacobi", "ssor", "chebyshev", "ilu0"):
        with pytest.raises(lacuna.SingularError, match="row 1"):
            lacuna.Solver(where, method="gmres", preconditioner=name).factor(np.array([2.0, 1.0, 1.0]))
    with pytest.raises(lacuna.SymmetryError, match="ilu0"):
        lacuna.Solver(where, method="gmres", preconditioner="ic0").factor(np.array([2.0, 1.0, 3.0]))


def test_a_shift_of_ic0_is_told():
    """Kershaw's matrix: positive definite, its incomplete factor is not."""
    kershaw = sp.csr_array(np.array([[3.0, -2, 0, 2], [-2, 3, -2, 0], [0, -2, 3, -2], [2, 0, -2, 3]]))
    where, a = lacuna.from_scipy(kershaw)
    factor = lacuna.Solver(where, method="cg", preconditioner="ic0").factor(a)
    assert "the diagonal was enlarged" in factor.report["warning"]
    np.testing.assert_allclose(kershaw @ factor.solve(np.ones((4, 1))), 1, rtol=1e-8)
