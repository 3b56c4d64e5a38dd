# SPDX-License-Identifier: Apache-2.0
"""torch_sla.solve: one function for whatever holds a matrix, and bundles of its options."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import lacuna.torch as lt
from lacuna.errors import ArgumentError
from lacuna.torch import SolveInfo  # noqa: F401

from .._later import later
from .._scoped import Scoped
from .._words import BACKENDS, DIRECT, HERMITIAN, ITERATIVE, LEAST_SQUARES, METHODS, PRECONDITIONERS, iteration, word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from .sparse_tensor import SparseTensor

MatrixLike = Any
# what is known of a matrix -> the iteration that fits it; None: its values say which one
_FITTING = {"auto": None, "spd": "cg", "hpd": "cg", "symmetric": "minres", "hermitian": "minres", "general": "bicgstab"}
_COARSENINGS = {"classical": "pairwise", "smoothed_aggregation": "smoothed"}


@dataclasses.dataclass(frozen=True)
class PreconditionerConfig:
    """A preconditioner with its numbers, all of which are used. amg_smoother is one for all hierarchies here."""

    kind: str = "jacobi"
    omega: float = 1.0
    block_size: int = 32
    amg_strength: float = 0.25
    amg_smoother: str = "gauss_seidel"
    amg_coarsening: str = "classical"

    @classmethod
    def from_string(cls, kind: str) -> PreconditionerConfig:
        return cls(kind)

    def options(self) -> dict[str, Any]:
        """As options of lacuna.Solver."""
        found = {"preconditioner": word("solve: preconditioner", self.kind, PRECONDITIONERS)}
        if found["preconditioner"] == "multigrid":
            coarsening = word("solve: amg_coarsening", self.amg_coarsening, _COARSENINGS)
            return {**found, "strength": self.amg_strength, "multigrid": coarsening}
        own = {"ssor": {"omega": self.omega}, "block_jacobi": {"block": self.block_size}}
        return {**found, **own.get(found["preconditioner"], {})}


@dataclasses.dataclass(frozen=True)
class SolverConfig(Scoped):
    """Options of solve, A.solve and spsolve that hold within a `with` block or a decorated function."""

    method: str | None = None
    backend: str | None = None
    preconditioner: Any = None
    atol: float | None = None
    rtol: float | None = None
    maxiter: int | None = None
    restart: int | None = None
    x0: Any = None
    matrix_type: str | None = None
    mixed_precision: bool | None = None
    return_info: bool | None = None
    verbose: bool | None = None
    damp: float | None = None

    @staticmethod
    def spd() -> SolverConfig:
        """For symmetric positive definite matrices."""
        return SolverConfig(matrix_type="spd")

    @staticmethod
    def general() -> SolverConfig:
        """For matrices of which nothing is known."""
        return SolverConfig(matrix_type="general")

    @staticmethod
    def indefinite() -> SolverConfig:
        """For symmetric matrices that are not definite."""
        return SolverConfig(matrix_type="symmetric")

    @staticmethod
    def convection_diffusion() -> SolverConfig:
        """For nonsymmetric matrices of transport: GMRES where it iterates."""
        return SolverConfig(matrix_type="general", method="gmres", preconditioner="ilu0")

    @staticmethod
    def auto(A: SparseTensor, *, device: Any = None, size_hint: Any = None) -> SolverConfig:
        """For this matrix: what its values say."""
        return SolverConfig(matrix_type=A.detect_matrix_type())

    def gpu(self) -> SolverConfig:
        """The same: it is computed where the tensors lie."""
        return self

    cpu = gpu

    def direct(self) -> SolverConfig:
        """By a factorisation that fits the kind of matrix."""
        fitting = {"spd": "cholesky", "hpd": "cholesky", "symmetric": "ldlt", "auto": "direct"}
        method = fitting.get(self.matrix_type, "lu")
        return self.replace(method=method, preconditioner=None)

    def iterative(self) -> SolverConfig:
        """By an iteration that fits the kind of matrix."""
        fitting = word("SolverConfig.iterative: matrix_type", self.matrix_type or "general", _FITTING)
        if fitting is None and self.method not in ITERATIVE:
            return self.replace(method=None, backend="pytorch")
        return self.replace(method=self.method if self.method in ITERATIVE else fitting)

    def high_accuracy(self, *, atol: float = 1e-12, rtol: float = 1e-10, maxiter: int = 5000) -> SolverConfig:
        """The same to smaller residuals."""
        return self.replace(atol=atol, rtol=rtol, maxiter=maxiter)


def _method(backend, method, matrix_type):
    """Options of the method that the words name. Of an iteration without a name, matrix_type says which one; where
    nobody says it, the values do: a preconditioner makes Lacuna's own choice iterate by what it finds in them."""
    asked = word("solve: backend", backend, BACKENDS)
    named = word("solve: method", method, METHODS)
    fitting = word("solve: matrix_type", matrix_type or "auto", _FITTING)
    if method != "auto" or asked != "iterative":
        return dict(named if method != "auto" else METHODS[asked])
    return {"preconditioner": "jacobi"} if fitting is None else {"method": fitting}


