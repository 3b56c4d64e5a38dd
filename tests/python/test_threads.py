# SPDX-License-Identifier: Apache-2.0
"""How many threads kernels use, in every thread of Python and beside torch; errors and warnings of the right kind."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch

import lacuna
import lacuna.torch as lt
from lacuna import _library

pattern = lacuna.Pattern.eye(4)


@pytest.fixture(autouse=True)
def restored():
    before = torch.get_num_threads()
    yield
    lacuna.set_threads(None)
    torch.set_num_threads(before)


def elsewhere(function):
    """What a function gives in another thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_threads_are_set_for_all_and_given_back():
    lacuna.set_threads(None)  # torch may have been followed before
    most = lacuna.get_threads()
    lacuna.set_threads(3)
    assert lacuna.get_threads() == elsewhere(lacuna.get_threads) == 3
    with lacuna.threads(1):
        assert lacuna.get_threads() == elsewhere(lacuna.get_threads) == 1
    assert lacuna.get_threads() == 3
    with pytest.raises(RuntimeError), lacuna.threads(2):
        raise RuntimeError
    assert lacuna.get_threads() == 3
    lacuna.set_threads(None)
    assert lacuna.get_threads() == most


def test_a_thread_that_is_there_already_follows():
    ready, go, found = threading.Event(), threading.Event(), []

    def work():
        found.append(lacuna.get_threads())
        ready.set()
        go.wait()
        found.append(lacuna.get_threads())

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    lacuna.set_threads(5)
    go.set()
    thread.join()
    assert found[1] == 5 != found[0]


def test_torch_is_followed_unless_a_number_is_asked_for():
    x = torch.ones(4)
    for number in (1, 2):
        torch.set_num_threads(number)
        lt.exp(x)
        assert lacuna.get_threads() == number
    lacuna.set_threads(3)
    torch.set_num_threads(1)
    lt.exp(x)
    assert lacuna.get_threads() == 3
    lacuna.set_threads(None)
    lt.exp(x)
    assert lacuna.get_threads() == 1


def test_numbers_that_are_none():
    for wrong, error in ((0, lacuna.ArgumentError), (-1, lacuna.ArgumentError), (1.5, TypeError), ("2", TypeError)):
        with pytest.raises(error):
            lacuna.set_threads(wrong)
    assert lacuna.get_threads() == elsewhere(lacuna.get_threads) >= 1


def singular(front, make):
    front.solve(pattern, make([1.0, 0, 1, 1]), make([1.0] * 4))


@pytest.mark.parametrize("kind", [lacuna.SingularError, np.linalg.LinAlgError, torch.linalg.LinAlgError])
def test_singular_systems_are_errors_of_numpy_and_torch(kind):
    for front, make in ((lacuna, np.array), (lt, torch.tensor)):
        with pytest.raises(kind) as caught:
            singular(front, make)
        again = pickle.loads(pickle.dumps(caught.value))
        assert isinstance(again, kind) and str(again) == str(caught.value)
    indefinite = lacuna.Solver(pattern, "cholesky")
    with pytest.raises(np.linalg.LinAlgError):
        indefinite.factor(-np.ones(4))


@pytest.mark.parametrize("kind", [np.linalg.LinAlgError, torch.linalg.LinAlgError])
def test_other_failures_of_numbers_are_errors_of_numpy_and_torch(kind):
    full = lacuna.Pattern.from_coo([0, 0, 1, 1], [0, 1, 0, 1], (2, 2))
    slow = lacuna.Solver(full, "cg", preconditioner="identity", rtol=1e-6, max_iterations=1)
    for error, also, solver, values in (
        (lacuna.SymmetryError, ValueError, lacuna.Solver(full, "cholesky"), [2.0, 0, 1, 2]),
        (lacuna.NonfiniteError, ValueError, full, [2.0, np.nan, 1, 2]),
        (lacuna.ConvergenceError, ArithmeticError, slow, [2.0, 1, 1, 3]),
    ):
        for front, make in ((lacuna, np.array), (lt, torch.tensor)):
            with pytest.raises(kind) as caught:
                front.solve(solver, make(values), make([1.0, 2]))
            assert isinstance(caught.value, error) and isinstance(caught.value, also)


def test_without_torch_errors_are_numpys():
    code = """
import sys, numpy as np, lacuna
try:
    lacuna.solve(lacuna.Pattern.eye(2), np.array([1.0, 0]), np.ones(2))
except np.linalg.LinAlgError as error:
    assert isinstance(error, lacuna.SingularError) and "torch" not in sys.modules
    print("right")
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "right\n"


def test_a_library_that_is_closed_stays_for_the_threads_that_look_for_work():
    """Without Python's hold on it, in a process that loads nothing else which would keep OpenMP there."""
    code = """
import _ctypes, ctypes, os, sys, time
from ctypes import byref, c_int64, c_void_p
lib, f64 = ctypes.CDLL(sys.argv[1]), 1
ctx, x, y, n = c_void_p(), c_void_p(), c_void_p(), c_int64(1000000)
assert lib.lac_context_create(b"cpu", 0, byref(ctx)) == lib.lac_context_set_threads(ctx, 2) == 0
assert lib.lac_array_create(ctx, f64, 1, byref(n), byref(x)) == lib.lac_run_exp(ctx, x, byref(y)) == 0
assert len(os.listdir("/proc/self/task")) > 1
lib.lac_array_destroy(byref(x)), lib.lac_array_destroy(byref(y)), lib.lac_context_destroy(byref(ctx))
_ctypes.dlclose(lib._handle)
time.sleep(0.1)  # the other thread looks
print("liblacuna" in open("/proc/self/maps").read())
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("threads and mappings are counted as Linux shows them")
    command = [sys.executable, "-c", code, str(_library.path)]
    environment = {**os.environ, "OMP_WAIT_POLICY": "active"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and ran.stdout == "True\n", ran.stderr


def test_warnings_have_one_kind():
    assert issubclass(lacuna.AccuracyWarning, lacuna.LacunaWarning) and issubclass(lacuna.LacunaWarning, UserWarning)
