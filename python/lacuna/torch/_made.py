# SPDX-License-Identifier: Apache-2.0
"""The functions of the torch front end, made from C's tables. Type checkers read _made.pyi, which is made of the same
tables (scripts/check-stubs)."""

from .. import _matrices, _operators
from . import _apply
from ._matrices import Torch as _Torch

globals().update(_matrices.taking_matrices(_Torch(), _operators.of(_apply, __package__), _operators.takes()))