def _preconditioner(given):
    if isinstance(given, PreconditionerConfig):
        return given.options()
    if isinstance(given, str):
        return {"preconditioner": word("solve: preconditioner", given, PRECONDITIONERS)}
    return {"preconditioner": given}


def native(
    backend: str = "auto", method: str = "auto", matrix_type: str | None = None, preconditioner: Any = None,
    **numbers: Any,
) -> dict[str, Any]:  # fmt: skip
    """Options of SparseTensor.solve for words of the peer. Those that do not act on the method are errors, but for
    bounds, which a direct method keeps. An absolute tolerance that is not given is none, so that a small right-hand
    side is solved as well as a large one."""
    found = _method(backend, method, matrix_type)
    if preconditioner is not None:
        found.update(_preconditioner(preconditioner))
        if found["preconditioner"] in HERMITIAN:
            _fit(found)
    return {**found, **iteration("solve", found.get("method"), **numbers)}


def _fit(found):
    """A preconditioner that is not Hermitian and a method, each for the other: cg and minres have its Hermitian form,
    and where none is named it is a method that takes both."""
    if found.setdefault("method", "gmres") in ("cg", "minres"):
        found["preconditioner"] = HERMITIAN[found["preconditioner"]]


def solved(
    A: SparseTensor, b: Tensor, x0: Tensor | None = None, return_info: bool = False, verbose: bool = False,
    mixed_precision: bool = False, damp: float | None = None, **words: Any,
) -> Any:  # fmt: skip
    """A.solve of a SparseTensor in the peer's words; mixed_precision is what multigrid does anyway. damp is of lsqr and
    lsmr: x minimises |A x - b|^2 + |damp x|^2."""
    options = native(**words)
    if verbose and options.get("method") not in DIRECT:
        options["progress"] = _said
    _refuse_damp(damp, options)
    if options.get("method") in LEAST_SQUARES and (damp or not A.is_square):
        return _least_squares(A, b, options, x0, return_info, damp)
    start = None if options.get("method") in DIRECT else x0
    made = lt.SparseTensor.solve(A, b, x0=start, return_info=return_info, **options)
    if return_info:
        made[1].backend = "lacuna"
    return made


def _said(iteration, residual):
    """A line for each look at the residual; it goes on."""
    print(f"iteration {iteration}: residual {residual:.3e}")
    return False


def _least_squares(A, b, options, x0, return_info, damp):
    """By LSQR or LSMR, with the whole gradient."""
    _refuse("a matrix that is not square", x0=x0, return_info=return_info)
    pattern = A.flatten_blocks().pattern
    return A.lstsq(b, damp or None, method=(pattern.damped() if damp else pattern).solver(**options))


def _refuse_damp(damp, options):
    if damp and options.get("method") not in LEAST_SQUARES:
        raise ArgumentError('solve: damp acts on method="lsqr" and method="lsmr"; name one of them, or leave it out')


def _refuse(what, **options):
    for name, value in options.items():
        if value is not None and value is not False:
            later(f"solve({name}=...) of {what}", "it")()


def _called(A, b, shape, x0=None, return_info=None, verbose=False, mixed_precision=False, damp=None, method="auto",
            matrix_type=None, **words):  # fmt: skip
    """A function's system, by iteration; by least squares where its shape is not square."""
    rows, columns = (b.shape[0], b.shape[0]) if shape is None else tuple(shape)
    if rows != b.shape[0]:
        raise ArgumentError(f"solve: shape is {tuple(shape)}, and b has {b.shape[0]} rows")
    _refuse("a function", damp=damp or None)
    fitting = word("solve: matrix_type", matrix_type or "auto", _FITTING) or "gmres"
    options = native(method=method if method != "auto" else fitting if rows == columns else "lsmr", **words)
    if verbose:
        options["progress"] = _said
    made = lt.solve_operator(A, (), b, x0=x0, shape=(columns, *b.shape[1:]), return_info=bool(return_info), **options)
    if return_info:
        made[1].backend = "lacuna"
    return made


def solve(
    A: MatrixLike, b: Tensor, *, shape: Sequence[int] | None = None, method: str | None = None,
    backend: str | None = None, preconditioner: Any = None, atol: float | None = None, rtol: float | None = None,
    maxiter: int | None = None, x0: Tensor | None = None, matrix_type: str | None = None,
    mixed_precision: bool | None = None, return_info: bool | None = None, verbose: bool | None = None,
    restart: int | None = None,
) -> Any:  # fmt: skip
    """x with A x = b, A a SparseTensor (batched too), (values, rows, columns, shape), a SciPy matrix, a torch tensor of
    any layout, or a function of x. Options that are not given come from SolverConfig scopes; all are used."""
    from .sparse_tensor import SparseTensor

    given = dict(method=method, backend=backend, preconditioner=preconditioner, atol=atol, rtol=rtol, maxiter=maxiter,
                 x0=x0, matrix_type=matrix_type, mixed_precision=mixed_precision, return_info=return_info,
                 verbose=verbose, restart=restart)  # fmt: skip
    words = SolverConfig.merged(given)
    if callable(A) and not isinstance(A, lt.SparseTensor):
        return _called(A, b, shape, **words)
    return solved(SparseTensor.of(A, "solve"), b, **words)
