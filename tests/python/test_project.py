# SPDX-License-Identifier: Apache-2.0
"""One version for all, and benchmarks that fail when an answer is wrong."""

import importlib
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
    assert version_in("pyproject.toml", r'^version = "(.*)"') == version
    assert version_in("CHANGELOG.md", r"^## (\S+)") == version


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Imports a file of bench/, whose rows go to a folder of ours."""
    pytest.importorskip("scipy.sparse")
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    monkeypatch.setattr(importlib.import_module("support"), "ROOT", str(tmp_path))
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
