# SPDX-License-Identifier: Apache-2.0
"""Other packages' names over Lacuna's functions: torch_sla, torchsparsegradutils and numml.

    from lacuna.compat.torch_sla import SparseTensor      # instead of: from torch_sla import SparseTensor

    import lacuna.compat
    lacuna.compat.install()                                # or: every later import of theirs is ours
    import torch_sla, torchsparsegradutils, numml.sparse

Module paths, signatures and defaults are theirs, the numbers are Lacuna's. docs/compat.md has the tables of names, and
the list of what is computed otherwise here because it was wrong there.
"""

import importlib
import pkgutil
import sys

from ..errors import ArgumentError

PACKAGES = ("torch_sla", "torchsparsegradutils", "numml")


def _modules(package):
    """{their name: our module} of a package with all that it holds."""
    root = importlib.import_module(f".{package}", __name__)
    found = [entry.name for entry in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")]
    ours = [root, *map(importlib.import_module, found)]
    return {module.__name__.removeprefix(f"{__name__}."): module for module in ours}


def install(*packages: str) -> None:
    """Let `import torch_sla`, `import torchsparsegradutils` and `import numml` (or those named) find ours.

    A package that was imported before is refused: what holds its names would keep them.
    """
    for package in packages or PACKAGES:
        if package not in PACKAGES:
            raise ArgumentError(f"compat.install: there is no {package!r}; there are {', '.join(PACKAGES)}")
        modules = _modules(package)
        if sys.modules.get(package, modules[package]) is not modules[package]:
            raise ArgumentError(f"compat.install: {package} itself was imported before; call install() first")
        sys.modules.update(modules)


def uninstall(*packages: str) -> None:
    """Take back what install did; names that were imported in the meantime stay ours."""
    for package in packages or PACKAGES:
        for name, module in _modules(package).items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
