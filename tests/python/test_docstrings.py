# SPDX-License-Identifier: Apache-2.0
"""Every public name has a docstring, and the examples in them run."""

import doctest
import inspect
import types

import numpy as np
import pytest
import scipy.sparse
import torch

import lacuna
import lacuna.compat
import lacuna.scipy
import lacuna.torch
import lacuna.torch.nn

MODULES = [lacuna, lacuna.torch, lacuna.torch.nn, lacuna.scipy, lacuna.compat]
SPACE = {"lacuna": lacuna, "np": np, "torch": torch, "scipy": scipy}
EXAMPLES = {
    "Pattern.from_coo", "Solver", "Factor.solve", "solve", "spmm", "logdet", "grad", "vjp", "jvp", "hvp", "minimise",
    "gradcheck", "from_scipy", "spsolve", "splu", "cg", "SparseTensor", "SparseTensor.solve", "SparseTensor.lu",
    "SparseTensorList", "SparseParameter", "Matrix.from_coo", "Matrix.solve", "Matrix.factor", "SparseTensor.matmul",
    "SparseTensor.from_dense", "SparseTensor.sum", "SparseTensor.logdet", "gmres", "lsqr", "spilu",
}  # fmt: skip


def is_ours(thing):
    return (getattr(thing, "__module__", None) or "").startswith("lacuna")


def public(module):
    """(name, thing) of all that a module offers, and of the methods and properties of its classes."""
    for name, thing in vars(module).items():
        if name.startswith("_") or isinstance(thing, types.ModuleType) or not is_ours(thing):
            continue
        yield name, thing
        if inspect.isclass(thing) and not issubclass(thing, (Exception, tuple)):
            bases = [base for base in thing.__mro__ if is_ours(base)]
            names = {key for base in bases for key, one in vars(base).items() if not key.startswith("_")
                     and (callable(one) or isinstance(one, (property, classmethod, staticmethod)))}  # fmt: skip
            for key in sorted(names - {"Promise"}):
                found = inspect.getattr_static(thing, key)
                yield f"{name}.{key}", found if isinstance(found, property) else getattr(thing, key)


FOUND = {f"{module.__name__}.{name}": thing for module in MODULES for name, thing in public(module)}

SHOWN = [name for name, thing in FOUND.items() if ">>>" in (getattr(thing, "__doc__", "") or "")]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_has_a_docstring(module):
    missing = [name for name, thing in public(module) if not (inspect.getdoc(thing) or "").strip()]
    assert not missing


def test_what_is_used_most_has_an_example():
    assert not {name for name in EXAMPLES if not any([one.endswith("." + name) for one in SHOWN])}


@pytest.mark.parametrize("name", SHOWN)
def test_examples_run(name):
    text = inspect.getdoc(FOUND[name])
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    with np.printoptions(legacy="1.25" if np.__version__ >= "2" else False):  # NumPy 1 has no np.float64(2.0)
        said = []
        runner.run(doctest.DocTestParser().get_doctest(text, dict(SPACE), name, None, 0), out=said.append)
    assert not runner.failures, "".join(said)
