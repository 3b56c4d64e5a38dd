# SPDX-License-Identifier: Apache-2.0
"""Calls inside calls, as signal handlers and finalizers make them; forked processes; graphs from other processes."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import lacuna
import lacuna.torch as lt
from lacuna import _core, _program


class Interrupted:
    """Runs a function after every line of Lacuna's Python, as a signal handler or a finalizer may."""

    def __init__(self, function):
        self.function, self.times = function, 0

    def __enter__(self):
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, _):
        if os.path.dirname(_core.__file__) not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.times += 1
            self.function()
        return self.trace


def test_calls_inside_calls_do_not_disturb_each_other():
    inner = lacuna.Pattern.from_coo(np.arange(7), np.arange(7), (7, 7))
    outer = lacuna.Pattern.from_coo([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 0], (3, 3))
    a, x = np.array([4.0, 1, 3, 1, 2, 1]), np.ones((3, 1))
    ta, tx = torch.tensor(a, requires_grad=True), torch.tensor(x, requires_grad=True)

    def everything():
        solved = lt.solve(outer, ta, tx)
        return [lacuna.spmm(outer, a, x), lt.spmm(outer, ta, tx), *torch.autograd.grad(solved.sum(), (ta, tx))]

    def other():
        small, ones = np.full(7, -1e3), np.ones((7, 1))
        lacuna.spmm(inner, small, ones)
        with torch.enable_grad():
            lt.solve(inner, torch.tensor(small, requires_grad=True), torch.tensor(ones)).sum().backward()

    expected = everything()
    other()
    with Interrupted(other) as interrupted:
        got = everything()
    assert interrupted.times > 100
    for result, right in zip(got, expected):
        np.testing.assert_array_equal(*(t.detach() if isinstance(t, torch.Tensor) else t for t in (result, right)))


def in_child(function, seconds=60):
    """Whether the function is true in a forked process, which has so many seconds."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if function() else 2
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


@pytest.fixture
def two_threads():
    before = _core.lib.lac_context_threads(_core.context().c)
    lacuna.set_threads(2)
    yield
    lacuna.set_threads(before)


@pytest.fixture
def large():
    """A system that is worth threads."""
    n = 20000
    row, col = np.arange(n).repeat(3), (np.arange(n)[:, None] + np.array([0, 1, 9])).ravel() % n
    pattern = lacuna.Pattern.from_coo(row, col, (n, n))
    rng = np.random.default_rng(0)
    values = rng.random(pattern.nnz) + 5 * (pattern.structure()[1] == pattern.structure()[2])
    return pattern, values, rng.random((n, 8))


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_forked_processes_compute_and_do_not_wait_for_threads_that_stayed_behind(two_threads, large):
    pattern, a, x = large
    expected = lacuna.spmm(pattern, a, x), lacuna.sddmm(pattern, x, x), lacuna.solve(pattern, a, x[:, :1])
    name = next(_program._names)

    def child():
        got = lacuna.spmm(pattern, a, x), lacuna.sddmm(pattern, x, x), lacuna.solve(pattern, a, x[:, :1])
        with pytest.raises(lacuna.UnsupportedError, match="spawn"):
            lacuna.set_threads(2)
        lacuna.set_threads(1)
        fresh = lacuna.Pattern.from_coo(*pattern.structure()[:0:-1], pattern.shape)
        other_numbers = abs(next(_program._names) - name) > 2**20
        return all(map(np.array_equal, got, expected)) and fresh.same(pattern) and other_numbers

    assert in_child(child)
    assert _core.lib.lac_context_threads(_core.context().c) == 2  # here nothing has changed


class Products(torch.utils.data.Dataset):
    def __init__(self, pattern, a, x):
        self.pattern, self.a, self.x = pattern, torch.tensor(a), torch.tensor(x)

    def __len__(self):
        return 2

    def __getitem__(self, k):
        return lt.spmm(self.pattern, (1 + k) * self.a, self.x)


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_workers_of_data_loaders(two_threads, large):
    data = Products(*large)
    expected = [data[0], data[1]]
    loader = torch.utils.data.DataLoader(
        data, batch_size=None, num_workers=1, timeout=60, multiprocessing_context="fork"
    )
    assert all(map(torch.equal, loader, expected))


SAVE_OR_LOAD = """
import sys, torch, lacuna, lacuna.torch as lt

class Layer(torch.nn.Module):
    def forward(self, a, x):
        y = lt.solve(pattern, a, lt.spmm(pattern, a, x))
        turned, order = pattern.transpose()
        return (y, lt.kron(pattern, a, pattern, a), lt.segment_sum(pattern.row_map(), lt.exp(a)),
                lt.spmm(turned, lt.remap(order, a), x), lt.segment_sum(turned.row_map(), lt.remap(order, a)))

what, file, cols = sys.argv[1], sys.argv[2], [int(c) for c in sys.argv[3]]
other = lacuna.Pattern.from_coo([0, 1, 1], [2, 0, 1], (3, 3))   # numbers are not the same in both processes
lt.spmm(other, torch.ones(3), torch.ones(3, 1))
pattern = lacuna.Pattern.from_coo([0, 0, 1, 1, 2, 2], cols, (3, 3))
a, x = torch.arange(1.0, 7.0), torch.arange(6.0).reshape(3, 2)
if what == "save":
    exported = torch.export.export(Layer(), (a, x), strict=sys.argv[4] == "strict")
    torch.export.save(exported, file)
else:
    try:
        got, expected = torch.export.load(file).module()(2 * a, x), Layer()(2 * a, x)
        assert len(got) == 5 and all(map(torch.equal, got, expected))
        print("same")
    except lacuna.StaleError as error:
        print("refused:", error)
"""


def run_after_saving(tmp_path, cols, how="traced"):
    """What a process says that loads what another has saved, with a pattern of these columns."""
    path = os.pathsep.join([os.path.dirname(os.path.dirname(lacuna.__file__)), os.environ.get("PYTHONPATH", "")])
    for arguments in (["save", tmp_path / "layer.pt2", "011220", how], ["load", tmp_path / "layer.pt2", cols, how]):
        ran = subprocess.run(
            [sys.executable, "-c", SAVE_OR_LOAD, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("how", ["traced", "strict"])
def test_a_graph_runs_in_another_process_that_has_its_pattern(tmp_path, how):
    """What is derived of derived patterns is there too; a compiler names it by the key of the first."""
    assert run_after_saving(tmp_path, "011220", how) == "same\n"


def test_a_graph_whose_pattern_is_not_there_is_refused(tmp_path):
    said = run_after_saving(tmp_path, "021021")
    assert "refused: lacuna: a graph needs the pattern of sizes (3, 3, 6)" in said


def test_names_fit_64_bits_and_differ_between_processes():
    names = []
    for _ in range(50):
        _program._count_anew()
        names.append(next(_program._names))
    assert len(set(names)) == 50 and all(0 < name < 2**63 - 2**60 for name in names)
