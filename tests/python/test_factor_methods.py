# SPDX-License-Identifier: Apache-2.0
"""Factors by themselves, on NumPy arrays: solves, determinants, inverses, conditions, reports."""

import numpy as np
import pytest
import scipy.sparse as sp

import lacuna

rng = np.random.default_rng(5)
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
FORMS = {"N": lambda a: a, "T": lambda a: a.T, "conjugated": np.conj, "H": lambda a: a.conj().T}


def system(n, dtype):
    m = sp.random(n, n, 0.4, random_state=3, format="csr") + 4 * sp.eye(n, format="csr")
    m = (m + 1j * sp.random(n, n, 0.2, random_state=4, format="csr")) if np.dtype(dtype).kind == "c" else m
    return m.tocsr().astype(dtype)


def tolerance(dtype):
    return 1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-11


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", ["auto", "lu", "pivoting_lu"])
def test_a_factor_gives_what_the_dense_matrix_gives(dtype, method):
    m = system(9, dtype)
    d, near = m.toarray(), dict(rtol=tolerance(dtype), atol=tolerance(dtype))
    pattern, a = lacuna.from_scipy(m)
    factor = lacuna.Solver(pattern, method=method).factor(a)
    b = rng.standard_normal((9, 3)).astype(dtype)
    for form, op in FORMS.items():
        np.testing.assert_allclose(factor.solve(b, form), np.linalg.solve(op(d), b), **near)
    np.testing.assert_allclose(factor.solve(b[:, 0]), np.linalg.solve(d, b[:, 0]), **near)
    sign, logabs = factor.slogdet()
    np.testing.assert_allclose([sign, logabs], np.linalg.slogdet(d), **near)
    np.testing.assert_allclose(factor.logdet(), logabs + 1j * np.angle(sign) if d.dtype.kind == "c" else logabs, **near)
    coo = m.tocoo()
    np.testing.assert_allclose(factor.selected_inverse(), np.linalg.inv(d).T[coo.row, coo.col], **near)
    exact = 1 / np.linalg.cond(d, 1)
    assert 0.9 * exact <= factor.rcond <= 10 * exact
    assert factor.dtype == dtype and factor.batch == ()


def test_batches_broadcast():
    m = system(7, np.float64)
    pattern, a = lacuna.from_scipy(m)
    values = a * (1 + rng.random((3, 1)))
    factor, dense = lacuna.Solver(pattern).factor(values), lacuna.to_dense(pattern, values)
    b = rng.standard_normal((2, 1, 7, 2))
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(dense, b), rtol=1e-10)
    vector = rng.standard_normal(7)
    np.testing.assert_allclose(factor.solve(vector)[2], np.linalg.solve(dense[2], vector), rtol=1e-10)
    np.testing.assert_allclose(factor.slogdet()[1], np.linalg.slogdet(dense)[1], rtol=1e-10)
    assert factor.rcond.shape == (3,) and factor.selected_inverse().shape == values.shape
    with pytest.raises(lacuna.ShapeError, match="the batch of b"):
        factor.solve(rng.standard_normal((4, 7, 1)))


def test_reports_and_refactors():
    m = system(9, np.float64)
    pattern, a = lacuna.from_scipy(m)
    solver = lacuna.Solver(pattern, method="pivoting_lu")
    assert solver.report["method"] == "pivoting_lu" and solver.report["factorisations"] == 0
    factor = solver.factor(a)
    again = factor.refactor(2 * a)
    np.testing.assert_allclose(again.slogdet()[1], factor.slogdet()[1] + 9 * np.log(2))
    assert factor.report["factor_nnz"] > 0 and factor.report["perturbed"] == 0 and factor.report["warning"] == ""


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_that_lie_otherwise_give_the_same_bits(dtype):
    """One vector of the factor's own dtype in one piece goes to C as it is, all else as an array."""
    m = system(9, dtype)
    pattern, a = lacuna.from_scipy(m)
    b, apart = rng.standard_normal(9).astype(dtype), np.empty((9, 2), dtype)
    apart[:, 0] = b
    shifted = np.empty(a.nbytes + 4, np.uint8)[4:].view(dtype)
    shifted[:] = a
    factor = lacuna.Solver(pattern).factor(a)
    again = [factor.refactor(a), factor.refactor(shifted), factor.refactor(a.tolist())] if dtype == np.float64 else [
        factor.refactor(a), factor.refactor(shifted)]  # fmt: skip
    for made in (factor, *again, lacuna.Solver(pattern).factor(shifted)):
        for form in FORMS:
            whole = made.solve(b, form)
            assert whole.shape == (9,) and (whole == made.solve(apart[:, 0], form)).all()
            assert (whole == made.solve(b[:, None], form)[:, 0]).all()
        assert (made.shape, made.dtype, made.batch, made.nnz) == ((9, 9), dtype, (), a.size)


def test_a_refactored_factor_has_a_name_when_it_is_asked_for():
    m = system(9, np.float64)
    pattern, a = lacuna.from_scipy(m)
    first = lacuna.Solver(pattern).factor(a)
    again = first.refactor(2 * a)
    assert again.key != first.key and again.key == again.key and again.family is not first.family
    b = rng.standard_normal(9)
    np.testing.assert_allclose(lacuna.solve(again, 2 * a, b), first.solve(b) / 2, rtol=1e-12)
    with pytest.raises(lacuna.LacunaError):
        lacuna.solve(again, a, b)


def test_lengths_and_dtypes_that_do_not_fit_are_refused():
    m = system(9, np.float64)
    pattern, a = lacuna.from_scipy(m)
    solver = lacuna.Solver(pattern)
    factor = solver.factor(a)
    for call in (lambda: solver.factor(a[1:]), lambda: factor.refactor(a[1:]), lambda: factor.solve(np.ones(8))):
        with pytest.raises(lacuna.ShapeError):
            call()
    with pytest.raises(lacuna.DtypeError):
        factor.refactor(a.astype(np.complex128))
    blocks, values = lacuna.from_scipy(sp.bsr_array(4 * sp.eye(8), blocksize=(2, 2)))
    with pytest.raises(lacuna.ShapeError):
        lacuna.Solver(blocks).factor(values.ravel())
    with pytest.raises(lacuna.ShapeError):
        lacuna.Solver(blocks).factor(values).refactor(values.ravel())
