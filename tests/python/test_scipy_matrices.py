# SPDX-License-Identifier: Apache-2.0
"""SciPy matrices straight into functions, patterns that are known again, and matrices out as they came in."""

import gc
import threading
import weakref

import numpy as np
import pytest

import lacuna
from lacuna._content import name_of, restored
from lacuna._handle import HANDLES
from lacuna._interned import TABLE

sp = pytest.importorskip("scipy.sparse")
ls = pytest.importorskip("lacuna.scipy")
FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]
rng = np.random.default_rng(3)


def matrix(n=12, m=12, form="csr", dtype=np.float64):
    a = sp.random_array((n, m), density=0.3, rng=rng, format="csr").astype(dtype)
    if np.dtype(dtype).kind == "c":
        a.data = a.data + 1j * rng.standard_normal(a.nnz)
    return (a + 4 * sp.eye_array(n, m)).astype(dtype).asformat(form)


@pytest.fixture(autouse=True)
def forget():
    lacuna.forget_patterns()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_a_matrix_stands_for_its_pattern_and_its_values(kind, form, dtype):
    a = kind(matrix(dtype=dtype)).asformat(form)
    dense, x = a.toarray(), rng.standard_normal((12, 3)).astype(dtype)
    close = dict(rtol=2e-4, atol=2e-4) if np.finfo(dtype).eps > 1e-8 else dict(rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(lacuna.spmm(a, x), dense @ x, **close)
    np.testing.assert_allclose(lacuna.spmm(a, x[:, 0], "H"), dense.conj().T @ x[:, 0], **close)
    np.testing.assert_allclose(lacuna.solve(a, x, op="T"), np.linalg.solve(dense.T, x), **close)
    np.testing.assert_allclose(lacuna.row_sum(a) if form != "bsr" else dense.sum(1), dense.sum(1), **close)


def test_matrices_anywhere_by_place_and_by_name():
    a, b = matrix(9, 7), matrix(7, 8)
    product = a.toarray() @ b.toarray()
    pa, values = lacuna.from_scipy(a)
    where = pa.product(lacuna.from_scipy(b)[0])
    for given in (lacuna.spgemm(a, b), lacuna.spgemm(pa, values, b), lacuna.spgemm(a, pb=b), lacuna.spgemm(pa=a, pb=b)):
        np.testing.assert_allclose(lacuna.to_dense(where, given), product)
    d = rng.standard_normal(9)
    np.testing.assert_allclose(lacuna.to_dense(pa, lacuna.scale_rows(a, d)), d[:, None] * a.toarray())
    np.testing.assert_allclose(lacuna.to_dense(pa, lacuna.scale_rows(a, d=d)), d[:, None] * a.toarray())
    u, v = rng.standard_normal((9, 2)), rng.standard_normal((7, 2))  # the pattern alone
    np.testing.assert_allclose(lacuna.to_dense(pa, lacuna.sddmm(a, u, v)), (u @ v.T) * (a.toarray() != 0))
    tall = rng.standard_normal(9)
    np.testing.assert_allclose(lacuna.lstsq(a, tall), np.linalg.lstsq(a.toarray(), tall)[0])
    square = matrix()
    right = lacuna.solve(lacuna.Solver(square, "gmres"), lacuna.from_scipy(square)[1], np.ones(12))
    np.testing.assert_allclose(square @ right, np.ones(12), rtol=1e-8)
    np.testing.assert_allclose(lacuna.logdet(square), np.linalg.slogdet(square.toarray())[1])


def test_values_beside_a_matrix_are_too_many():
    a, x = matrix(), np.ones(12)
    values = lacuna.from_scipy(a)[1]
    for call in (lambda: lacuna.spmm(a, values, x), lambda: lacuna.spmm(a, x, a=values), lambda: lacuna.det(a, values)):
        with pytest.raises(lacuna.ArgumentError, match="stands for pattern and values"):
            call()
    with pytest.raises(TypeError, match="missing .*'x'"):
        lacuna.spmm(a)


def test_a_loop_analyses_once():
    a, b = matrix(), np.ones(12)
    pattern, _ = lacuna.from_scipy(a)
    for step in range(3):
        again = a.copy() * (1.0 + step)  # other arrays with the same indices
        assert lacuna.from_scipy(again)[0] is pattern
        np.testing.assert_allclose(again @ lacuna.solve(again, b), b)
    assert pattern.is_solved


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_indices_that_are_written_to_are_another_pattern(form):
    a = sp.eye_array(6, format="csr").asformat(form)
    first = lacuna.from_scipy(a)[0]
    where = {"coo": lambda: a.coords[1], "dia": lambda: a.offsets}.get(form, lambda: getattr(a, "indices", None))()
    where[0] += 1
    second = lacuna.from_scipy(a)[0]
    assert second is not first
    where[0] -= 1
    assert lacuna.from_scipy(a)[0] is first


def test_what_makes_patterns_differ():
    a = sp.csr_array(np.eye(4))
    known = [lacuna.from_scipy(m, w)[0] for w in ("auto", "64/64") for m in (a, a.tocsc(), sp.csr_array(np.eye(4, 5)))]
    assert len({pattern.key for pattern in known}) == 6
    wide = sp.csr_array((a.data, a.indices.astype(np.int64), a.indptr.astype(np.int64)), shape=a.shape)
    np.testing.assert_array_equal(lacuna.spmm(wide, np.arange(4.0)), np.arange(4.0))


def test_the_table_is_bounded(monkeypatch):
    patterns = [lacuna.from_scipy(sp.eye_array(n, format="csr"))[0] for n in range(1, 30)]
    assert lacuna.pattern_stats() == {"kept": 16, "limit": 16}
    assert lacuna.from_scipy(sp.eye_array(29, format="csr"))[0] is patterns[-1]
    assert lacuna.from_scipy(sp.eye_array(1, format="csr"))[0] is not patterns[0]
    lacuna.keep_patterns(3)
    assert lacuna.pattern_stats() == {"kept": 3, "limit": 3}
    lacuna.keep_patterns(16)
    monkeypatch.setattr(TABLE, "max_bytes", 0)
    lacuna.from_scipy(sp.eye_array(40, format="csr"))
    assert lacuna.pattern_stats()["kept"] == 1
    with pytest.raises(lacuna.ArgumentError, match="0 or more"):
        lacuna.keep_patterns(-1)


def test_threads_share_the_table():
    made, a = [], matrix(40, 40)
    threads = [
        threading.Thread(target=lambda: made.extend(lacuna.spmm(a * k, np.ones(40)).sum() / k for k in range(1, 30)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(made, a.sum())
    assert len(made) == 4 * 29


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_matrices_go_out_as_they_came_in(kind, form, index):
    a = getattr(sp, f"{form}_{kind}")(matrix(8, 6))
    if form == "coo":
        a.coords = tuple(c.astype(index) for c in a.coords)
    else:
        a.indices, a.indptr = a.indices.astype(index), a.indptr.astype(index)
    pattern, values = lacuna.from_scipy(a)
    back = pattern.to_scipy(values, like=a)
    assert type(back) is type(a)
    assert (back.coords[0] if form == "coo" else back.indices).dtype == index
    np.testing.assert_array_equal(back.toarray(), a.toarray())


def test_indices_are_narrow_unless_they_need_more():
    pattern, values = lacuna.from_scipy(matrix(8, 6))
    out = pattern.to_scipy(values)
    assert out.indices.dtype == np.int32 and np.shares_memory(out.data, values)
    assert pattern._structure is None  # nothing is kept for it
    with pytest.raises(lacuna.ArgumentError, match="like is a ndarray"):
        pattern.to_scipy(values, like=np.eye(3))


def test_a_diagonal_keeps_its_zeros():
    a = sp.dia_array((np.array([[1.0, 0, 3, 9], [5, 6, 0, 8]]), [0, 1]), shape=(3, 4))
    pattern, values = lacuna.from_scipy(a)
    assert pattern.nnz == 6  # what lies inside the matrix, zeros too: the pattern does not depend on values
    np.testing.assert_array_equal(lacuna.to_dense(pattern, values), a.toarray())


def solvers():
    gc.collect()
    return sum(1 for handle in list(HANDLES.values()) if handle.kind == "lac_solver")


def test_a_pattern_keeps_its_solvers_by_their_options():
    p = lacuna.from_scipy(matrix())[0]
    assert p.solver() is p.solver(method="auto") is p.solver(rtol=None)
    assert p.solver(method="gmres", rtol=1e-8) is p.solver(rtol=1e-8, method="gmres") is not p.solver(method="gmres")
    assert p.solver(method="gmres", max_iterations=np.int64(5)) is p.solver(method="gmres", max_iterations=5)
    assert p.lstsq_solver("lsqr") is p.solver(method="lsqr")
    assert p.lstsq_solver("lsqr", damped=True) is p.damped().solver(method="lsqr")
    assert p.lstsq_solver() is p.lstsq_solver(damped=True) is p.augmented()[0].solver()
    hooked = dict(method="gmres", progress=lambda iteration, residual: False)
    assert p.solver(**hooked) is not p.solver(**hooked)  # whoever is called belongs to one caller


def test_solvers_have_names_that_other_processes_understand():
    """Where their options are words and numbers, as their patterns have."""
    p, values = lacuna.from_scipy(matrix())
    factor = p.solver().factor(values)
    for options, is_named in (({"method": "lu"}, True), ({"method": "gmres", "rtol": 1e-8}, True),
                              ({"method": "gmres", "preconditioner": factor}, False)):  # fmt: skip
        solver = p.solver(**options)
        lacuna.solve(solver, values, np.ones(12))
        (spec,) = solver.family.asked.values()
        name = name_of(spec)
        assert restored(name) is spec if is_named else name is None


def test_the_solvers_of_a_pattern_are_the_latest():
    """Parts that are read take nothing from them; the one without options stays, and so does one that is used."""
    p = lacuna.from_scipy(matrix(60, 60))[0]
    default, used, left = p.solver(), p.solver(method="lu"), weakref.ref(p.solver(method="gmres"))
    for i in range(60):
        p.submatrix((i, i + 1), (0, 60)), p.submatrix((0, 60), (i, i + 1))
    assert p.solver(method="lu") is used and left() is not None
    before = solvers()
    for i in range(40):
        p.solver(method="gmres", rtol=10.0 ** -(i / 10 + 1))
        assert p.solver(method="lu") is used
    assert p.solver() is default and left() is None and solvers() <= before + 16


@pytest.mark.parametrize("call", [
    lambda a, b: ls.cg(a, b, M="multigrid"), lambda a, b: ls.gmres(a, b, M="ilu0"), lambda a, b: ls.lsmr(a, b),
    lambda a, b: ls.spsolve(a, b, "NATURAL"), lambda a, b: ls.spilu(a).solve(b), lambda a, b: ls.lsqr(a, b, damp=0.1),
])  # fmt: skip
def test_scipys_functions_analyse_a_pattern_once(call, monkeypatch):
    m, made = matrix(30, 30), []
    for name in ("filled", "chosen"):  # every solver is made of options that one of them gives
        given = getattr(lacuna.solver, name)
        monkeypatch.setattr(lacuna.solver, name, lambda *asked, given=given: made.append(asked) or given(*asked))
    a = (m + m.T + 20 * sp.eye_array(30)).tocsr()
    call(a, np.ones(30)), call(2 * a, np.ones(30))
    assert len(made) == 1


def test_what_scipy_1_10_has_is_enough(monkeypatch):
    """pyproject.toml asks for no more; get_index_dtype is public since 1.15, eye_array there since 1.12."""
    a, b = matrix(), np.ones(12)
    shifted = (a + a.T - 0.5 * sp.eye_array(12)).toarray()
    for name in ("get_index_dtype", "eye_array"):
        monkeypatch.delattr(sp, name, raising=False)
    pattern, values = lacuna.from_scipy(a)
    for like in (None, a, a.tocoo(), sp.coo_matrix(a)):
        np.testing.assert_array_equal(pattern.to_scipy(values, like).toarray(), a.toarray())
    x, info = ls.minres(a + a.T, b, shift=0.5, rtol=1e-11)
    assert info == 0 and np.linalg.norm(shifted @ x - b) < 1e-9
