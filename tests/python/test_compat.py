# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat: imports of other packages that find Lacuna."""

import ast
import pathlib
import subprocess
import sys

import pytest

import lacuna
from lacuna import compat


def test_installed_packages_are_ours():
    compat.install()
    try:
        import torch_sla
        from torch_sla.datasets import laplacian_1d
        from torch_sla.solve import SolverConfig

        assert torch_sla is compat.torch_sla and torch_sla.SolverConfig is SolverConfig
        assert laplacian_1d(3).shape == (3, 3)
        import numml.sparse.linalg
        from torchsparsegradutils.utils.random_sparse import rand_sparse

        assert numml.sparse.linalg.spsolve is compat.numml.sparse.spsolve
        assert rand_sparse is compat.torchsparsegradutils.utils.rand_sparse
        compat.install()  # again is nothing
    finally:
        compat.uninstall()
    assert not any(name.partition(".")[0] in compat.PACKAGES for name in sys.modules)


def test_a_package_that_is_imported_already_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_sla", compat)
    with pytest.raises(lacuna.ArgumentError, match="imported before"):
        compat.install("torch_sla")
    with pytest.raises(lacuna.ArgumentError, match="there is no"):
        compat.install("torch")


def test_lacuna_alone_imports_neither_torch_nor_compat():
    code = "import sys, lacuna; assert not {'torch', 'lacuna.compat'} & set(sys.modules); lacuna.compat.install"
    subprocess.run([sys.executable, "-c", code], check=True)


def _private_names(source):
    """(names with an underscore that are asked of objects or imported from lacuna, those that the source defines)."""
    asked, defined = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            (defined if isinstance(node.ctx, ast.Store) else asked).add(node.attr)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lacuna"):
            asked |= {name for name in (*node.module.split("."), *[n.name for n in node.names]) if name[0] == "_"}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
    return asked, defined


def test_compat_uses_public_names_alone():
    """Of torch's own private names it uses those of sparse tensors and of modules that torch documents nothing else
    for."""
    of_torch = {"_nnz", "_indices", "_values", "_parameters", "__version__"}
    for file in pathlib.Path(lacuna.compat.__file__).parent.rglob("*.py"):
        asked, defined = _private_names(file.read_text())
        assert asked - defined <= of_torch, (file.name, asked - defined - of_torch)
