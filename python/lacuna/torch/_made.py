# SPDX-License-Identifier: Apache-2.0
"""The functions of the torch front end, made from C's tables. Type checkers read _made.pyi, which is made of the same
tables (scripts/check-stubs)."""

from .. import _operators
from . import _apply

globals().update(_operators.of(_apply, __package__))
