# SPDX-License-Identifier: Apache-2.0
"""Matrices and right-hand sides as SciPy's functions take them: dense or sparse, of any numbers, promoted as there."""

import warnings

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import LinearOperator

from .._scipy import from_scipy
from ..errors import DtypeError, LacunaWarning

FLOATS = "fdFD"  # the dtypes of LAPACK, SciPy's too


def unsupported(who, given, defaults):
    """Refuse parameters that mean something for SciPy's own code alone, where they are not as SciPy has them."""
    for name, default in defaults.items():
        if given[name] is not default and given[name] != default:
            raise NotImplementedError(
                f"{who}: {name}={given[name]!r} is for SciPy's own code and has no meaning here; leave it out, or "
                f"call scipy.sparse.linalg.{who}"
            )


def unread(who, **given):
    """Warn of parameters that tune SuperLU, where they are given: the caller of the function `who` is told that they
    are not read."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        told = f"{who}: SuperLU alone is tuned by {', '.join(named)}; not read here"
        warnings.warn(told, LacunaWarning, stacklevel=3)


def limited(iterations, progress=None):
    """Options of Solver for at most so many iterations; None is C's own limit. C reads 0 so too: where none at all is
    asked for, the first look at the residual is the last."""
    if iterations != 0:
        return {"max_iterations": iterations, "progress": progress}

    def ends(*look):
        if callable(progress):
            progress(*look)
        return True

    return {"max_iterations": 1, "progress": ends}


def as_sparse(A):
    """A sparse matrix of floating-point numbers: integers and booleans become float64, float16 float32."""
    A = A if sparse.issparse(A) else sparse.csr_array(np.atleast_2d(np.asarray(A)))
    if A.dtype.char in FLOATS:
        return A
    return A.astype(np.float32 if A.dtype == np.float16 else np.promote_types(A.dtype, np.float64))


def is_operator(A):
    return isinstance(A, LinearOperator) or not sparse.issparse(A) and hasattr(A, "matvec")


def product_dtype(A, b):
    """The dtype of a LinearOperator and the vector b, of Lacuna's own."""
    b = b if b.dtype.char in FLOATS else b.astype(np.float64)
    of_a = A.dtype if A.dtype is not None else A.matvec(np.zeros(A.shape[1], b.dtype)).dtype
    dtype = np.promote_types(b.dtype, of_a)
    return dtype if dtype.char in FLOATS else np.dtype(np.float64)


def returned(called, given, dtype):
    """What a function of a LinearOperator returned, in the dtype of the solve. Complex numbers in a real solve are
    refused: their real part solves another system."""
    if np.iscomplexobj(given) and dtype.kind != "c":
        raise DtypeError(
            f"{called} returned {np.asarray(given).dtype} in a solve of {dtype}; declare the dtype of A as complex, or "
            "give a complex b"
        )
    return np.asarray(given, dtype)


def square(who, A):
    """The matrix as a sparse one, which must be square."""
    A = as_sparse(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{who}: matrix must be square (has shape {A.shape})")
    return A


def promoted(A, b):
    """The matrix and the dense b in their common dtype."""
    b = np.asarray(b)
    dtype = np.promote_types(A.dtype, b.dtype)
    if dtype.char not in FLOATS:
        raise TypeError(f"numbers of {dtype} are none that Lacuna computes in: float32, float64, complex64, complex128")
    return A.astype(dtype, copy=False), b.astype(dtype, copy=False)


def check_rows(who, A, b):
    if b.ndim not in (1, 2) or A.shape[0] != b.shape[0]:
        raise ValueError(f"{who}: matrix - rhs dimension mismatch ({A.shape} - {b.shape})")


def column(who, name, given, shape, n):
    """A vector of (n,) or (n, 1) beside a matrix of that shape, flat."""
    given = np.asarray(given)
    if given.shape not in ((n,), (n, 1)):
        raise ValueError(f"{who}: shapes of A {shape} and {name} {given.shape} are incompatible")
    return given.reshape(n)


def entries(A):
    """(pattern, values) by single entries: blocks are for functions that take blocks."""
    return from_scipy(A.tocsr() if A.format == "bsr" else A)
