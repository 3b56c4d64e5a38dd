# SPDX-License-Identifier: Apache-2.0
"""One version for all, and benchmarks that fail when an answer is wrong."""

import importlib
import importlib.machinery
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

import lacuna

ROOT = Path(__file__).resolve().parents[2]


def version_in(file, pattern):
    return re.search(pattern, (ROOT / file).read_text(), re.M)[1]


def test_there_is_one_version_and_cmake_has_it():
    version = version_in("CMakeLists.txt", r"^project\(lacuna VERSION (\S+)")
    assert lacuna.__version__ == version
    regex = version_in("pyproject.toml", r"^regex = '(.*)'$")  # by which wheels read it
    assert version_in("CMakeLists.txt", regex) == version
    assert version_in("CHANGELOG.md", r"^## (\S+)") == version


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Imports a file of bench/, whose rows go to a folder of ours."""
    pytest.importorskip("scipy.sparse")
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    monkeypatch.setattr(importlib.import_module("support"), "ROWS", str(tmp_path / "build" / "bench.jsonl"))
    return importlib.import_module


@pytest.mark.parametrize("name", sorted(file.stem for file in (ROOT / "bench").glob("bench_*.py")))
def test_benchmarks_find_what_they_import(bench, name):
    assert callable(bench(name).main)


def test_a_row_passes_when_its_bar_holds_and_its_answer_is_right(bench, tmp_path):
    support = bench("support")
    table = support.Table("trial")
    for residual, ok in ((1e-14, True), (1e-14, False), (1e-12, True), (float("nan"), True)):
        table.row("row", n=3, ours=1e-3, peer="SciPy", peer_s=2e-3, residual=residual, ok=ok)
    rows = [json.loads(line) for line in (tmp_path / "build" / "bench.jsonl").read_text().splitlines()]
    assert [row["pass"] for row in rows] == [True, False, False, False]
    assert all(list(row) == support.KEYS for row in rows) and rows[0]["ratio"] == 2
    with pytest.raises(SystemExit) as end:
        table.finish()
    assert end.value.code


def test_without_peers_a_row_is_judged_by_its_answer_alone(bench, monkeypatch):
    support = bench("support")
    monkeypatch.setattr(support, "PEERS", False)
    assert support.peer_call(print) is None and support.side_by_side(int, None, seconds=0)[1] is None
    table = support.Table("trial")
    table.at_least(2, "slow", n=3, ours=1.0, peer="SciPy", peer_s=1.0, residual=0.0)
    assert table.failed == 0
    table.row("wrong", n=3, ours=1.0, residual=1.0)
    assert table.failed == 1


def against():
    """scripts/bench-against as a module; it has no suffix, and does not run when it is imported."""
    loader = importlib.machinery.SourceFileLoader("bench_against", str(ROOT / "scripts" / "bench-against"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_the_interval_of_a_median_is_that_of_the_sign_test():
    interval = against().interval
    assert interval(list(range(11))) == (1, 9)  # fewer than 2 of 11 heads: 12 / 2048; fewer than 3: 67 / 2048 > 2.5 %
    assert interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]) == (1.0, 6.0)  # 2 / 64 is the first below 5 %
    assert interval([1.0] * 5) == (0.0, float("inf"))  # 2 / 32 is not


@pytest.mark.parametrize(
    "ratio, noise, verdict",
    [(1.10, 0.01, "slower"), (1.02, 0.005, "same"), (1.05, 0.04, "same"), (0.8, 0.01, "faster"), (1.1, 0.3, "noisy")],
)
def test_a_row_is_slower_when_its_whole_interval_is(ratio, noise, verdict):
    module = against()
    theirs = [1.0 + 0.5 * i for i in range(11)]  # a drift of the machine that both meet
    ours = [t * ratio * (1 + noise * (-1) ** i) for i, t in enumerate(theirs)]
    assert module.judge({module.OURS: ours, module.THEIRS: theirs}, module.OURS)[-1] == verdict


def test_rows_that_are_gone_or_wrong_are_told():
    module = against()
    assert module.judge({module.OURS: [1.0] * 10, module.THEIRS: [1.0] * 11}, module.OURS)[-1] == "MISSING"
    assert module.judge({module.OURS: [1.0] * 10 + [None], module.THEIRS: [1.0] * 11}, module.OURS)[-1] == "WRONG"
    assert module.judge({module.OURS: [1.0] * 11, module.THEIRS: []}, module.OURS)[-1] == "new"
