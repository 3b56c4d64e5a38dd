# SPDX-License-Identifier: Apache-2.0
"""Iterative solvers: beside SciPy's direct solver, and derivatives beside dense torch."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
import torch
from reference import FORMS, dense, same, smooth, square, values

import lacuna
import lacuna.torch as lt

HERMITIAN = ["cg", "flexible_cg", "minres"]
GENERAL = ["bicgstab", "gmres", "flexible_gmres", "lsmr", "lsqr"]
SIMPLE = ["identity", "jacobi", "block_jacobi", "ssor", "chebyshev"]
NUMPY_FORMS = {"N": lambda m: m, "T": lambda m: m.T, "conjugated": lambda m: m.conj(), "H": lambda m: m.conj().T}


def grid(n, wind=0.0, dtype=float):
    """The five-point grid, with a wind across it."""
    t = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    w = sp.diags([-1.0, 1.0], [-1, 1], shape=(n, n)) * wind
    m = sp.csr_matrix(sp.kron(sp.eye(n), t + w) + sp.kron(t, sp.eye(n)), dtype=dtype)
    if np.dtype(dtype).kind == "c":
        upper = sp.triu(m, 1)
        m = sp.csr_matrix(sp.diags(m.diagonal()) + upper * np.exp(0.3j) + upper.T * np.exp(-0.3j))
        m = m + sp.kron(sp.eye(n), w) * 1j
    m = sp.csr_matrix(m)
    m.sort_indices()
    return m


def made(m, *args, **options):
    """A factor of a SciPy matrix, and its solver."""
    solver = lacuna.Solver(lacuna.Pattern.from_csr(m.indptr, m.indices, m.shape), *args, **options)
    return solver.factor(m.data), solver


def right(m, k=2, rows=None):
    rng = np.random.default_rng(5)
    b = rng.standard_normal((rows or m.shape[0], k))
    return (b + 1j * rng.standard_normal(b.shape)).astype(m.dtype) if m.dtype.kind == "c" else b


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("preconditioner", ["auto", "ic0", "multigrid", *SIMPLE])
@pytest.mark.parametrize("method", HERMITIAN + GENERAL)
def test_every_method_with_every_preconditioner(method, preconditioner, dtype):
    if preconditioner == "multigrid" and method not in ("cg", "flexible_cg", "gmres", "flexible_gmres"):
        pytest.skip("multigrid varies")
    m = grid(9, dtype=dtype)
    factor, _ = made(m, method, preconditioner=preconditioner, rtol=1e-11, max_iterations=2000)
    b = right(m)
    for form, op in NUMPY_FORMS.items():
        np.testing.assert_allclose(factor.solve(b, form), sl.spsolve(op(m).tocsc(), b), atol=1e-8)
    report = factor.report
    assert report["setups"] == 1 and report["refreshes"] == 0 and report["solves"] == 4 and report["iterations"] > 0


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("preconditioner", ["auto", "ilu0", *SIMPLE])
@pytest.mark.parametrize("method", ["bicgstab", "gmres", "flexible_gmres"])
def test_nonsymmetric_matrices(method, preconditioner, dtype):
    m = grid(9, 0.4, dtype)
    factor, _ = made(m, method, preconditioner=preconditioner, rtol=1e-11)
    b = right(m)
    for form, op in NUMPY_FORMS.items():
        np.testing.assert_allclose(factor.solve(b, form), sl.spsolve(op(m).tocsc(), b), atol=1e-8)


def test_a_hermitian_method_names_the_entry_that_is_not():
    m = grid(4, 0.4)
    told = r"entry \(0, 1\), .*, does not equal entry \(1, 0\), .*, to rounding"
    with pytest.raises(lacuna.SymmetryError, match=told):
        made(m, "cg")


def test_iterate_starts_where_it_is_told():
    m = grid(12)
    factor, _ = made(m, "cg", preconditioner="jacobi", rtol=1e-10)
    b = right(m, 1)[:, 0]
    x, cold = factor.iterate(b)
    again, warm = factor.iterate(b, x0=x)
    assert cold["ending"] == "converged" and cold["iterations"] > 10 and cold["residual"] <= 1e-10
    assert warm["iterations"] == 0 and cold["first_residual"] == pytest.approx(1)
    np.testing.assert_allclose(again, sl.spsolve(m.tocsc(), b), atol=1e-7)


def test_what_is_not_reached_is_an_error_with_its_reason():
    m = grid(20)
    factor, _ = made(m, "cg", preconditioner="identity", max_iterations=3)
    b = right(m)
    with pytest.raises(lacuna.ConvergenceError, match="after 3 iterations of cg with identity"):
        factor.solve(b)
    x, report = factor.iterate(b)
    assert report["ending"] == "limit" and report["iterations"] == 3 and 1e-10 < report["residual"] < 10
    r = np.linalg.norm(b - m @ x, axis=0) / np.linalg.norm(b, axis=0)
    assert report["residual"] == pytest.approx(r.max(), rel=1e-6)
    accepting, _ = made(m, "cg", preconditioner="identity", max_iterations=3, accept_unconverged=True)
    np.testing.assert_array_equal(accepting.solve(b), x)


def test_a_report_is_of_the_worst_column():
    m = grid(12)
    b = right(m, 4)
    b[:, 1] = np.nan
    for method in ("cg", "cholesky"):
        factor, _ = made(m, method)
        _, report = factor.iterate(b)
        assert np.isnan(report["residual"]) and report["column"] == 1, report
    b[:, 1] = b[:, 0]
    factor, _ = made(m, "cg", preconditioner="identity", max_iterations=5)
    x, report = factor.iterate(b)
    r = np.linalg.norm(b - m @ x, axis=0) / np.linalg.norm(b, axis=0)
    worst = int(np.argmax(r))
    assert worst > 0 and report["column"] == worst and report["reason"].startswith(f"column {worst}: "), report


def test_null_spaces():
    m = grid(8)
    m = sp.csr_matrix(m - sp.diags(np.asarray(m.sum(1)).ravel()))
    n = m.shape[0]
    b = right(m, 1)[:, 0]
    factor, _ = made(m, "cg", preconditioner="jacobi", null_space=np.ones(n), rtol=1e-12)
    x = factor.solve(b)
    assert abs(x.sum()) < 1e-9
    np.testing.assert_allclose(m @ x, b - b.mean(), atol=1e-9)


def test_null_spaces_are_null_spaces():
    m = grid(8)
    n = m.shape[0]
    for name in ("null_space", "left_null_space"):
        with pytest.raises(lacuna.ArgumentError, match=f"column 0 of {name} is not in the null space of matrix 0"):
            made(m, "gmres", **{name: np.ones(n)})
        with pytest.raises(lacuna.NonfiniteError, match=f"{name} is not finite in row 0 of column 0"):
            made(m, "gmres", **{name: np.full(n, np.nan)})
    with pytest.raises(lacuna.NonfiniteError, match="near_null is not finite in row 3 of column 1"):
        infinite = np.where(np.arange(2 * n) == 7, np.inf, 1.0).reshape(n, 2)
        made(m, "flexible_cg", preconditioner="multigrid", near_null=infinite)
    free = sp.csr_matrix(m - sp.diags(np.asarray(m.sum(1)).ravel()))
    where = lacuna.Pattern.from_csr(free.indptr, free.indices, free.shape)
    for size in (1e-150, 1.0, 1e150):
        solver = lacuna.Solver(where, "gmres", null_space=np.ones((n, 1)) * [1, 1e100])
        batch = np.stack([free.data, 3 * free.data]) * size
        assert abs(solver.factor(batch).solve(right(m)).sum()) * size < 1e-8
        with pytest.raises(lacuna.ArgumentError, match="matrix 1"):
            solver.factor(np.stack([free.data, m.data]) * size)


def test_a_factor_is_a_preconditioner():
    m = grid(10, 0.2)
    rough, _ = made(grid(10), "cholesky")
    factor, _ = made(m, "gmres", preconditioner=rough, rtol=1e-11)
    b = right(m)
    x, report = factor.iterate(b)
    np.testing.assert_allclose(x, sl.spsolve(m.tocsc(), b), atol=1e-8)
    assert report["iterations"] < 20 and factor.report["preconditioner"] == "cholesky"
    exact, _ = made(m, "gmres", preconditioner="lu", rtol=1e-11)
    assert exact.iterate(b)[1]["iterations"] <= 2
    inner, _ = made(m, "gmres", preconditioner="jacobi", rtol=1e-3)
    with pytest.raises(lacuna.ArgumentError, match="flexible_gmres"):
        made(m, "bicgstab", preconditioner=inner)
    for method in ("gmres", "flexible_gmres"):
        outer, _ = made(m, method, preconditioner=inner, rtol=1e-11)
        np.testing.assert_allclose(outer.solve(b), sl.spsolve(m.tocsc(), b), atol=1e-8)
        assert outer.report["method"] == "flexible_gmres"


def test_a_preconditioner_by_itself_is_applied_once():
    m = grid(6)
    factor, _ = made(m, "jacobi")
    b = right(m)
    np.testing.assert_allclose(factor.solve(b), b / m.diagonal()[:, None], rtol=1e-14)
    assert factor.iterate(b)[1]["ending"] == "limit"
    with pytest.raises(lacuna.ArgumentError, match="not the inverse"):
        lt.solve(factor, torch.tensor(m.data), torch.tensor(b))


def test_least_squares_of_any_shape():
    rng = np.random.default_rng(3)
    for shape in ((30, 12), (12, 30)):
        m = sp.random(*shape, density=0.3, random_state=1, format="csr") + sp.eye(*shape, format="csr")
        m = sp.csr_matrix(m)
        m.sort_indices()
        for method in ("lsmr", "lsqr"):
            factor, _ = made(m, method, rtol=1e-12, accept_unconverged=True)
            for form in ("N", "T"):
                full = NUMPY_FORMS[form](m.toarray())
                b = rng.standard_normal(full.shape[0])
                np.testing.assert_allclose(factor.solve(b, form), np.linalg.lstsq(full, b, rcond=None)[0], atol=1e-6)


@pytest.mark.parametrize("method", HERMITIAN + GENERAL)
def test_what_is_not_finite_is_named_by_its_place(method):
    m = grid(4)
    factor, _ = made(m, method)
    b = np.ones((2, 16, 3))
    b[1, 9, 2] = -np.inf
    with pytest.raises(lacuna.ConvergenceError, match="matrix 1, column 2: NaN or infinity in row 9 of b, in") as said:
        factor.solve(b)
    assert "max_iterations" not in str(said.value)
    start = np.zeros(16)
    start[5] = np.nan
    _, report = factor.iterate(np.ones(16), x0=start)
    assert report["reason"] == "NaN or infinity in row 5 of the start" and report["ending"] == "diverged"
    with pytest.raises(lacuna.ConvergenceError, match="NaN or infinity in row 3 of b$"):
        lacuna.solve_operator(lambda x: 2 * x, [], np.array([1.0, 1.0, 1.0, np.nan]), method="gmres")


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (0, 0)])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_matrix_without_entries_is_differentiated(shape, batch):
    """x = 0 for every b, whatever the method; second derivatives of the determinant of nothing are empty."""
    empty = lacuna.Pattern.from_coo([], [], shape)
    a = torch.zeros(*batch, 0, dtype=torch.float64, requires_grad=True)
    b = torch.ones(*batch, shape[0], 1, dtype=torch.float64, requires_grad=True)
    x = lt.lstsq(empty, a, b, solver="lsmr")
    assert x.shape == (*batch, shape[1], 1) and not x.any()
    a_bar, b_bar = torch.autograd.grad(x.sum(), (a, b), create_graph=True)
    assert a_bar.shape == a.shape and not b_bar.any()
    if shape == (0, 0):
        (bar,) = torch.autograd.grad(lt.logdet(empty, a).sum(), a, create_graph=True)
        assert torch.autograd.grad(bar.sum(), a)[0].shape == a.shape


def test_rectangles_have_no_inverse():
    m = sp.csr_matrix(sp.eye(6, 4))
    factor, solver = made(m, "lsmr")
    with pytest.raises(lacuna.ShapeError, match="; lstsq differentiates"):
        lt.solve(solver, torch.tensor(m.data), torch.ones(6, 1, dtype=torch.float64))
    with pytest.raises(lacuna.ShapeError, match="no direct factor"):
        factor.logdet()


def test_new_values_on_the_same_structure():
    m = grid(30)
    factor, solver = made(m, "flexible_cg", preconditioner="multigrid")
    second = solver.factor(m.data * 2)
    assert solver.factor(m.data) is factor and second.report["setups"] == 1 and second.report["refreshes"] == 1
    b = right(m)
    np.testing.assert_allclose(second.solve(b), sl.spsolve(m.tocsc(), b) / 2, atol=1e-7)
    assert "levels" in factor.describe() or factor.report["levels"] >= 1


def test_determinants_go_through_a_direct_partner():
    m = grid(7)
    factor, _ = made(m, "cg", preconditioner="jacobi")
    assert factor.logdet() == pytest.approx(np.linalg.slogdet(m.toarray())[1])
    assert factor.selected_inverse()[0] == pytest.approx(np.linalg.inv(m.toarray())[0, 0])
    exact = 1 / np.linalg.cond(m.toarray(), 1)
    assert 0.99 * exact <= factor.rcond <= 4 * exact


def test_options_are_checked():
    m = grid(3)
    for wrong, words in (
        (dict(rtol=-1.0), "rtol"),
        (dict(max_iterations=-1), "max_iterations"),
        (dict(omega=3.0), "omega"),
        (dict(preconditioner="cg"), "flexible"),
        (dict(null_space=np.ones(4)), "null_space"),
        (dict(strength=2.0), "strength"),
    ):
        with pytest.raises((lacuna.ArgumentError, lacuna.ShapeError), match=words):
            made(m, "gmres", **wrong)
    for wrong, error, words in (
        (dict(rtol="a"), lacuna.ArgumentError, "rtol is 'a'; it must be a number"),
        (dict(rtol=1j), lacuna.ArgumentError, "rtol is 1j"),
        (dict(max_iterations=3.5), lacuna.ArgumentError, "max_iterations is 3.5; it must be an integer"),
        (dict(block=2.0), lacuna.ArgumentError, "block is 2.0"),
        (dict(restart=2**40), lacuna.IndexOverflowError, "restart is 1099511627776"),
        (dict(accept_unconverged="no"), lacuna.ArgumentError, "accept_unconverged is 'no'"),
    ):
        with pytest.raises(error, match=words):
            made(m, "gmres", **wrong)
    for name, given in (
        ("preconditioner", "jacobi"), ("null_space", np.ones(9)), ("near_null", np.ones(9)), ("rtol", 1e-3),
        ("left_null_space", np.ones(9)), ("progress", lambda iteration, residual: False), ("restart", 5),
    ):  # fmt: skip
        for method in ("lu", "direct", "mumps"):
            with pytest.raises(lacuna.ArgumentError, match=f'{name} does not act on method="{method}"'):
                made(m, method, **{name: given})
    for name, given in (("ordering", "amd"), ("pivot_tolerance", 0.5), ("accept_singular", True)):
        with pytest.raises(lacuna.ArgumentError, match=f'{name} does not act on method="gmres".*"pivoting_lu"'):
            made(m, "gmres", **{name: given})
    factor, _ = made(m, "gmres")
    for b, x0, error, words in (
        (np.float64(3), None, lacuna.ShapeError, "b is one number"),
        (np.ones(9), np.ones(5), lacuna.ShapeError, r"x0 has shape \(5, 1\)"),
        (np.ones(9), np.ones(9, complex), lacuna.DtypeError, "x0 is complex128 and b is float64"),
    ):
        with pytest.raises(error, match=words):
            factor.iterate(b, x0)
    with pytest.raises(TypeError, match="unexpected"):
        made(m, "gmres", tolerance=1)
    m.data[3] = np.nan
    with pytest.raises(lacuna.NonfiniteError, match="not finite"):
        made(m, "gmres")


# -- derivatives ------------------------------------------------------------------------------------------------------

pattern = square()
both = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["f64", "c128"])


@both
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["gmres", "flexible_gmres"])
def test_derivatives_of_solves(method, form, dtype):
    a, b = values(pattern, dtype).requires_grad_(), torch.randn(6, 2, dtype=dtype, requires_grad=True)
    solver = lacuna.Solver(pattern, method, preconditioner="jacobi", rtol=1e-14, max_iterations=500)
    f = lambda a, b: lt.solve(solver, a, b, op=form)  # noqa: E731
    same(f(a, b), torch.linalg.solve(FORMS[form](dense(pattern, a)), b))
    assert torch.autograd.gradcheck(f, (a, b), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, (a, b), check_fwd_over_rev=True)


def test_no_derivative_sets_up_again():
    a, b = values(pattern, torch.float64).requires_grad_(), torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    solver = lacuna.Solver(pattern, "gmres", preconditioner="ilu0", rtol=1e-13)
    grads = torch.autograd.grad(smooth(lambda a, b: lt.solve(solver, a, b))(a, b), (a, b), create_graph=True)
    torch.autograd.grad(sum(g.pow(2).sum() for g in grads), (a, b))
    report = solver.factor(a.detach().numpy()).report
    assert report["setups"] == 1 and report["refreshes"] == 0 and report["solves"] >= 4


def test_derivatives_have_a_tolerance_of_their_own():
    m = grid(20)
    where = lacuna.Pattern.from_csr(m.indptr, m.indices, m.shape)
    a, b = torch.tensor(m.data), torch.tensor(right(m), requires_grad=True)
    counts = []
    for loose in (None, 1e-3):
        solver = lacuna.Solver(where, "cg", preconditioner="jacobi", rtol=1e-10, adjoint_rtol=loose)
        x = lt.solve(solver, a, b)
        before = solver.factor(m.data).report["iterations"]
        (g,) = torch.autograd.grad(x.pow(2).sum(), b)
        counts.append(solver.factor(m.data).report["iterations"] - before)
        exact = sl.spsolve(m.tocsc(), 2 * x.detach().numpy())
        np.testing.assert_allclose(g.numpy(), exact, rtol=0, atol=(1e-1 if loose else 1e-6) * np.abs(exact).max())
    assert counts[1] < 0.7 * counts[0]


# -- functions of the caller ------------------------------------------------------------------------------------------


def by_lu(m, seen=None):
    """A preconditioner: the matrix itself, by SuperLU."""
    lu = {form: sl.splu(sp.csc_matrix(op(m))) for form, op in NUMPY_FORMS.items()}

    def apply(x, form):
        if seen is not None:
            seen.append((x.shape, x.dtype, form))
        return np.stack([lu[form].solve(item) for item in x])

    return apply


@pytest.mark.parametrize("dtype", [float, complex])
def test_a_function_is_a_preconditioner(dtype):
    m, seen = grid(9, 0.4, dtype), []
    factor, _ = made(m, "gmres", preconditioner=by_lu(m, seen), rtol=1e-11)
    b = right(m)
    for form, op in NUMPY_FORMS.items():
        x, report = factor.iterate(b, op=form)
        assert report["ending"] == "converged" and report["iterations"] <= 2
        np.testing.assert_allclose(x, sl.spsolve(op(m).tocsc(), b), atol=1e-8)
    assert len({form for _, _, form in seen}) > 1 and all(shape[:2] == (1, 81) for shape, _, _ in seen)
    assert {d for _, d, _ in seen} == {m.dtype}


def test_functions_serve_derivatives_after_their_solver_is_gone():
    where, seen = square(), []
    a, b = values(where, torch.float64).requires_grad_(), torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    full = sp.csr_matrix(dense(where, a).detach().numpy())
    solver = lacuna.Solver(where, "gmres", preconditioner=by_lu(full, seen), rtol=1e-13)
    x = lt.solve(solver, a, b)
    solver = None
    gc.collect()
    g = torch.autograd.grad(x.sum(), (a, b))
    same(g[1], torch.linalg.solve(dense(where, a).T, torch.ones(6, 2, dtype=torch.float64)))
    assert len({form for _, _, form in seen}) > 1
    factor = lacuna.Solver(where, "gmres", preconditioner=by_lu(full), rtol=1e-13).factor(a.detach().numpy())
    outer = lacuna.Solver(where, "flexible_gmres", preconditioner=factor).factor(a.detach().numpy())
    other = factor.refactor(a.detach().numpy() * 2)
    del factor
    gc.collect()
    same(torch.tensor(outer.solve(b.detach().numpy())), x.detach())
    same(torch.tensor(other.solve(b.detach().numpy())), x.detach() / 2)


def test_functions_live_no_longer_than_what_calls_them():
    m = grid(4)
    apply = by_lu(m)
    alive = weakref.ref(apply)
    factor, solver = made(m, "gmres", preconditioner=apply)
    del apply, solver
    gc.collect()
    factor.solve(right(m))
    del factor
    gc.collect()
    assert alive() is None


def test_progress_hears_of_the_residual_and_ends_the_solve():
    m, heard = grid(20), []
    b = right(m, 1)[:, 0]
    factor, _ = made(m, "cg", preconditioner="jacobi", progress=lambda *told: heard.append(told))
    _, report = factor.iterate(b)
    assert [i for i, _ in heard][-1] == report["iterations"] and heard[-1][1] <= 1e-10 < heard[0][1]
    short, _ = made(m, "cg", preconditioner="jacobi", progress=lambda iteration, residual: iteration >= 4)
    _, report = short.iterate(b)
    assert report["ending"] == "interrupted" and report["iterations"] == 4
    with pytest.raises(lacuna.InterruptError, match="progress"):
        short.solve(b)


class Odd(BaseException):
    pass


@pytest.mark.parametrize("accept", [False, True])
@pytest.mark.parametrize("where", ["preconditioner", "progress"])
def test_what_a_function_raises_is_raised(where, accept):
    m, odd, calls = grid(6), Odd("now"), []

    def fail(*_):
        calls.append(1)
        raise odd

    factor, solver = made(m, "gmres", accept_unconverged=accept, **{"preconditioner": "jacobi", where: fail})
    b = right(m)
    a, c = torch.tensor(m.data, requires_grad=True), torch.tensor(b)
    for run in (
        factor.solve,
        factor.iterate,
        lambda b: lacuna.solve(solver, m.data, b),
        lambda _: lt.solve(solver, a, c),
    ):
        calls.clear()
        with pytest.raises(Odd) as caught:
            run(b)
        assert caught.value is odd and len(calls) == 1
    assert lacuna.solve(made(m, "cg")[1], m.data, b).shape == b.shape


def test_what_a_function_raises_in_backward_is_raised():
    m, is_over = grid(6), []

    def apply(x, form):
        if is_over:
            raise Odd("backward")
        return x

    solver = made(m, "gmres", preconditioner=apply)[1]
    b = torch.tensor(right(m), requires_grad=True)
    x = lt.solve(solver, torch.tensor(m.data), b)
    is_over.append(1)
    with pytest.raises(Odd, match="backward"):
        x.sum().backward()


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda x, form: None, lacuna.ArgumentError, "returned None"),
        (lambda x, form: x[0], lacuna.ShapeError, r"\(1, 36, 2\)"),
        (lambda x, form: x * 1j, lacuna.DtypeError, "complex128"),
        (lambda x: x, TypeError, "argument"),
    ],
)
def test_functions_that_give_something_else_are_told(wrong, error, words):
    with pytest.raises(error, match=words):
        made(grid(6), "gmres", preconditioner=wrong)[0].solve(right(grid(6)))
    with pytest.raises(lacuna.ArgumentError, match="progress is 3"):
        made(grid(6), "gmres", progress=3)


def test_functions_may_call_the_library():
    m = grid(12)
    rough, _ = made(m, "cholesky")
    inner, _ = made(m, "cg", preconditioner="jacobi", rtol=1e-2)
    for helper, method in ((rough, "cg"), (inner, "flexible_cg")):
        factor, _ = made(m, method, preconditioner=lambda x, form, helper=helper: helper.solve(x, form), rtol=1e-11)
        np.testing.assert_allclose(factor.solve(right(m)), sl.spsolve(m.tocsc(), right(m)), atol=1e-8)


def test_functions_on_several_threads():
    m = grid(9, 0.3)
    factor, _ = made(m, "gmres", preconditioner=by_lu(m), rtol=1e-11)
    b = right(m)

    def run(i):
        if i % 3 == 2:
            with pytest.raises(Odd):
                made(m, "gmres", progress=lambda *_: (_ for _ in ()).throw(Odd(i)))[0].solve(b)
            return True
        return np.allclose(factor.solve(b * (i + 1)), sl.spsolve(m.tocsc(), b) * (i + 1))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(24)))


def scattered(n, dtype, hermitian=False):
    """Random entries with a diagonal of random phases that is 1.05 times the moduli beside it."""
    rng = np.random.default_rng(2)
    i, j = np.repeat(np.arange(n), 6), rng.integers(0, n, 6 * n)
    i, j = i[i != j], j[i != j]
    entries = rng.standard_normal(i.size) + (1j * rng.standard_normal(i.size) if np.dtype(dtype).kind == "c" else 0)
    m = sp.csr_matrix((entries, (i, j)), (n, n))
    if hermitian:
        m = m + m.conj().T
        phases = -np.ones(n)
    else:
        phases = np.exp(1j * rng.uniform(0, 6, n)) if np.dtype(dtype).kind == "c" else rng.choice([-1.0, 1.0], n)
    m = sp.csr_matrix(m + sp.diags(1.05 * np.asarray(abs(m).sum(1)).ravel() * phases), dtype=dtype)
    m.sort_indices()
    return m


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [float, complex])
def test_auto_iterates_where_lu_has_no_room(dtype, transposed):
    m = scattered(300, dtype)
    m = sp.csr_matrix(m.T) if transposed else m
    m.sort_indices()
    factor, _ = made(m, "auto", max_bytes=1000)
    b = right(m)
    np.testing.assert_allclose(factor.solve(b), sl.spsolve(m.tocsc(), b), atol=1e-8)
    report = factor.report
    assert report["method"] == "gmres" and "lu needs" in report["reason"], report
    assert "diagonally dominant" in report["reason"], report


def test_lu_without_room_is_refused_for_both_where_nothing_dominates():
    m = scattered(300, float)
    m.setdiag(m.diagonal() / 4)
    with pytest.raises(lacuna.OutOfMemoryError, match="lu needs .*; nor is it iterated on"):
        made(m, "auto", max_bytes=1000)


def test_complex_hermitian_matrices_dominate_by_their_moduli():
    m = scattered(300, complex, hermitian=True)
    factor, _ = made(m, "auto", max_bytes=1000)
    b = right(m)
    np.testing.assert_allclose(factor.solve(b), sl.spsolve(m.tocsc(), b), atol=1e-8)
    assert "diagonally dominant" in factor.report["reason"], factor.report


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab", "minres", "lsqr"])
def test_a_solution_that_is_too_large_for_its_dtype_has_not_converged(method):
    m = grid(8)
    b = right(m, 3)
    b[:, 1] *= 1e200
    b[:, 2] = 0
    factor, _ = made(m * 1e-120, method, preconditioner="identity")
    with pytest.raises(lacuna.ConvergenceError, match="column 1: x has numbers that are too large"):
        factor.solve(b)
    x, report = factor.iterate(b)
    assert report["ending"] == "diverged" and report["column"] == 1 and not report["residual"] <= 1e-10, report
    np.testing.assert_allclose(x[:, 0] * 1e-120, sl.spsolve(m.tocsc(), b[:, 0]), atol=1e-8)
    assert not x[:, 2].any()


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab", "minres", "lsqr"])
def test_of_a_solution_that_underflows_the_residual_that_is_left_is_told(method):
    m, b = grid(8), right(grid(8), 1)
    factor, _ = made(m * 1e20, method, preconditioner="identity")
    x, report = factor.iterate(b * 1e-300)
    np.testing.assert_array_equal(factor.solve(b * 1e-300), x)
    left = np.linalg.norm(b - m @ (x * 2.0**200) * (1e20 / 2.0**200 * 1e300)) / np.linalg.norm(b)
    assert report["ending"] == "converged" and left > 1e-6, report
    assert report["residual"] == pytest.approx(left, rel=1e-2), report


@pytest.mark.parametrize("matrix, right_scale", [(1e145, 1e-90), (1e-149, 1e86)])
@pytest.mark.parametrize("kind", ["grid", "pairwise", "smoothed"])
def test_the_scales_of_the_matrix_and_of_b_may_lie_far_apart(kind, matrix, right_scale):
    m = grid(12)
    b = right(m)
    factor, _ = made(m * matrix, "cg", preconditioner="multigrid", multigrid=kind)
    x = factor.solve(b * right_scale)
    np.testing.assert_allclose(x * (matrix / right_scale), sl.spsolve(m.tocsc(), b), atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("method", ["cg", "gmres", "lsqr"])
def test_a_finite_b_whose_norm_is_beyond_its_dtype_is_solved_for(method, dtype):
    m = grid(12).astype(dtype)
    b = np.full((m.shape[0], 2), 2e38, dtype)
    b[:, 1] = 1
    factor, _ = made(m * dtype(1e6), method, preconditioner="identity", rtol=1e-4)
    expected = sl.spsolve(m.astype(complex).tocsc(), np.ones(m.shape[0]))
    x = factor.solve(b).astype(complex) * 1e6
    np.testing.assert_allclose(x[:, 1], expected, rtol=1e-2)
    np.testing.assert_allclose(x[:, 0] / 2e38, expected, rtol=1e-2)
