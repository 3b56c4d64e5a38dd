# SPDX-License-Identifier: Apache-2.0
"""What torch does not promise is named in one file, and where a torch lacks it lacuna.torch works by what torch does
promise: in a process of its own, which is told to do without."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lacuna

torch = pytest.importorskip("torch")
TORCH = Path(lacuna.__file__).resolve().parent / "torch"

PUBLIC = """
import numpy as np
import torch
import lacuna
import lacuna.torch as lt
from lacuna.torch import _private

assert not _private.is_whole and "LACUNA_TORCH_PUBLIC" in _private.missing
row, col = np.array([0, 1, 2, 3, 0, 2, 3]), np.array([0, 1, 2, 3, 1, 3, 0])
pattern = lacuna.Pattern.from_coo(row, col, (4, 4))
order = np.lexsort((col, row))  # that of slots
row, col = torch.as_tensor(row[order]), torch.as_tensor(col[order])
a = torch.linspace(1.0, 2.0, 7, dtype=torch.float64) + 2 * (row == col)
b = torch.arange(1.0, 13.0, dtype=torch.float64).reshape(4, 3) / 9

def dense(a):
    return torch.zeros(4, 4, dtype=a.dtype).index_put((row, col), a)

for ours, theirs in (
    (lambda a, b: lt.spmm(pattern, a, b), lambda a, b: dense(a) @ b),
    (lambda a, b: lt.solve(pattern, a, b), lambda a, b: torch.linalg.solve(dense(a), b)),
    (lambda a, b: lt.logdet(pattern, a) + lt.sum(lt.exp(b)), lambda a, b: torch.logdet(dense(a)) + torch.exp(b).sum()),
):
    same = lambda x, y: torch.testing.assert_close(x, y, rtol=1e-9, atol=1e-11)
    loss, twin = (lambda a, b, f=f: (f(a, b) ** 2).sum() for f in (ours, theirs))
    same(ours(a, b), theirs(a, b))
    leaves = [t.clone().requires_grad_() for t in (a, b)]
    assert torch.autograd.gradcheck(ours, leaves, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(ours, leaves)
    same(torch.func.grad(loss, (0, 1))(a, b), torch.func.grad(twin, (0, 1))(a, b))
    same(torch.func.hessian(loss)(a, b), torch.func.hessian(twin)(a, b))
    same(torch.func.jacfwd(torch.func.jacrev(loss, 1))(a, b), torch.func.jacfwd(torch.func.jacrev(twin, 1))(a, b))
    many = a + torch.arange(5.0, dtype=a.dtype)[:, None] / 10
    for turned in (torch.func.vmap(ours, (0, None)), torch.func.vmap(torch.func.grad(loss), (0, None))):
        same(turned(many, b), torch.stack([turned(one[None], b)[0] for one in many]))
    same(torch.func.vmap(ours, (0, None))(many, b), torch.stack([theirs(one, b) for one in many]))
    same(torch.compile(loss, backend="eager")(a, b), twin(a, b))
print("same")
"""


def test_calls_work_by_what_torch_promises():
    path = os.pathsep.join([str(TORCH.parent.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "LACUNA_TORCH_PUBLIC": "1"}
    ran = subprocess.run([sys.executable, "-c", PUBLIC], env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0 and ran.stdout.endswith("same\n"), ran.stdout + ran.stderr


def test_one_file_names_what_torch_does_not_promise():
    named = re.compile(r"torch\._[a-zA-Z]|from torch import _|_functorch\b|forward_ad\._|\.node\.|\b_C\.")
    for file in TORCH.rglob("*.py"):
        if file.name != "_private.py":
            found = [line for line in file.read_text().splitlines() if named.search(line)]
            assert not found, f"{file}: belongs into _private.py: {found}"


def test_this_torch_has_all_of_it():
    """A version that lacks something works, but slowly: this says so when a new one comes."""
    from lacuna.torch import _private

    assert _private.is_whole or os.environ.get("LACUNA_TORCH_PUBLIC") == "1", _private.missing
