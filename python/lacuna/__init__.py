# SPDX-License-Identifier: Apache-2.0
"""Lacuna: differentiable sparse linear algebra. Structure is frozen, values flow.

    A = lacuna.Matrix.from_coo(values, row, col, shape)  # a frozen pattern, and values in the caller's order
    y = lacuna.spmm(A, x)                        # NumPy in, NumPy out; also of a SciPy matrix, or a pattern and values
    g = lacuna.grad(f)(A.values)                 # derivatives of functions of NumPy arrays, to every order
    y = lacuna.torch.spmm(pattern, values, x)    # the same on torch tensors, with derivatives of every order
"""

import importlib as _importlib

from ._backends import Backend, backends, show_backends  # noqa: F401
from ._core import get_threads, memory_stats, set_threads, threads  # noqa: F401
from ._core import version as _version
from ._called import lanczos, solve_operator  # noqa: F401
from ._autodiff.derivatives import grad, hvp, jvp, value_and_grad, vjp  # noqa: F401
from ._interned import forget_patterns, keep_patterns, pattern_stats  # noqa: F401
from ._made import *  # noqa: F403
from ._io import load_safetensors, matrix_market_info, read_matrix_market  # noqa: F401
from ._io import save_safetensors, write_matrix_market  # noqa: F401
from ._autodiff.recorded import Array  # noqa: F401
from ._scipy import from_scipy  # noqa: F401
from ._autodiff.searches import checkpoint, gradcheck, minimise  # noqa: F401
from .errors import *  # noqa: F403
from .errors import LacunaError  # noqa: F401
from .format import Format
from .map import Map
from .matrix import Matrix  # noqa: F401
from .pattern import Pattern
from .solver import Factor, Solver

__version__ = _version()
_importlib.import_module("._autodiff.array_operators", __name__).install()


def __getattr__(name):
    if name in ("torch", "scipy", "compat"):  # imported when first used: NumPy users need none of them
        return _importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'lacuna' has no attribute {name!r}")
