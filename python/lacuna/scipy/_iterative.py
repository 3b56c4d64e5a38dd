# SPDX-License-Identifier: Apache-2.0
"""Krylov methods with SciPy's signatures: (x, info), converged when |b - A x| <= max(rtol |b|, atol)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
from scipy.sparse.linalg import aslinearoperator

from .._called import iterate as iterate_products
from ..errors import LacunaWarning
from ._matrix import column, entries, is_operator, limited, product_dtype, promoted, square, unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

_BROKE_DOWN = -10  # SciPy's code of BiCGSTAB


def _preconditioner(who, M, shape):
    """M, which is near the inverse of A, as an option of Solver: a function, or a name that Lacuna has."""
    if M is None or isinstance(M, str):
        return M or "identity"
    M = aslinearoperator(M)
    if M.shape != shape:
        raise ValueError(f"{who}: matrix and preconditioner have different shapes, {shape} and {M.shape}")

    def apply(x, op):  # x is one vector in more dimensions, and M's function may be one of vectors alone
        times = {"N": M.matvec, "H": M.rmatvec}[op]
        return times(x.reshape(-1)).reshape(x.shape).astype(x.dtype, copy=False)

    return apply


def _of_products(method, A, b, x0, options):
    """(x, report) for a LinearOperator."""
    dtype = product_dtype(A, b)

    def product(x, op):
        return {"N": A.matvec, "H": A.rmatvec}[op](x).reshape(x.shape).astype(dtype, copy=False)

    if options.get("preconditioner") == "identity":
        del options["preconditioner"]
    x0 = None if x0 is None else np.asarray(x0, dtype).reshape(b.shape)
    return iterate_products(product, b.astype(dtype), x0, method, **options)


def _of_matrix(method, A, b, x0, options):
    """(x, report) for a matrix."""
    A, b = promoted(A, b)
    pattern, values = entries(A)
    return pattern.solver(method=method, **options).factor(values).iterate(
        b, None if x0 is None else np.asarray(x0, b.dtype)
    )


def _of_scipy(method, A, b, x0, M, progress, **options):
    """(x, info) of SciPy's own method, whose callback gets the iterate; Lacuna's stays in C."""
    if progress is not None or isinstance(M, str):
        raise ValueError(f"{method}: with callback SciPy's own {method} runs, which takes neither progress nor the "
                         "name of a preconditioner; leave out callback, or both of them")  # fmt: skip
    warnings.warn(
        f"{method}: SciPy's own {method} runs, because callback gets the iterate; give progress=, a function of "
        "(iteration, relative residual), for Lacuna's", LacunaWarning, stacklevel=3,
    )  # fmt: skip
    return getattr(linalg, method)(A, b, x0, M=M, **options)


def _solved(method, A, b, x0, rtol, atol, maxiter, M, progress, **more):
    """(x, info) of a method."""
    solve = _of_products if is_operator(A) else _of_matrix
    A = A if is_operator(A) else square(method, A)
    n = A.shape[0]
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{method}: expected square matrix, but got shape={A.shape}")
    b = column(method, "b", b, A.shape, n)
    options = {"rtol": max(rtol, np.finfo(float).tiny), "atol": atol, "accept_unconverged": True, **more}
    options.update(limited(10 * n if maxiter is None else maxiter, progress))
    options.update(preconditioner=_preconditioner(method, M, A.shape))
    if x0 is not None:
        x0 = column(method, "x0", x0, A.shape, n)
    x, report = solve(method, A, b, x0, options)
    return x, _info(report)


def _info(report):
    """SciPy's code: 0, the iterations of a solve that did not converge, or that the method broke down."""
    if report["ending"] == "converged":
        return 0
    return _BROKE_DOWN if report["ending"] == "broke_down" else max(int(report["iterations"]), 1)


def cg(
    A: Any, b: ArrayLike, x0: ArrayLike | None = None, *, rtol: float = 1e-5, atol: float = 0.0,
    maxiter: int | None = None, M: Any = None, callback: Callable[[Any], Any] | None = None, progress: Any = None,
) -> tuple[NDArray[Any], int]:  # fmt: skip
    """(x, info) by conjugate gradients, as scipy.sparse.linalg.cg: A Hermitian and positive definite.

    A and M may be matrices or LinearOperators. M may also be the name of a preconditioner of Lacuna, "multigrid" or
    "auto" for one. progress is True, for a bar, or a function of (iteration, relative residual), which ends the solve
    where its result is true. With callback, which gets the iterate, it is SciPy's own function, with a LacunaWarning.

    >>> A = scipy.sparse.csr_array([[2.0, -1.0], [-1.0, 2.0]])
    >>> x, info = lacuna.scipy.cg(A, np.array([1.0, 1.0]), rtol=1e-12)
    >>> x.round(6), info
    (array([1., 1.]), 0)
    """
    if callback is not None:
        return _of_scipy("cg", A, b, x0, M, progress, rtol=rtol, atol=atol, maxiter=maxiter, callback=callback)
    return _solved("cg", A, b, x0, rtol, atol, maxiter, M, progress)


