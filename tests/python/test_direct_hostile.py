# SPDX-License-Identifier: Apache-2.0
"""Direct solvers as a hostile user meets them: sizes of zero, numbers of any size, wrong inputs, threads, lifetimes."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from reference import dense, same, smooth, square, values

import lacuna
import lacuna.torch as lt

pattern = square()
whole = lacuna.Pattern.from_scipy(sp.csr_array(np.ones((6, 6))))
b = torch.randn(6, 2, dtype=torch.float64)


def taken(where, m):
    """The entries of a dense matrix where a pattern has entries."""
    _, columns, rows = (torch.tensor(s.copy()) for s in where.structure())
    return m[rows, columns]


inv, eye = torch.linalg.inv, torch.eye(6, dtype=torch.float64)
lower = pattern.fill("natural")[0].tril()[0]
# name -> (function of a pattern and values, the same of the dense matrix)
FUNCTIONS = {
    "solve": (lambda p, a: lt.solve(p, a, b[: p.shape[0]]), lambda m: inv(m) @ b),
    "logdet": (lambda p, a: lt.logdet(p, a), lambda m: torch.linalg.slogdet(m)[1]),
    "det": (lambda p, a: lt.det(p, a), torch.linalg.det),
    "selected_inverse": (lambda p, a: lt.selected_inverse(p, a), lambda m: taken(pattern, inv(m).mT)),
    "inverse_diagonal": (lambda p, a: lt.inverse_diagonal(p, a), lambda m: inv(m).diagonal()),
    "inverse_on": (lambda p, a: lt.inverse_on(p, a, p), lambda m: taken(pattern, inv(m))),
    "trace_solve": (lambda p, a: lt.trace_solve(p, a, p, a.cos()), lambda m: (inv(m) @ masked_cos(m)).trace()),
    "inverse_quadratic_form": (
        lambda p, a: lt.inverse_quadratic_form(p, a, b[: p.shape[0]]),
        lambda m: (b * (inv(m) @ b)).sum(0),
    ),
    "lstsq": (lambda p, a: lt.lstsq(p, a, b[: p.shape[0]], 0.4), lambda m: inv(m.mT @ m + 0.16 * eye) @ m.mT @ b),
    "cholesky": (
        lambda p, a: lt.cholesky(p, a, "natural"),
        lambda m: taken(lower, torch.linalg.cholesky((m + m.mT) / 2)),
    ),
}
each = pytest.mark.parametrize("name", FUNCTIONS)


def masked_cos(m):
    return dense(pattern, taken(pattern, m).cos())


def pair(name):
    function, of_dense = FUNCTIONS[name]
    return lambda a: function(pattern, a), lambda a: of_dense(dense(pattern, a))


# -- numbers of any size ---------------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("size", [1e-12, 1e-150, 1e150])
def test_gradients_are_as_large_as_what_comes_in(name, size):
    """No absolute tolerance anywhere: cotangents and tangents of any size, of the first and second order."""
    function, twin = pair(name)
    a = values(pattern).requires_grad_()

    def derivatives(f, size):
        y = f(a)
        y_bar = torch.full_like(y, size).requires_grad_()
        (grad,) = torch.autograd.grad(y, a, y_bar, create_graph=True)
        second = torch.autograd.grad(grad, (a, y_bar), torch.ones_like(grad))
        tangent = torch.func.jvp(f, (a.detach(),), (torch.full_like(a, size),))[1]
        return grad.detach() / size, second[0] / size, second[1], tangent / size

    same(derivatives(function, size), derivatives(twin, 1.0))


@pytest.mark.parametrize("method", ["auto", "lu", "pivoting_lu"])
@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e300])
def test_right_hand_sides_of_any_size(method, size):
    a = values(pattern).numpy()
    solver = lacuna.Solver(pattern, method)
    np.testing.assert_allclose(
        lacuna.solve(solver, a, b.numpy() * size) / size, lacuna.solve(solver, a, b.numpy()), rtol=1e-13
    )


def test_not_a_number_comes_through_or_is_refused():
    a, nan = values(pattern), torch.full_like(b, torch.nan)
    assert lt.solve(pattern, a, nan).isnan().all() and lt.lstsq(pattern, a, nan).isnan().all()
    for function, _ in FUNCTIONS.values():
        with pytest.raises((lacuna.NonfiniteError, lacuna.DefiniteError), match="not finite|nan"):
            function(pattern, a * torch.nan)


# -- nothing at all --------------------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("empty", ["matrix", "batch"])
def test_nothing_has_derivatives_too(name, empty):
    function, _ = FUNCTIONS[name]
    p = lacuna.Pattern.from_coo([], [], (0, 0)) if empty == "matrix" else pattern
    a = torch.empty(*([] if empty == "matrix" else [0]), p.nnz, dtype=torch.float64, requires_grad=True)
    f = smooth(lambda a: function(p, a))
    (grad,) = torch.autograd.grad(f(a), a, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), a)
    assert grad.shape == second.shape == a.shape


def test_one_by_one():
    p, a = lacuna.Pattern.eye(1), np.array([-4.0])
    assert abs(lacuna.det(p, a) + 4) <= 1e-15 * 4 and lacuna.slogdet(p, a)[0] == -1
    assert lacuna.solve(p, a, np.array([2.0])) == lacuna.lstsq(p, a, np.array([2.0])) == -0.5
    assert lacuna.selected_inverse(p, a) == lacuna.inverse_diagonal(p, a) == -0.25
    assert lacuna.ldlt(p, a)[1] == lacuna.lu(p, a)[1] == -4
    with pytest.raises(lacuna.DefiniteError, match="pivot -4 in row 0"):
        lacuna.cholesky(p, a)


# -- kinds of matrices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "lu", "pivoting_lu"])
def test_complex_symmetric_systems(method):
    """What is symmetric and not Hermitian needs conj(A) in the adjoint."""
    solver = lacuna.Solver(whole, method)
    m = torch.randn(6, 6, dtype=torch.complex128).requires_grad_()
    rhs = b.to(m.dtype)
    f = smooth(lambda m: lt.solve(solver, (m + m.mT).reshape(-1) + 6 * torch.eye(6).reshape(-1), rhs))
    twin = smooth(lambda m: inv(m + m.mT + 6 * torch.eye(6)) @ rhs)
    same(torch.autograd.grad(f(m), m), torch.autograd.grad(twin(m), m))
    if method == "auto":
        with pytest.raises(lacuna.SymmetryError, match="ldlt needs a Hermitian matrix"):
            lt.solve(lacuna.Solver(whole, "ldlt"), (m + m.mT).reshape(-1), rhs)


def test_a_batch_of_matrices_of_every_nature():
    """Definite, negative, indefinite, not symmetric, without a diagonal: none is judged by the first."""
    rng = np.random.default_rng(0)
    m = rng.standard_normal((6, 6))
    spd = m @ m.T + np.eye(6)
    batch = np.stack([spd, -spd, m + m.T, m, np.eye(6)[rng.permutation(6)]])
    for dtype in (float, complex):
        batch = batch * (1 + 1j if dtype is complex else 1)
        a = batch.reshape(5, 36)
        np.testing.assert_allclose(lacuna.solve(whole, a, np.ones(6, dtype)), np.linalg.solve(batch, np.ones(6)), 1e-9)
        np.testing.assert_allclose(lacuna.det(whole, a), np.linalg.det(batch), 1e-9)
        got, expected = lacuna.selected_inverse(whole, a), np.linalg.inv(batch).transpose(0, 2, 1).reshape(5, 36)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_a_batch_of_complex_definite_matrices():
    rng = np.random.default_rng(1)
    m = rng.standard_normal((4, 6, 6)) + 1j * rng.standard_normal((4, 6, 6))
    batch = m @ m.conj().transpose(0, 2, 1) + np.eye(6)
    factor = lacuna.Solver(whole).factor(batch.reshape(4, 36))
    rhs = rng.standard_normal((4, 6, 2)) + 0j
    np.testing.assert_allclose(batch @ factor.solve(rhs), rhs, rtol=1e-11, atol=1e-12)
    assert factor.report["method"] == "cholesky"


@pytest.mark.parametrize("make", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
def test_duplicates_and_unsorted_indices(make):
    """Each duplicate gets the whole gradient of its entry, and not as many times as there are duplicates."""
    row, col = np.r_[np.arange(6)[::-1], 3, 3, 0], np.r_[np.arange(6)[::-1], 1, 1, 0]
    data = torch.arange(1.0, 10.0, dtype=torch.float64).requires_grad_()
    p = lacuna.Pattern.from_coo(row, col, (6, 6))

    def twin(data):
        index = torch.tensor(row * 6 + col)
        return inv(torch.zeros(36, dtype=data.dtype).index_add(0, index, data).reshape(6, 6)) @ b

    f = lambda data: lt.solve(p, lt.remap(p.entries, data), b)  # noqa: E731
    same(f(data), twin(data))
    same(torch.autograd.grad(smooth(f)(data), data), torch.autograd.grad(smooth(twin)(data), data))
    matrix = getattr(sp, make)((data.detach().numpy(), (row, col)), shape=(6, 6))
    same(torch.tensor(lacuna.solve(*lacuna.from_scipy(matrix), b.numpy())), twin(data.detach()))


def test_the_condition_is_that_of_the_whole_spectrum():
    assert np.isclose(lacuna.Pattern.eye(100).solver().factor(np.arange(1.0, 101)).rcond, 1 / 100)


def test_a_matrix_that_is_singular_but_for_rounding_is_told():
    """Of Neumann's problem rounding leaves a pivot: it is solved to a small residual, and the report warns."""
    n = 20
    line = sp.diags_array([-np.ones(n - 1), np.r_[1, np.full(n - 2, 2.0), 1], -np.ones(n - 1)], offsets=[-1, 0, 1])
    matrix = (sp.kron(sp.eye_array(n), line) + sp.kron(line, sp.eye_array(n))).tocsr()
    p, a = lacuna.from_scipy(matrix)
    try:
        factor = p.solver().factor(a)
    except lacuna.SingularError as error:
        assert "singular: pivot 0 in column" in str(error)
    else:
        assert "singular to working precision" in factor.report["warning"] and factor.rcond < 1e-14


