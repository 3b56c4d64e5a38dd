# SPDX-License-Identifier: Apache-2.0
"""Lacuna: differentiable sparse linear algebra. Structure is frozen, values flow.

pattern, values = lacuna.from_scipy(A)       # values in the order of the pattern's slots
y = lacuna.spmm(pattern, values, x)          # NumPy in, NumPy out
y = lacuna.torch.spmm(pattern, values, x)    # the same on torch tensors, with derivatives of every order
"""

import importlib as _importlib

from . import _numpy, _operators
from ._core import context as _context
from ._core import memory_stats  # noqa: F401
from ._core import version as _version
from ._called import solve_operator  # noqa: F401
from ._io import load_safetensors, matrix_market_info, read_matrix_market  # noqa: F401
from ._io import save_safetensors, write_matrix_market  # noqa: F401
from .errors import *  # noqa: F403
from .errors import DtypeError, LacunaError
from .format import Format
from .pattern import Map, Pattern
from .solver import Factor, Solver

__version__ = _version()
globals().update(_operators.of(_numpy, __name__))


def from_scipy(matrix, width="auto"):
    """(pattern, values) of a SciPy sparse matrix or array in CSR, CSC, COO or BSR format; others are converted to COO.

    BSR keeps its blocks, values being (nnz, *pattern.blocks); of matrix.tocsr() come single entries.
    """
    pattern = Pattern.from_scipy(matrix, width)
    data = (matrix if matrix.format in ("csr", "csc", "coo", "bsr") else matrix.tocoo()).data.reshape(-1)
    if data.dtype not in _numpy.DTYPES:
        raise DtypeError(
            f"from_scipy: the matrix holds {data.dtype}; Lacuna computes in float32, float64, complex64 and "
            "complex128: convert it with .astype(float), or take Pattern.from_scipy(matrix) alone"
        )
    data = data[: pattern.entries.inputs]  # a compressed matrix may hold room for more
    values = data if pattern.entries.is_identity else remap(pattern.entries, data)  # noqa: F821
    return pattern, values if pattern.blocks == (1, 1) else values.reshape(-1, *pattern.blocks)


def set_threads(threads):
    """How many threads this thread's CPU kernels use. The results do not depend on it, to the bit."""
    _context().set_threads(threads)


def __getattr__(name):
    if name in ("torch", "compat"):  # imported when first used: NumPy users need no torch
        return _importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'lacuna' has no attribute {name!r}")
