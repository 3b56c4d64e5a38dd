# SPDX-License-Identifier: Apache-2.0
"""lacuna.compat: imports of other packages that find Lacuna."""

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
