# SPDX-License-Identifier: Apache-2.0
"""lacuna.scipy beside scipy.sparse.linalg: the same arguments, the same results, the same kinds of failure."""

import inspect
import warnings

import numpy as np
import pytest

sp = pytest.importorskip("scipy.sparse")
sl = pytest.importorskip("scipy.sparse.linalg")

import lacuna  # noqa: E402
import lacuna.scipy as ls  # noqa: E402

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
KRYLOV = ["cg", "bicgstab", "gmres", "minres"]
rng = np.random.default_rng(5)


def numbers(shape, dtype=np.float64):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def system(n=30, dtype=np.float64, form="csr"):
    a = sp.random_array((n, n), density=0.2, rng=rng, format="csr").astype(dtype)
    a.data = numbers(a.nnz, dtype)
    return (a + 8 * sp.eye_array(n)).astype(dtype).asformat(form)


def definite(n=30, dtype=np.float64):
    a = system(n, dtype)
    return (a @ a.conj().T / 8).tocsr().astype(dtype)


def close(got, expected, rtol=None):
    assert np.shape(got) == np.shape(expected) and np.asarray(got).dtype == np.asarray(expected).dtype
    rtol = rtol or 2000 * np.finfo(np.asarray(expected).dtype).eps
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * np.abs(expected).max(initial=0))


