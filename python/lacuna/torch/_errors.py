# SPDX-License-Identifier: Apache-2.0
"""Errors that are torch's too. They take the places of Lacuna's own once torch is there, and are those as well."""

import torch

from .. import errors


class SingularError(errors.SingularError, torch.linalg.LinAlgError):
    """lacuna.SingularError, and torch's."""


class DefiniteError(errors.DefiniteError, torch.linalg.LinAlgError):
    """lacuna.DefiniteError, and torch's."""


class SymmetryError(errors.SymmetryError, torch.linalg.LinAlgError):
    """lacuna.SymmetryError, and torch's."""


class NonfiniteError(errors.NonfiniteError, torch.linalg.LinAlgError):
    """lacuna.NonfiniteError, and torch's."""


class ConvergenceError(errors.ConvergenceError, torch.linalg.LinAlgError):
    """lacuna.ConvergenceError, and torch's."""


class OutOfMemoryError(errors.OutOfMemoryError, torch.cuda.OutOfMemoryError):
    """lacuna.OutOfMemoryError, and torch's."""


_BOTH = SingularError, DefiniteError, SymmetryError, NonfiniteError, ConvergenceError, OutOfMemoryError
errors.BY_STATUS.update((error.status, error) for error in _BOTH)
