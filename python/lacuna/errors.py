# SPDX-License-Identifier: Apache-2.0
"""One exception for each status of the C library. The message is the context's sentence, in
the words of Python (_words.py)."""

from numpy.linalg import LinAlgError


class LacunaError(Exception):
    """What every error of Lacuna is. `status` names the code, `trace` the chain of C functions, innermost first."""

    status = "LAC_ERR"
    trace = ""


class LacunaWarning(UserWarning):
    """What every warning of Lacuna is."""


class AccuracyWarning(LacunaWarning):
    """What came out is doubtful: the matrix is nearly singular, and few digits of the result are certain."""


class ArgumentError(LacunaError, ValueError):
    status = "LAC_ERR_ARG"


class ShapeError(LacunaError, ValueError):
    status = "LAC_ERR_SHAPE"


class DtypeError(LacunaError, TypeError):
    status = "LAC_ERR_DTYPE"


class DeviceError(LacunaError, ValueError):
    status = "LAC_ERR_DEVICE"


class PatternError(LacunaError, ValueError):
    status = "LAC_ERR_PATTERN"


class OutOfMemoryError(LacunaError, MemoryError):
    status = "LAC_ERR_MEMORY"


class IndexOverflowError(LacunaError, OverflowError):
    status = "LAC_ERR_OVERFLOW"


class SingularError(LacunaError, ArithmeticError, LinAlgError):
    """numpy.linalg.LinAlgError too, and where lacuna.torch is imported torch.linalg.LinAlgError."""

    status = "LAC_ERR_SINGULAR"


class DefiniteError(LacunaError, ArithmeticError, LinAlgError):
    """LinAlgError as SingularError is."""

    status = "LAC_ERR_DEFINITE"


class SymmetryError(LacunaError, ArithmeticError, LinAlgError, ValueError):
    """LinAlgError as SingularError is, and ValueError."""

    status = "LAC_ERR_SYMMETRY"


class NonfiniteError(LacunaError, ArithmeticError, LinAlgError, ValueError):
    """LinAlgError as SingularError is, and ValueError: NumPy raises the one for NaN and infinity, SciPy the other."""

    status = "LAC_ERR_NONFINITE"


class ConvergenceError(LacunaError, ArithmeticError, LinAlgError):
    """LinAlgError as SingularError is."""

    status = "LAC_ERR_CONVERGENCE"


class StaleError(LacunaError, RuntimeError):
    status = "LAC_ERR_STALE"


class OrderError(LacunaError, RuntimeError):
    status = "LAC_ERR_ORDER"


class AbsentError(LacunaError, RuntimeError):
    status = "LAC_ERR_ABSENT"


class UnsupportedError(LacunaError, NotImplementedError):
    status = "LAC_ERR_UNSUPPORTED"


class BackendError(LacunaError, RuntimeError):
    status = "LAC_ERR_BACKEND"


class RemoteError(LacunaError, RuntimeError):
    status = "LAC_ERR_REMOTE"


class FileError(LacunaError, OSError):
    status = "LAC_ERR_FILE"


class MissingFileError(FileError, FileNotFoundError):
    """There is no file of that name, or no directory for it."""


class FormatError(LacunaError, ValueError):
    status = "LAC_ERR_FORMAT"


class InterruptError(LacunaError):
    """A progress function ended it. (What a signal handler raises, as KeyboardInterrupt, is raised itself.)"""

    status = "LAC_ERR_INTERRUPTED"


BY_STATUS = {error.status: error for error in LacunaError.__subclasses__()}
__all__ = [
    "AccuracyWarning", "LacunaError", "LacunaWarning", "MissingFileError",
    *(error.__name__ for error in BY_STATUS.values()),
]  # fmt: skip
