# SPDX-License-Identifier: Apache-2.0
"""The functions of the NumPy front end, made from C's tables. Type checkers read _made.pyi, which is made of the same
tables (scripts/check-stubs)."""

from . import _docstrings, _matrices, _numpy, _operators
from .matrix import NumPy as _NumPy

_functions = _matrices.taking_matrices(_NumPy(), _operators.of(_numpy, __package__), _operators.takes())
globals().update(_docstrings.with_examples(_functions))
