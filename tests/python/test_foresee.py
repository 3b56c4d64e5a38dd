# SPDX-License-Identifier: Apache-2.0
"""What a solver foresees, through Python: figures that come true, refusals before memory runs out, orderings."""

import numpy as np
import pytest

import lacuna

sp = pytest.importorskip("scipy.sparse")


def poisson(side):
    line = sp.diags_array([-np.ones(side - 1), 2 * np.ones(side), -np.ones(side - 1)], offsets=[-1, 0, 1])
    eye = sp.eye_array(side)
    a = (sp.kron(line, eye) + sp.kron(eye, line)).tocsr()
    a.sort_indices()  # the order of slots
    return a


@pytest.mark.parametrize("ordering", ["auto", "amd", "metis", "natural"])
def test_figures_come_true_in_every_order(ordering):
    a = poisson(20)
    try:
        solver = lacuna.Solver(lacuna.Pattern.from_scipy(a), ordering=ordering)
    except lacuna.UnsupportedError as error:
        assert "libmetis5" in str(error)
        pytest.skip(str(error))
    before, after = solver.report, solver.factor(a.data).report
    assert before["method"] == after["method"] == "cholesky"
    assert before["ordering"] == after["ordering"] == ("amd" if ordering == "auto" else ordering)
    for name in ("factor_nnz", "factor_bytes", "work_bytes", "flops"):
        assert before[name] == after[name] > 0
    b = np.ones((400, 1))
    np.testing.assert_allclose(a @ lacuna.solve(solver, a.data, b), b, rtol=1e-12)


def test_what_does_not_fit_is_refused():
    a = poisson(20)
    pattern = lacuna.Pattern.from_scipy(a)
    need = lacuna.Solver(pattern).report["factor_nnz"] * 8
    with pytest.raises(MemoryError, match="max_bytes is .* float32"):
        lacuna.Solver(pattern, "direct", max_bytes=need // 2).factor(a.data)
    instead = lacuna.Solver(pattern, max_bytes=need // 2).factor(a.data)
    assert instead.report["method"] == "flexible_cg" and "max_bytes is" in instead.report["reason"]
    with pytest.raises(MemoryError, match="max_bytes is .* nor is it iterated on .* positive diagonal"):
        lacuna.Solver(pattern, max_bytes=need // 2).factor(-(a - 2 * sp.eye_array(400)).tocsr().data)
    lacuna.Solver(pattern, max_bytes=10 * need).factor(a.data)
    with pytest.raises(lacuna.LacunaError, match="max_bytes must not be negative"):
        lacuna.Solver(pattern, max_bytes=-1)


def test_a_pattern_that_fills_in_is_warned_of():
    n = 1200
    arrow = sp.csr_array(sp.eye_array(n).tolil())
    first = sp.csr_array((np.ones(n), (np.zeros(n, int), np.arange(n))), shape=(n, n))
    pattern = lacuna.Pattern.from_scipy(sp.csr_array(arrow + first + first.T))
    assert "fills in" in lacuna.Solver(pattern, method="cholesky", ordering="natural").report["warning"]
    assert lacuna.Solver(pattern, method="cholesky").report["warning"] == ""


def test_a_factor_is_made_of_other_values_by_the_choices_of_an_earlier_one():
    a = poisson(8)
    solver = lacuna.Solver(lacuna.Pattern.from_scipy(a))
    again = solver.factor(a.data).refactor(2 * a.data)
    b = np.arange(64.0).reshape(64, 1)
    assert again.report["reason"].startswith("as before: ")
    assert np.allclose(2 * a @ lacuna.solve(again, 2 * a.data, b), b)
    with pytest.raises(lacuna.ShapeError):
        again.refactor(np.stack([a.data, a.data]))
