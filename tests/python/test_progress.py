# SPDX-License-Identifier: Apache-2.0
"""progress=True: a bar or a line for what takes long, closed when C is back, whoever called it."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import lacuna
import lacuna.scipy as ls
import lacuna.torch as lt
from lacuna import _core, _options, _progress

N = 40
line = sp.diags_array([-np.ones(N - 1), 2.1 * np.ones(N), -np.ones(N - 1)], offsets=[-1, 0, 1])
matrix = sp.csr_array(sp.kron(line, sp.eye_array(N)) + sp.kron(sp.eye_array(N), line))
pattern, a = lacuna.from_scipy(matrix)
b = np.arange(1.0, N * N + 1)


class Tqdm:
    """As much of tqdm as is used, which keeps what it is shown."""

    made = []

    def __init__(self, total, bar_format):
        self.n, self.total, self.bar_format, self.texts, self.is_closed = 0, total, bar_format, [], False
        self.made.append(self)

    def set_description_str(self, text):
        assert not self.is_closed and 0 <= self.n <= self.total
        self.texts.append(text)

    def close(self):
        self.is_closed = True


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(_progress, "DELAY", 0)
    monkeypatch.setattr(_progress, "PAUSE", 0)
    monkeypatch.setattr(Tqdm, "made", [])
    yield
    assert not _core.WAITING and not _core.TICKS


@pytest.fixture
def tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Tqdm))
    return Tqdm.made


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed


def test_a_solve_has_a_bar_that_fills_and_ends(tqdm):
    solver = lacuna.Solver(pattern, "cg", preconditioner="jacobi", rtol=1e-8, progress=True)
    for solve in (
        lambda: solver.factor(a).solve(b),
        lambda: solver.factor(a).iterate(b)[0],
        lambda: lacuna.solve(solver, a, b),
        lambda: lt.solve(solver, torch.tensor(a), torch.tensor(b)).numpy(),
    ):
        tqdm.clear()
        np.testing.assert_allclose(matrix @ solve(), b, rtol=0, atol=1e-7 * np.linalg.norm(b))
        bar = [bar for bar in tqdm if "solve" in bar.texts[0]][-1]
        assert all(bar.is_closed for bar in tqdm) and bar.n == 1 and len(bar.texts) > 5
        assert " iterations, residual " in bar.texts[-1] and "percentage" in bar.bar_format


def test_a_gradient_on_the_tape_of_numpy_closes_its_bars(tqdm):
    solver = lacuna.Solver(pattern, "cg", preconditioner="jacobi", rtol=1e-10, progress=True)
    grad = lacuna.grad(lambda b: lacuna.sum(lacuna.solve(solver, a, b)))(b)
    np.testing.assert_allclose(matrix @ grad, np.ones(N * N), atol=1e-6)
    assert len(tqdm) >= 2 and all(bar.is_closed for bar in tqdm)


def test_a_factorisation_shows_its_seconds(tqdm):
    factor = lacuna.Solver(pattern, "cholesky", progress=True).factor(a)
    works = [bar.texts[0].rpartition(":")[0] for bar in tqdm]
    assert works == ["lacuna: analysis", "lacuna: factor"] and all(bar.is_closed for bar in tqdm)
    assert tqdm[1].texts[-1].endswith(" s") and tqdm[1].bar_format == "{desc}"
    np.testing.assert_allclose(matrix @ factor.solve(b), b)


def test_the_real_tqdm_draws_a_bar(capsys):
    pytest.importorskip("tqdm.auto", reason="the tqdm package is not here")
    lacuna.Solver(pattern, "cg", preconditioner="jacobi", rtol=1e-8, progress=True).factor(a).solve(b)
    out, err = capsys.readouterr()
    states = [state for state in err.replace("\n", "\r").split("\r") if state.strip()]
    solves = [state for state in states if state.startswith("lacuna: solve: ")]
    assert out == "" and "lacuna: factor: " in err and " iterations, residual " in solves[-1]
    assert solves[-1].rstrip().endswith("|100%") and err.endswith("\n")


def test_without_tqdm_it_is_a_line(plain, capsys):
    lacuna.Solver(pattern, "cg", preconditioner="jacobi", progress=True).factor(a).solve(b)
    out, err = capsys.readouterr()
    assert out == "" and [text.split(":")[1] for text in err.splitlines()] == [" analysis", " factor", " solve"]
    assert "residual" in err and "\r" not in err  # no terminal: the last state alone


def test_on_a_terminal_the_line_is_written_over(plain, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    lacuna.Solver(pattern, "cg", preconditioner="jacobi", progress=True).factor(a).solve(b)
    solves = [text for text in capsys.readouterr().err.splitlines() if "solve" in text]
    assert solves and all(text.startswith("lacuna: solve") for text in solves)


def test_what_is_quick_shows_nothing(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "DELAY", 60)
    lacuna.Solver(pattern, "cg", progress=True).factor(a).solve(b)
    ls.cg(matrix, b, progress=True)
    assert capsys.readouterr().err == ""


def test_calls_within_a_solve_leave_its_bar_open(tqdm):
    inner = lacuna.Solver(pattern, "cg", preconditioner="jacobi", rtol=1e-2, accept_unconverged=True).factor(a)
    solver = lacuna.Solver(
        pattern, "flexible_cg", preconditioner=lambda x, op: np.stack([inner.solve(x[0], op)]), progress=True
    )
    np.testing.assert_allclose(matrix @ solver.factor(a).solve(b), b, rtol=0, atol=1e-7 * np.linalg.norm(b))
    assert len([bar for bar in tqdm if "solve" in bar.texts[0]]) == 1


def test_a_solve_that_fails_closes_its_bar(tqdm):
    with pytest.raises(lacuna.ConvergenceError):
        lacuna.Solver(pattern, "cg", preconditioner="jacobi", max_iterations=2, progress=True).factor(a).solve(b)
    assert tqdm and all(bar.is_closed for bar in tqdm)


def test_false_shows_nothing_and_other_things_are_refused(tqdm):
    lacuna.Solver(pattern, "cg", progress=False).factor(a).solve(b)
    assert not tqdm
    with pytest.raises(lacuna.ArgumentError, match="it must be True"):
        lacuna.Solver(pattern, "cg", progress=3)


@pytest.mark.parametrize("method", ["auto", "direct", "cholesky", "lu", "cg", "gmres", "minres", "lsmr", "jacobi"])
def test_the_methods_that_iterate_are_those_of_c(method):
    if method in _options.ITERATES:
        lacuna.Solver(pattern, method, progress=lambda iteration, residual: None)
    else:
        with pytest.raises(lacuna.ArgumentError, match="does not act"):
            lacuna.Solver(pattern, method, progress=lambda iteration, residual: None)