# -- wrong inputs ----------------------------------------------------------------------------------------------------

SPARSE = sp.csr_array(np.eye(6))


WRONG = {
    "is a csr_array; .*lacuna.from_scipy": lambda a, x: lacuna.solve(pattern, SPARSE, x),
    "is a csr_array; it must be an array of numbers": lambda a, x: lacuna.solve(pattern, a, SPARSE),
    "is a NoneType; it must be an array": lambda a, x: lacuna.solve(pattern, a, None),
    "lstsq: b is a NoneType; it must": lambda a, x: lacuna.lstsq(pattern, a, None),
    "Solver.factor: values is a csr_array": lambda a, x: lacuna.Solver(pattern).factor(SPARSE),
    "stands for pattern and values": lambda a, x: lacuna.solve(SPARSE, a, x),
    "max_bytes is '1 GB'; it must be": lambda a, x: lacuna.Solver(pattern, max_bytes="1 GB"),
    "max_bytes is 1000000000.0; .* integer": lambda a, x: lacuna.Solver(pattern, max_bytes=1e9),
    "keep_bytes is 118.*; it must be within": lambda a, x: lacuna.Solver(pattern, keep_bytes=1 << 70),
    "pivot_tolerance is 'x'; .* number": lambda a, x: lacuna.Solver(pattern, pivot_tolerance="x"),
    r"x has shape \(6\) and y \(6, 2\)": lambda a, x: lacuna.quadratic_form(pattern, a, x[:, 0], x),
    "two vectors, or both": lambda a, x: lacuna.inverse_quadratic_form(pattern, a, x, x[:, 0]),
    "longdouble|float128; .* convert it with .astype": lambda a, x: lacuna.solve(pattern, a, x.astype(np.longdouble)),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_wrong_is_said(sentence):
    with pytest.raises(lacuna.LacunaError, match=sentence):
        WRONG[sentence](values(pattern).numpy(), b.numpy())


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("function", [lt.logdet, lt.selected_inverse, lambda p, a: lt.solve(p, a, b)])
@pytest.mark.parametrize("tracked", [False, True])
def test_sparse_tensors_are_not_values(layout, function, tracked):
    tensor = torch.eye(6, dtype=torch.float64).requires_grad_(tracked)
    tensor = tensor.to_sparse() if layout == "coo" else tensor.to_sparse_csr()
    with pytest.raises(lacuna.ArgumentError, match="pass the values of a sparse tensor, not the tensor"):
        function(pattern, tensor)


def test_objects_say_what_they_are():
    p = lacuna.Pattern.from_scipy(sp.csr_array(np.eye(3) * 6 + 1))
    solver = lacuna.Solver(p)
    factor = solver.factor(np.stack([1 + 6 * np.eye(3).reshape(-1)] * 2))
    assert repr(solver) == "Solver(3 x 3, cholesky, factor_nnz=6)"
    assert repr(lacuna.Solver(p, "pivoting_lu")) == "Solver(3 x 3, pivoting_lu)"
    assert repr(factor) == "Factor(3 x 3, float64, batch=(2,), cholesky, factor_nnz=12)"


# -- threads and lifetimes -------------------------------------------------------------------------------------------


def test_threads_share_a_solver_and_its_factors():
    a = values(pattern).numpy()
    solver = lacuna.Solver(pattern)
    factor = solver.factor(a)
    x, z, log = factor.solve(b.numpy()), factor.selected_inverse(), lacuna.logdet(solver, a)

    def work(i):
        scale = 2.0 ** (i % 5)
        assert np.array_equal(solver.factor(a * scale).solve(b.numpy()) * scale, x)
        assert np.array_equal(factor.selected_inverse(), z) and np.array_equal(factor.solve(b.numpy()), x)
        return abs(lacuna.logdet(solver, a * scale) - log - 6 * np.log(scale))

    with ThreadPoolExecutor(6) as pool:
        assert max(pool.map(work, range(200))) < 1e-12


def test_factors_and_graphs_outlive_what_they_were_made_of():
    p = square()
    a = values(p).requires_grad_()
    factor = lacuna.Solver(p).factor(a.detach().numpy())
    expected = torch.autograd.grad(smooth(lambda a: inv(dense(p, a)) @ b)(a), a)
    del p
    gc.collect()
    x = lt.solve(factor, a, b)
    np.testing.assert_allclose(factor.solve(b.numpy()), x.detach(), rtol=1e-13)
    del factor
    gc.collect()
    same(torch.autograd.grad(smooth(lambda x: x)(x), a), expected)