@pytest.mark.parametrize("name", [name for name in ls.__all__ if inspect.isfunction(getattr(ls, name))])
def test_signatures_are_scipys(name):
    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (ls, sl))
    assert list(ours)[: len(theirs)] == list(theirs)
    for p in theirs:
        assert ours[p].kind == theirs[p].kind and ours[p].default == theirs[p].default
    assert set(ours) - set(theirs) <= {"progress"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("shape", [(30,), (30, 1), (30, 3)])
def test_spsolve(dtype, form, shape):
    a, b = system(dtype=dtype, form=form), numbers(shape, dtype)
    close(ls.spsolve(a, b), sl.spsolve(a, b))


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_spsolve_promotes_as_scipy_does():
    a = system()
    ints = sp.csc_array(np.round(a.toarray() * 3).astype(np.int64))
    for m, b in [
        (a, np.ones(30, int)), (ints, np.ones(30)), (ints, np.arange(30)), (a.astype(np.float32), np.ones(30)),
        (a, numbers(30, complex)), (a.astype(np.complex64), np.ones(30)), (a.toarray(), np.ones(30)),
    ]:  # fmt: skip
        close(ls.spsolve(m, b), sl.spsolve(m, b))


@pytest.mark.parametrize("kind", ["csc_array", "csr_array", "csc_matrix", "csr_matrix"])
def test_spsolve_of_a_sparse_right_hand_side(kind):
    a = getattr(sp, kind)(system())
    b = sp.csc_array(sp.random_array((30, 4), density=0.3, rng=rng))
    got, expected = ls.spsolve(a, b), sl.spsolve(a, b)
    assert type(got) is type(expected)
    close(got.toarray(), expected.toarray())
    close(ls.spsolve(a, b[:, [0]]), sl.spsolve(a, b[:, [0]]))


@pytest.mark.parametrize("singular", [np.diag([1.0, 0, 2]), np.ones((3, 3)), np.arange(9.0).reshape(3, 3)])
def test_singular_matrices(singular):
    a = sp.csc_array(singular)
    with pytest.warns(ls.MatrixRankWarning, match="singular"):
        assert np.isnan(ls.spsolve(a, np.ones(3))).all()
    with pytest.raises(RuntimeError, match="singular"):
        ls.splu(a)
    with pytest.raises(RuntimeError, match="singular"):
        ls.factorized(a)


def test_wrong_shapes_are_value_errors():
    a, tall = system(), sp.csr_array(np.ones((4, 3)))
    calls = [
        lambda m: m.spsolve(tall, np.ones(4)), lambda m: m.spsolve(a, np.ones(29)), lambda m: m.splu(tall.tocsc()),
        lambda m: m.cg(tall, np.ones(4)), lambda m: m.cg(a, np.ones(29)), lambda m: m.gmres(a, np.ones((30, 2))),
        lambda m: m.lsqr(tall, np.ones(3)), lambda m: m.spsolve_triangular(tall, np.ones(4)),
        lambda m: m.cg(a, np.ones(30), M=sp.eye_array(29)), lambda m: m.onenormest(tall),
        lambda m: m.spsolve_triangular(a, np.ones(29)), lambda m: m.norm(a, 7),
    ]  # fmt: skip
    for call in calls:
        for module in (ls, sl):
            with pytest.raises(ValueError):
                call(module)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("trans", ["N", "T", "H"])
@pytest.mark.parametrize("order", [None, "NATURAL", "COLAMD"])
def test_splu_solves_and_has_its_factors(dtype, trans, order):
    a = system(dtype=dtype, form="csc")
    ours, theirs = ls.splu(a, order), sl.splu(a, order)
    for shape in ((30,), (30, 2)):
        b = numbers(shape, dtype)
        close(ours.solve(b, trans), theirs.solve(b, trans))
    assert ours.shape == theirs.shape and ours.nnz >= a.nnz
    rows, cols = np.zeros((30, 30)), np.zeros((30, 30))
    rows[ours.perm_r, np.arange(30)] = cols[np.arange(30), ours.perm_c] = 1  # as SciPy's page has them
    product = (ours.L @ ours.U).toarray()
    np.testing.assert_allclose(product, rows @ a.toarray() @ cols, atol=1e-4 if np.finfo(dtype).eps > 1e-8 else 1e-12)
    assert not sp.triu(ours.L, 1).nnz and not sp.tril(ours.U, -1).nnz


def test_factors_are_those_of_the_matrix_that_was_given():
    a, b = definite(), numbers(30)
    a.sort_indices()
    lu, given, before = ls.splu(a), a.toarray(), sl.spsolve(a.tocsc(), b)
    a.data *= 100
    close(lu.solve(b), before)
    close((lu.L @ lu.U).toarray()[np.ix_(lu.perm_r, lu.perm_c)], given)


def test_factorized_and_a_loop():
    a, b = system(form="csc"), numbers(30)
    close(ls.factorized(a)(b), sl.factorized(a)(b))
    lacuna.forget_patterns()
    patterns = set()
    for step in range(1, 4):
        close(ls.spsolve(a * step, b), sl.spsolve(a * step, b))
        patterns.add(lacuna.from_scipy(a * step)[0])
    assert len(patterns) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", KRYLOV)
@pytest.mark.parametrize("make", [lambda a: a, lambda a: a.toarray(), sl.aslinearoperator])
def test_krylov_methods(method, dtype, make):
    a, b = definite(dtype=dtype), numbers(30, dtype)
    rtol = 1e-4 if np.finfo(dtype).eps > 1e-8 else 1e-10
    for x0 in (None, numbers(30, dtype)):
        x, info = getattr(ls, method)(make(a), b, x0, rtol=rtol)
        assert info == 0 and x.shape == (30,) and x.dtype == dtype
        assert np.linalg.norm(b - a @ x) <= 1.01 * rtol * np.linalg.norm(b)
    if method == "minres" and np.dtype(dtype).kind == "c":
        expected = np.linalg.solve(a.toarray(), b)  # SciPy's is for real matrices
    else:
        expected, info = getattr(sl, method)(make(a), b[:, None], rtol=rtol)
        assert info == 0
    np.testing.assert_allclose(x, expected, rtol=100 * rtol, atol=100 * rtol)


@pytest.mark.parametrize("method", KRYLOV)
def test_krylov_methods_end_as_scipys(method):
    a, b = definite(), numbers(30)
    a = a + sp.diags_array(np.linspace(0, 200, 30))
    solve, theirs = getattr(ls, method), getattr(sl, method)
    more = {"restart": 2} if method == "gmres" else {}
    got, info = solve(a, b, rtol=1e-12, maxiter=2, **more)
    assert info > 0 and theirs(a, b, rtol=1e-12, maxiter=2, **more)[1] > 0
    assert np.linalg.norm(b - a @ got) < np.linalg.norm(b)
    x, info = solve(a, np.zeros(30))
    assert info == 0 and not x.any()
    if method != "minres":
        x, info = solve(a, b, rtol=0.0, atol=1e-3)
        assert info == 0 and np.linalg.norm(b - a @ x) <= 1.01e-3
    seen = []
    solve(a, b, progress=lambda iteration, residual: seen.append(residual))
    assert seen and seen[-1] <= 1e-5


@pytest.mark.parametrize("make", [lambda a: a, sl.aslinearoperator])
def test_no_iteration_is_none(make):
    a, b, x0 = definite(), numbers(30), numbers(30)
    for method in KRYLOV:
        for start in (None, x0):
            x, info = getattr(ls, method)(make(a), b, start, maxiter=0)
            np.testing.assert_array_equal(x, np.zeros(30) if start is None else start)
            assert info > 0  # SciPy returns its own maxiter, 0, which would mean success
            if method != "gmres":  # SciPy's fails
                np.testing.assert_array_equal(x, getattr(sl, method)(make(a), b, start, maxiter=0)[0])
    if make(a) is a:
        for ours, theirs, limit in ((ls.lsqr, sl.lsqr, "iter_lim"), (ls.lsmr, sl.lsmr, "maxiter")):
            got, expected = (solve(a, b, x0=x0, **{limit: 0}) for solve in (ours, theirs))
            np.testing.assert_array_equal(got[0], expected[0])
            assert got[1] == 7 and got[2] == expected[2] == 0


@pytest.mark.parametrize("method", KRYLOV)
@pytest.mark.parametrize("make", [lambda a: a, sl.aslinearoperator])
def test_preconditioners(method, make):
    a, b = definite(), numbers(30)
    inverse = np.linalg.inv(a.toarray())
    seen = []
    incomplete, diagonal = sl.LinearOperator(a.shape, ls.spilu(a).solve), sp.diags_array(1 / a.diagonal())
    for given in (inverse, sp.csr_array(inverse), incomplete, diagonal):
        x, info = getattr(ls, method)(make(a), b, rtol=1e-10, M=given, progress=lambda i, r: seen.append(i))
        assert info == 0 and np.linalg.norm(b - a @ x) <= 1.1e-10 * np.linalg.norm(b)
    assert seen[0] <= 2  # the inverse itself
    if make(a) is a:
        for name in ("jacobi", "auto"):
            x, info = getattr(ls, method)(a, b, rtol=1e-10, M=name)
            assert info == 0 and np.linalg.norm(b - a @ x) <= 1.1e-10 * np.linalg.norm(b)


class Jacobi(sl.LinearOperator):
    def __init__(self, a):
        super().__init__(a.dtype, a.shape)
        self.diagonal = a.diagonal()

    def _matvec(self, x):
        assert x.shape == self.diagonal.shape
        return x / self.diagonal


@pytest.mark.parametrize("method", KRYLOV)
@pytest.mark.parametrize("make", [lambda a: a, sl.aslinearoperator])
def test_preconditioners_that_take_vectors_alone(method, make):
    a, b = definite(), numbers(30)
    diagonal = a.diagonal()
    for given in (sl.LinearOperator(a.shape, lambda v: v / diagonal), Jacobi(a)):
        x, info = getattr(ls, method)(make(a), b, rtol=1e-10, M=given)
        assert info == 0 and np.linalg.norm(b - a @ x) <= 1.1e-10 * np.linalg.norm(b)


def test_gmres_counts_cycles_and_calls_back():
    a, b = system() + sp.diags_array(np.linspace(0, 500, 30)), numbers(30)
    seen, theirs = [], []
    _, info = ls.gmres(a, b, rtol=1e-10, restart=3, maxiter=2, callback=seen.append, callback_type="pr_norm")
    sl.gmres(a, b, rtol=1e-10, restart=3, maxiter=2, callback=theirs.append, callback_type="pr_norm")
    assert info == 6 and len(theirs) == 6 and len(seen) <= 7
    with pytest.raises(ValueError, match="callback_type"):
        ls.gmres(a, b, callback=print, callback_type="y")
    for kind in (None, "legacy", "pr_norm"):
        with pytest.raises(ValueError, match="gmres: callback and progress .* leave out one"):
            ls.gmres(a, b, callback=print, callback_type=kind, progress=lambda *given: False)


@pytest.mark.parametrize("method", KRYLOV)
@pytest.mark.parametrize("make", [lambda a: a, sl.aslinearoperator])
def test_callbacks_get_the_iterate_of_scipys_own(method, make):
    a, b, more = definite(), numbers(30), {"callback_type": "x"} if method == "gmres" else {}
    seen, diagonal = [], sp.diags_array(1 / a.diagonal())
    given = {"rtol": 1e-10, "M": diagonal, "maxiter": 40, **more}
    with pytest.warns(lacuna.LacunaWarning, match=f"{method}: SciPy's own.*progress=") as told:
        x, info = getattr(ls, method)(make(a), b, numbers(30), callback=lambda xk: seen.append(xk.copy()), **given)
    assert info == 0 and told[0].filename == __file__
    assert len(seen) > 1 and seen[0].shape == (30,)
    np.testing.assert_allclose(a @ seen[-1], b, atol=1e-6), np.testing.assert_allclose(seen[-1], x, atol=1e-8)
    for wrong in ({"M": "jacobi"}, {"progress": True}):
        with pytest.raises(ValueError, match="leave out callback"):
            getattr(ls, method)(a, b, callback=print, **more, **wrong)


def test_minres_hands_its_shift_to_scipys_own():
    a, b = definite(), numbers(30)
    with pytest.warns(lacuna.LacunaWarning):
        x, _ = ls.minres(a, b, shift=0.5, rtol=1e-11, callback=lambda xk: None)
    np.testing.assert_allclose(x, np.linalg.solve(a.toarray() - 0.5 * np.eye(30), b), rtol=1e-6, atol=1e-7)


def test_gmres_calls_back_with_residuals_unless_it_is_asked_otherwise():
    a, b = system(), numbers(30)
    for kind in (None, "legacy", "pr_norm"):
        seen = []
        ls.gmres(a, b, rtol=1e-10, callback=seen.append, callback_type=kind)
        assert seen[-1] <= 1e-10 and all(isinstance(residual, float) for residual in seen)


def test_what_tunes_superlu_is_not_read():
    a, b = system(form="csc"), numbers(30)
    for solve in (ls.splu, ls.spilu):
        with pytest.warns(lacuna.LacunaWarning, match=f"{solve.__name__}: .*by relax, options; not read") as told:
            made = solve(a, relax=1, options={"SymmetricMode": True})
        assert told[0].filename == __file__
        close(made.solve(b), solve(a).solve(b))


def test_incomplete_factors_that_drop_are_scipys_own():
    a, b = system(), numbers(30)
    for given in ({"drop_tol": 1e-3}, {"fill_factor": 5, "diag_pivot_thresh": 0.1}, {"drop_rule": "basic"}):
        with pytest.warns(lacuna.LacunaWarning, match="SciPy's own spilu"):
            made = ls.spilu(a, **given)
        close(made.solve(b), sl.spilu(a.tocsc(), **given).solve(b))


def test_minres_shifts():
    a, b = definite(), numbers(30)
    for make in (lambda m: m, sl.aslinearoperator):
        x, info = ls.minres(make(a), b, shift=0.5, rtol=1e-11)
        assert info == 0
        np.testing.assert_allclose(x, np.linalg.solve(a.toarray() - 0.5 * np.eye(30), b), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("damp", [0.0, 0.7])
@pytest.mark.parametrize("shape", [(40, 15), (15, 40), (20, 20)])
@pytest.mark.parametrize("x0", [False, True])
def test_least_squares(dtype, damp, shape, x0):
    a = sp.random_array(shape, density=0.4, rng=rng, format="csr").astype(dtype)
    a.data = numbers(a.nnz, dtype)
    b, start = numbers(shape[0], dtype), numbers(shape[1], dtype) if x0 else None
    dense, first = a.toarray(), np.zeros(shape[1]) if start is None else start
    stacked = np.vstack([dense, damp * np.eye(shape[1])])
    exact = first + np.linalg.lstsq(stacked, np.append(b - dense @ first, np.zeros(shape[1])))[0]
    more = {"damp": damp, "atol": 1e-13, "btol": 1e-13, "x0": start}
    x, istop, itn, r1, r2, anorm, _, arnorm, xnorm, _ = ls.lsqr(a, b, iter_lim=2000, **more)
    np.testing.assert_allclose(x, exact, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(r1, np.linalg.norm(b - dense @ exact), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(r2, np.hypot(r1, damp * np.linalg.norm(exact - first)), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose([anorm, xnorm], [np.linalg.norm(stacked), np.linalg.norm(exact)], rtol=1e-6)
    assert arnorm < 1e-7 and istop in (1, 2) and itn > 0
    theirs = sl.lsqr(a, b, iter_lim=2000, **more)
    np.testing.assert_allclose([r1, r2], theirs[3:5], rtol=1e-5, atol=1e-7)
    x, istop, itn, normr, normar, norma, _, normx = ls.lsmr(a, b, maxiter=2000, **more)
    np.testing.assert_allclose(x, exact, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose([normr, norma, normx], [r2, anorm, xnorm], rtol=1e-6, atol=1e-9)
    assert normar < 1e-7 and istop in (1, 2)


def test_codes_of_least_squares():
    a, b = sp.csr_array([[1.0, 0], [1, 1], [0, 1]]), np.array([1.0, 0, -1])
    for ours, theirs in ((ls.lsqr, sl.lsqr), (ls.lsmr, sl.lsmr)):
        for right in (np.zeros(3), b, np.array([1.0, 0.01, -1])):  # SciPy's own examples
            assert ours(a, right)[1] == theirs(a, right)[1]
    wide = sp.random_array((60, 50), density=0.3, rng=rng, format="csr")
    assert ls.lsqr(wide, numbers(60), iter_lim=1)[1] == sl.lsqr(wide, numbers(60), iter_lim=1)[1] == 7
    with pytest.raises(NotImplementedError):
        ls.lsqr(a, b, calc_var=True)


@pytest.mark.parametrize("shape", [(12, 7), (7, 12)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_least_squares_of_operators(shape, dtype):
    dense, b = numbers(shape, dtype), numbers(shape[0], dtype)
    tolerance = 1e2 * np.finfo(dtype).eps
    for operator in (
        sl.aslinearoperator(dense),
        sl.LinearOperator(shape, matvec=lambda x: dense @ x, rmatvec=lambda y: dense.conj().T @ y),
    ):
        for damp, start in ((0.0, None), (np.float64(0.5), None), (0.5, numbers(shape[1]))):
            first = np.zeros(shape[1]) if start is None else start
            stacked = np.concatenate([dense, damp * np.eye(shape[1])])
            exact = first + np.linalg.lstsq(stacked, np.append(b - dense @ first, np.zeros(shape[1])))[0]
            for solve, limit in ((ls.lsqr, "iter_lim"), (ls.lsmr, "maxiter")):
                more = {"damp": damp, "x0": start, "atol": tolerance, "btol": tolerance, limit: 200}
                x, istop, *_ = solve(operator, b, **more)
                np.testing.assert_allclose(x, exact, atol=1e4 * tolerance)
                assert x.dtype == dtype and istop in (1, 2)
    assert ls.lsqr(operator, b, iter_lim=1)[1] == 7 and ls.lsmr(operator, 0 * b)[1] == 0
    with pytest.raises(NotImplementedError, match="rmatvec"):
        ls.lsmr(sl.LinearOperator(shape, matvec=lambda x: dense @ x), b)


def ill_conditioned(shape, dtype):
    """A matrix of condition 1e6, the best x, and a right-hand side that is not in the range of a tall one."""
    rank = min(shape)
    u, _ = np.linalg.qr(numbers((shape[0], rank), dtype))
    v, _ = np.linalg.qr(numbers((shape[1], rank), dtype))
    sizes = np.logspace(0, -6, rank)
    a = (u * sizes) @ v.conj().T
    b = a @ numbers(shape[1], dtype) + 1e-3 * numbers(shape[0], dtype)
    return a, b, v @ ((u.conj().T @ b) / sizes)


@pytest.mark.parametrize("shape", [(200, 50), (50, 200), (50, 50)])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("damp", [0.0, 1e-5])
def test_ill_conditioned_least_squares_have_scipys_digits(shape, dtype, damp):
    a, b, exact = ill_conditioned(shape, dtype)
    if damp:
        stacked = np.concatenate([a, damp * np.eye(shape[1])])
        exact = np.linalg.lstsq(stacked, np.append(b, np.zeros(shape[1])))[0]
    operator = sl.LinearOperator(shape, matvec=lambda x: a @ x, rmatvec=lambda y: a.conj().T @ y, dtype=dtype)
    off = lambda x: np.linalg.norm(x - exact) / np.linalg.norm(exact)  # noqa: E731
    for name, limit in (("lsqr", "iter_lim"), ("lsmr", "maxiter")):
        more = {"damp": damp, "atol": 1e-14, "btol": 1e-14, "conlim": 1e16, limit: 10000}
        theirs = getattr(sl, name)(operator, b, **more)
        for given in (operator, sp.csr_array(a)):
            x, istop, iterations, *_ = getattr(ls, name)(given, b, **more)
            assert off(x) <= max(10 * off(theirs[0]), 1e-7)
            assert iterations < 10000 and (istop in (1, 2) or shape[0] == shape[1])


def test_norms_of_lines_in_every_order():
    a = sp.random_array((6, 4), density=0.5, rng=np.random.default_rng(0), format="csr")
    for order in (0, 1, 1.5, 2, 3, np.inf, -np.inf):
        for axis in (0, 1, -1):
            np.testing.assert_allclose(ls.norm(a, order, axis), sl.norm(a, order, axis), rtol=1e-13)


def test_least_squares_end_where_scipys_do():
    a, b = sp.random_array((40, 30), density=0.3, rng=np.random.default_rng(0), format="csr"), numbers(40)
    a = (a * np.logspace(0, 6, 30)).tocsr()  # ill-conditioned: neither is there in time
    for name, limit in (("lsqr", 60), ("lsmr", 30)):
        ours, theirs = (getattr(module, name)(a, b, atol=1e-15, btol=1e-15) for module in (ls, sl))
        assert ours[1] == 7 and ours[2] == theirs[2] == limit


def test_wrong_shapes_are_named():
    a, b = definite(), numbers(30)
    for method in (*KRYLOV, "lsqr", "lsmr"):
        solve = getattr(ls, method)
        with pytest.raises(ValueError, match=rf"{method}: shapes of A \(30, 30\) and x0 \(3,\) are incompatible"):
            solve(a, b, x0=np.ones(3))
        with pytest.raises(ValueError, match=rf"{method}: shapes of A \(30, 30\) and b \(3,\) are incompatible"):
            solve(a, b[:3])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_spsolve_triangular(dtype, lower, unit, form):
    a = (sp.tril if lower else sp.triu)(system(dtype=dtype)).asformat(form)
    if unit:
        a = (a / 8).asformat(form).astype(dtype)
    for shape in ((30,), (30, 2)):
        b = numbers(shape, dtype)
        got, expected = (m.spsolve_triangular(a, b, lower=lower, unit_diagonal=unit) for m in (ls, sl))
        close(got, expected, 1e-3 if np.finfo(dtype).eps > 1e-8 else 1e-10)


def test_triangular_failures():
    for a, lower in ((np.diag([1.0, 0, 2]), True), (np.array([[1.0, 0], [3, 0]]), True)):
        for module in (ls, sl):
            with pytest.raises(np.linalg.LinAlgError, match="singular"):
                module.spsolve_triangular(sp.csr_array(a), np.ones(len(a)), lower=lower)
    with pytest.raises(np.linalg.LinAlgError, match="not lower triangular"):
        ls.spsolve_triangular(system(), np.ones(30))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int64])
def test_norms(dtype):
    a = sp.csr_array(np.round(system(form="csr").toarray() * 4).astype(dtype)[:, :20])
    for ord in (None, "fro", "f", 1, 2, np.inf, -1, -np.inf):
        for axis in (None, (1, 0)):
            np.testing.assert_allclose(ls.norm(a, ord, axis), sl.norm(a.astype(complex), ord, axis), rtol=1e-9)
    for axis in (0, 1, -1, -2):
        for ord in (None, 1, 2, np.inf):
            np.testing.assert_allclose(ls.norm(a, ord, axis), sl.norm(a, ord, axis), rtol=1e-12)
    with pytest.raises(TypeError, match="not sparse"):
        ls.norm(np.eye(3))


def test_onenormest_is_exact():
    a = system()
    exact = np.linalg.norm(a.toarray(), 1)
    value, v, w = ls.onenormest(a, compute_v=True, compute_w=True)
    np.testing.assert_allclose([value, ls.onenormest(a), np.abs(w).sum()], exact)
    np.testing.assert_allclose(a @ v, w)
    assert np.abs(v).sum() == 1


def test_what_is_not_here_says_so():
    a = system(form="csc")
    for call in (
        lambda: ls.inv(a), lambda: ls.onenormest(sl.aslinearoperator(a)),
        lambda: ls.minres(a, np.ones(30), show=True), lambda: ls.minres(a, np.ones(30), check=True),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(ValueError, match="permc_spec"):
        ls.splu(a, permc_spec="RANDOM")


def test_names_that_lacuna_has_no_solver_for_are_scipys():
    from lacuna.scipy import eigsh, qmr

    assert (eigsh, qmr) == (sl.eigsh, sl.qmr)
    for name in sl.__all__:
        assert hasattr(ls, name), name
        assert name in ls.__all__ or getattr(ls, name) is getattr(sl, name)
    with pytest.raises(AttributeError, match="'spsolv'.*scipy.sparse.linalg has none either"):
        ls.spsolv


def test_no_warning_where_scipy_has_none():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a, b = system(form="csc"), numbers(30)
        ls.spsolve(a, b), ls.splu(a).solve(b), ls.cg(definite(), b), ls.lsqr(a, b), ls.norm(a)
