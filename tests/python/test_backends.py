# SPDX-License-Identifier: Apache-2.0
"""What is here, what is missing and what brings it; where the library is looked for, and what is said when it is not
there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lacuna
from lacuna import _library

PACKAGE = Path(lacuna.__file__).resolve().parent


def run(*command, **environment):
    """A program of Python in a process of its own, which finds the same package."""
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=300)


def test_the_cpu_is_here_and_every_engine_has_its_line():
    found = {backend.name: backend for backend in lacuna.backends()}
    assert found["cpu"].is_here and str(_library.path) in found["cpu"].about
    assert {"cuda", "cholmod", "umfpack", "klu", "mumps", "cudss", "metis", "torch", "scipy", "tqdm"} <= set(found)
    for name in ("cholmod", "umfpack", "klu", "mumps"):
        pattern = lacuna.Pattern.from_coo([0, 1], [0, 1], (2, 2))
        try:
            lacuna.Solver(pattern, method=name)
            assert found[name].is_here
        except lacuna.UnsupportedError:
            assert not found[name].is_here and "install" in found[name].about


def test_what_is_missing_says_what_brings_it(tmp_path):
    none = {name: str(tmp_path / "none") for name in ("LACUNA_METIS", "LACUNA_CUDSS")}
    ran = run("-m", "lacuna", LACUNA_PLUGINS=str(tmp_path), LACUNA_BLAS="none", **none)
    lines = {line.split()[1]: line for line in ran.stdout.splitlines()[1:]}
    assert ran.returncode == 0, ran.stderr
    assert "missing" in lines["cuda"] and "nvcc" in lines["cuda"]
    assert "missing" in lines["umfpack"] and "libsuitesparse-dev" in lines["umfpack"]
    assert "missing" in lines["mumps"] and "libmumps-seq-dev" in lines["mumps"]
    assert "missing" in lines["metis"] and "libmetis" in lines["metis"]
    assert "missing" in lines["cudss"] and "nvidia-cudss-cu13" in lines["cudss"]
    assert "missing" in lines["BLAS"] and "scipy-openblas32" in lines["BLAS"]


def test_a_blas_that_cannot_be_loaded_is_named():
    ran = run("-m", "lacuna", LACUNA_BLAS="/no/such/blas.so")
    assert "/no/such/blas.so" in ran.stdout and "missing" in ran.stdout


@pytest.mark.skipif(_library.packaged_blas() is None, reason="the package scipy-openblas32 is not here")
def test_the_blas_of_the_package_goes_before_the_systems():
    script = "import lacuna; print([b.name for b in lacuna.backends()]); print(open('/proc/self/maps').read())"
    ran = run("-c", script, LACUNA_BLAS="")
    assert ran.returncode == 0, ran.stderr
    assert "OpenBLAS" in ran.stdout.splitlines()[0] and str(_library.packaged_blas().resolve()) in ran.stdout


def test_a_library_that_cannot_be_loaded_is_said(tmp_path):
    (tmp_path / "liblacuna.so").write_text("not a library")
    for named in (tmp_path / "liblacuna.so", tmp_path / "nowhere.so"):
        ran = run("-c", "import lacuna", LACUNA_LIBRARY=str(named))
        assert f"ImportError: lacuna: cannot load {named}" in ran.stderr and "unset it" in ran.stderr


def test_a_package_without_its_library_says_what_to_do(tmp_path):
    """A copy of the package alone, as a checkout that was never built has it."""
    script = f"""
import importlib.util, os, sys
os.environ.pop("LACUNA_LIBRARY", None)
sys.path[0:0] = [{str(tmp_path / "python")!r}]
import lacuna
"""
    (tmp_path / "python" / "lacuna").mkdir(parents=True)
    for file in PACKAGE.rglob("*.py"):
        copy = tmp_path / "python" / "lacuna" / file.relative_to(PACKAGE)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(file.read_text())
    os.symlink(_library.include(), tmp_path / "include")
    ran = run("-c", script)
    assert "ImportError: lacuna: liblacuna.so is in none of" in ran.stderr and "pip install ." in ran.stderr


def test_the_prefix_has_the_headers():
    ran = run("-m", "lacuna", "--prefix")
    assert (Path(ran.stdout.strip()) / "include/lacuna/lacuna.h").exists()


def test_an_import_takes_no_torch_and_no_scipy():
    slow = {"torch", "scipy", "scipy_openblas32", "importlib.metadata"}
    script = f"import sys, lacuna; print(sorted({slow} & set(sys.modules)))"
    assert run("-c", script).stdout == "[]\n"
