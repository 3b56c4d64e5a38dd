# SPDX-License-Identifier: Apache-2.0
"""The functions of the NumPy front end, made from C's tables. Type checkers read _made.pyi, which is made of the same
tables (scripts/check-stubs)."""

from . import _numpy, _operators
from ._docstrings import with_examples
from ._scipy import taking_matrices

globals().update(with_examples(taking_matrices(_operators.of(_numpy, __package__), _operators.takes())))
