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


# -- systems -----------------------------------------------------------------------------------------------------------


def hexahedron(nu):
    """The stiffness of a trilinear unit cube, by 2 x 2 x 2 Gauss points."""
    lam, mu = nu / ((1 + nu) * (1 - 2 * nu)), 1 / (2 * (1 + nu))
    material = np.diag([2 * mu] * 3 + [mu] * 3)
    material[:3, :3] += lam
    corners = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)]) * 2 - 1
    stiffness = np.zeros((24, 24))
    for point in corners / np.sqrt(3):
        shape = (1 + corners * point) / 2
        strain = np.zeros((6, 8, 3))
        for axis in range(3):
            after, last = (axis + 1) % 3, (axis + 2) % 3
            slope = corners[:, axis] * shape[:, after] * shape[:, last]
            strain[axis, :, axis] = strain[3 + axis, :, after] = strain[3 + last, :, last] = slope
        strain = strain.reshape(6, 24)
        stiffness += strain.T @ material @ strain / 8
    return stiffness


def brick(cells, nu=0.3, soft=1.0):
    """An elastic brick, clamped at one face; half of its cells, a checkerboard of 2 x 2 x 2, are `soft`. With its
    points."""
    shape = tuple(c + 1 for c in cells)
    cell = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), -1).reshape(-1, 3)
    corner = cell[:, None] + [[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)]
    nodes = np.ravel_multi_index(tuple(np.moveaxis(corner, -1, 0)), shape)
    dofs = (3 * nodes[..., None] + np.arange(3)).reshape(-1, 24)
    weight = np.where((cell // 2).sum(1) % 2, soft, 1.0)
    data = (weight[:, None, None] * hexahedron(nu)).ravel()
    rows, cols = np.repeat(dofs, 24, axis=1).ravel(), np.tile(dofs, (1, 24)).ravel()
    free = 3 * shape[1] * shape[2]
    matrix = sp.csr_matrix(sp.coo_matrix((data, (rows, cols))))[free:, free:]
    points = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).reshape(-1, 3)[shape[1] * shape[2] :]
    return matrix, points.astype(float)


def test_elasticity_needs_no_hint_and_profits_from_one():
    matrix, points = brick((16, 8, 8))
    b = np.random.default_rng(1).standard_normal((matrix.shape[0], 1))
    scalar, plain, known = (
        iterations(matrix, "multigrid", "flexible_cg", b, multigrid=kind, coordinates=x, full_precision=True)
        for kind, x in (("pairwise", None), ("auto", None), ("auto", points))
    )
    assert plain <= 45 and plain < 0.7 * scalar
    assert known <= 16
    dropped = matrix.copy()
    dropped.data[abs(dropped.data) < 1e-12] = 0
    dropped.eliminate_zeros()
    assert dropped.nnz < 0.9 * matrix.nnz
    assert abs(iterations(dropped, "multigrid", "flexible_cg", b) - plain) <= 2
    assert abs(iterations(dropped, "multigrid", "flexible_cg", b, coordinates=points) - known) <= 2


@pytest.mark.parametrize(("nu", "soft", "most"), [(0.49, 1, 60), (0.3, 1e-9, 60)])
def test_hard_elasticity_with_coordinates(nu, soft, most):
    matrix, points = brick((16, 8, 8), nu, soft)
    b = np.random.default_rng(1).standard_normal((matrix.shape[0], 1))
    assert iterations(matrix, "multigrid", "flexible_cg", b, coordinates=points) <= most


def test_rollers_cost_no_iterations():
    matrix, points = brick((12, 8, 8))
    held = np.zeros(matrix.shape[0], bool)
    held[1::3] = points[:, 1] == points[:, 1].min()
    held[2::3] = points[:, 2] == points[:, 2].min()
    rolling = matrix[~held][:, ~held]
    assert 0 < held.sum() < 0.2 * held.size
    for hint in ({}, {"coordinates": points}):
        counts = []
        for a in (matrix, rolling):
            b = np.random.default_rng(1).standard_normal((a.shape[0], 1))
            counts.append(iterations(a, "multigrid", "flexible_cg", b, **hint))
        assert counts[1] <= counts[0] + 2


def test_new_hints_cost_a_set_up_and_no_analysis():
    matrix, points = brick((6, 4, 4))
    where, a = lacuna.from_scipy(matrix)
    b = np.ones((matrix.shape[0], 1))
    for turn in (0.0, 0.7):
        turned = points @ [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
        factor = lacuna.Solver(where, "auto", coordinates=turned).factor(a)
        assert factor.report["method"] == "cholesky"  # a hint alone does not make it iterate
        np.testing.assert_allclose(matrix @ factor.solve(b), b, atol=1e-10)