def bicgstab(
    A: Any, b: ArrayLike, x0: ArrayLike | None = None, *, rtol: float = 1e-5, atol: float = 0.0,
    maxiter: int | None = None, M: Any = None, callback: Callable[[Any], Any] | None = None, progress: Any = None,
) -> tuple[NDArray[Any], int]:  # fmt: skip
    """(x, info) by BiCGSTAB, as scipy.sparse.linalg.bicgstab; info is -10 where the method breaks down. See cg.

    >>> A = scipy.sparse.csr_array([[2.0, -1.0], [0.0, 2.0]])
    >>> x, info = lacuna.scipy.bicgstab(A, np.array([1.0, 2.0]), rtol=1e-12)
    >>> x.round(6), info
    (array([1., 1.]), 0)
    """
    if callback is not None:
        return _of_scipy("bicgstab", A, b, x0, M, progress, rtol=rtol, atol=atol, maxiter=maxiter, callback=callback)
    return _solved("bicgstab", A, b, x0, rtol, atol, maxiter, M, progress)


def gmres(
    A: Any, b: ArrayLike, x0: ArrayLike | None = None, *, rtol: float = 1e-5, atol: float = 0.0,
    restart: int | None = None, maxiter: int | None = None, M: Any = None,
    callback: Callable[[Any], Any] | None = None, callback_type: str | None = None, progress: Any = None,
) -> tuple[NDArray[Any], int]:  # fmt: skip
    """(x, info) by restarted GMRES, as scipy.sparse.linalg.gmres: maxiter counts cycles of `restart` iterations.

    callback gets the relative residual, or with callback_type="x" the iterate, by SciPy's own function. See cg.

    >>> A = scipy.sparse.csr_array([[2.0, -1.0], [0.0, 2.0]])
    >>> x, info = lacuna.scipy.gmres(A, np.array([1.0, 2.0]), rtol=1e-12)
    >>> x.round(6), info
    (array([1., 1.]), 0)
    """
    if callback_type not in (None, "x", "pr_norm", "legacy"):
        raise ValueError(f"Unknown callback_type: {callback_type!r}")
    if callback is not None and callback_type == "x":
        given = {"rtol": rtol, "atol": atol, "restart": restart, "maxiter": maxiter}
        return _of_scipy("gmres", A, b, x0, M, progress, callback=callback, callback_type="x", **given)
    if callback is not None and progress is not None:
        raise ValueError("gmres: callback and progress are both called with the residual; leave out one of them")
    if callback is not None:
        progress = lambda _, residual: callback(residual) and False  # noqa: E731
    n = A.shape[0]
    restart = min(20 if restart is None else restart, max(n, 1))
    inner = restart * (10 * n if maxiter is None else maxiter)
    return _solved("gmres", A, b, x0, rtol, atol, inner, M, progress, restart=restart)


def minres(
    A: Any, b: ArrayLike, x0: ArrayLike | None = None, *, rtol: float = 1e-5, shift: float = 0.0,
    maxiter: int | None = None, M: Any = None, callback: Callable[[Any], Any] | None = None, show: bool = False,
    check: bool = False, progress: Any = None,
) -> tuple[NDArray[Any], int]:  # fmt: skip
    """(x, info) by MINRES, as scipy.sparse.linalg.minres: A Hermitian, of A - shift I. The residual alone decides when
    it ends; show and check are refused. See cg.

    >>> A = scipy.sparse.csr_array([[2.0, 1.0], [1.0, -1.0]])
    >>> x, info = lacuna.scipy.minres(A, np.array([3.0, 0.0]), rtol=1e-12)
    >>> x.round(6), info
    (array([1., 1.]), 0)
    """
    if callback is not None:
        given = {"rtol": rtol, "shift": shift, "maxiter": maxiter, "show": show, "check": check}
        return _of_scipy("minres", A, b, x0, M, progress, callback=callback, **given)
    unsupported("minres", {"show": show, "check": check}, {"show": False, "check": False})
    if shift:
        identity = sparse.dia_array((np.ones((1, A.shape[0])), [0]), shape=A.shape)
        A = A - shift * (aslinearoperator(identity) if is_operator(A) else identity)
    maxiter = 5 * A.shape[0] if maxiter is None else maxiter
    return _solved("minres", A, b, x0, rtol, 0.0, maxiter, M, progress)
