# SPDX-License-Identifier: Apache-2.0
"""Made by scripts/check-stubs --write from the tables of C."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, overload

import torch

from ..format import Format
from ..matrix import Matrix
from ..pattern import Map, Pattern
from ..solver import Factor, Solver
from .sparse import SparseTensor

_Form = Literal["N", "T", "H", "plain", "transposed", "conjugated", "adjoint"]

class _Matrix(Protocol):
    """A matrix of SciPy."""

    def tocoo(self) -> Any: ...

def abs(x: torch.Tensor) -> torch.Tensor:
    """|x|, of a real dtype; its gradient x / |x| is 0 at 0."""

def add(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """x + y."""

def apply(
    op: str,
    *arguments: Any,
    ints: Sequence[int] = (),
    floats: Sequence[float] = (),
    shape: Sequence[int] = (),
    dtype: torch.dtype | None = None,
) -> Any:
    """Any operator by its name: patterns and objects first, then arrays; the keywords are its attributes."""

def banded_gemm(
    bands_of_x: tuple[int, int],
    x: torch.Tensor,
    bands_of_y: tuple[int, int],
    y: torch.Tensor,
    target: tuple[int, int] | None = None,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> torch.Tensor:
    """op(X) op(Y) of two square banded matrices on the band `target`, which by default holds all of it."""

def banded_mm(
    lower_and_upper: tuple[int, int],
    ab: torch.Tensor,
    x: torch.Tensor,
    rows: int | None = None,
    op: _Form = "N",
) -> torch.Tensor:
    """y = op(A) x for a banded A stored as SciPy stores it, ab[upper + i - j, j] = A[i, j]; square unless `rows`
    says."""

def banded_outer(lower_and_upper: tuple[int, int], u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The band of u v^H: u (rows, k), v (cols, k), or vectors."""

def banded_solve(
    lower_and_upper: tuple[int, int],
    ab: torch.Tensor,
    b: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor:
    """x = op(A)^-1 b as scipy.linalg.solve_banded: (lower, upper), then the band, then b (n,) or (n, k)."""

def block_diag(patterns: Sequence[Pattern], arrays: Sequence[torch.Tensor]) -> torch.Tensor:
    """The values on the first of Pattern.block_diag(patterns): one matrix's behind the other's."""

def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """x in another dtype, itself where that is its own. Complex to real is refused: say real, imag or abs."""

@overload
def cholesky(
    pattern: Pattern,
    a: torch.Tensor,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> torch.Tensor:
    """L of H[order][:, order] = L L^H, H = (A + A^H) / 2, on F.tril()[0] of F = pattern.fill(ordering)[0]. A matrix
    that is not positive definite is an error that names the row."""

@overload
def cholesky(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> torch.Tensor: ...

def circulant_mm(c: torch.Tensor, x: torch.Tensor, op: _Form = "N") -> torch.Tensor:
    """y = op(C) x with C[i, j] = c[(i - j) mod n], in O(n log n)."""

def circulant_outer(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """s[d] = sum_i sum_k u[i, k] conj(v[(i - d) mod n, k])."""

def circulant_solve(c: torch.Tensor, b: torch.Tensor, op: _Form = "N") -> torch.Tensor:
    """x = op(C)^-1 b, as scipy.linalg.solve_circulant."""

def clamp(x: torch.Tensor, low: float | None = None, high: float | None = None) -> torch.Tensor:
    """x moved into [low, high]; the derivative is 1 inside it and 0 on its bounds."""

@overload
def col_sum(pattern: Pattern, a: torch.Tensor) -> torch.Tensor:
    """The sum of each column: (nnz) -> (cols)."""

@overload
def col_sum(pattern: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

def compare(
    x: torch.Tensor | float,
    y: torch.Tensor | float,
    relation: Literal["eq", "ne", "lt", "le", "gt", "ge"],
) -> torch.Tensor:
    """1 where x and y stand in the relation, else 0, in their dtype."""

def concat(arrays: Sequence[torch.Tensor], dim: int = 0) -> torch.Tensor:
    """Arrays behind each other along an axis; axes before it broadcast."""

def conj(x: torch.Tensor) -> torch.Tensor:
    """conj(x)."""

def cos(x: torch.Tensor) -> torch.Tensor:
    """The cosine."""

def cumsum(x: torch.Tensor, dim: int = -1, backwards: bool = False) -> torch.Tensor:
    """Running sums along an axis, from its first place on, or from its last."""

@overload
def det(solver: Pattern | Solver | Factor, a: torch.Tensor) -> torch.Tensor:
    """det A. It overflows and underflows where the number does: slogdet does not."""

@overload
def det(solver: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

def diag_mm(d: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """diag(d) x."""

def diag_solve(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """diag(d)^-1 b; a zero is an error that names it."""

@overload
def diagonal(pattern: Pattern, a: torch.Tensor) -> torch.Tensor:
    """The diagonal, 0 where it is not stored: (nnz) -> (min(rows, cols))."""

@overload
def diagonal(pattern: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

def div(x: torch.Tensor | float, y: torch.Tensor | float, zeros: Literal["plain", "zero"] = "plain") -> torch.Tensor:
    """x / y; zeros="zero": exactly 0, with all derivatives, where y is 0."""

def div_or_zero(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """x / y, and exactly 0, with all derivatives, where y is 0."""

def dot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The sum of conj(x) y over the last two axes, or of two vectors."""

def equal(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """1 where x = y, else 0."""

def exp(x: torch.Tensor) -> torch.Tensor:
    """e^x."""

def expm1(x: torch.Tensor) -> torch.Tensor:
    """e^x - 1, exact for small x, of reals."""

def gather(index: Map | torch.Tensor | Sequence[int], x: torch.Tensor) -> torch.Tensor:
    """y[i] = x[index[i]] for the rows of x (..., n, k) or the numbers of a vector; 0 where the index is -1."""

def gather_mm(a: torch.Tensor, b: torch.Tensor, idx_b: Map | torch.Tensor | Sequence[int]) -> torch.Tensor:
    """out[i] = a[i] @ b[idx_b[i]]: a (n, d), b (r, d, e); idx_b are integers, or a Map of them, made once."""

def gather_outer(map: Map, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """w[j] = sum of conj(u[i])^T v[i] over the rows i that name j."""

def greater(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """1 where x > y, else 0."""

def greater_equal(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """1 where x >= y, else 0."""

@overload
def hadamard(pa: Pattern, a: torch.Tensor, pb: Pattern, b: torch.Tensor) -> torch.Tensor:
    """The values of A .* B on the first of pa.intersection(pb)."""

@overload
def hadamard(pa: SparseTensor | torch.Tensor | Matrix | _Matrix, pb: Pattern, b: torch.Tensor) -> torch.Tensor: ...

@overload
def hadamard(pa: Pattern, a: torch.Tensor, pb: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

@overload
def hadamard(
    pa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
) -> torch.Tensor: ...

def heaviside(x: torch.Tensor) -> torch.Tensor:
    """1 where x > 0, else 0, of reals; its derivative is zero."""

@overload
def ic0(pattern: Pattern, a: torch.Tensor) -> torch.Tensor:
    """L with L L^H = (A + A^H) / 2 where A has entries, on its lower triangle (and that of A^H where A is not symmetric
    in structure)."""

@overload
def ic0(pattern: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

@overload
def ilu0(pattern: Pattern, a: torch.Tensor) -> torch.Tensor:
    """(L, U) with L U = A where A has entries: L on pattern.tril()[0], its ones stored, U on pattern.triu()[0]."""

@overload
def ilu0(pattern: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

def imag(x: torch.Tensor) -> torch.Tensor:
    """The imaginary part, of a real dtype."""

@overload
def inverse_diagonal(solver: Pattern | Solver, a: torch.Tensor) -> torch.Tensor:
    """The diagonal of A^-1: (nnz) -> (n)."""

@overload
def inverse_diagonal(solver: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

@overload
def inverse_on(
    solver: Pattern | Solver,
    a: torch.Tensor,
    target: Pattern | SparseTensor | torch.Tensor | Matrix | _Matrix,
) -> torch.Tensor:
    """A^-1 where the target pattern has entries, in its slots. Entries that A^T lacks widen what is factored."""

@overload
def inverse_on(
    solver: SparseTensor | torch.Tensor | Matrix | _Matrix,
    target: Pattern | SparseTensor | torch.Tensor | Matrix | _Matrix,
) -> torch.Tensor: ...

@overload
def inverse_quadratic_form(
    solver: Pattern | Solver | Factor,
    a: torch.Tensor,
    x: torch.Tensor,
    y: torch.Tensor | None = None,
) -> torch.Tensor:
    """x^H A^-1 y of each column, y = x unless given: x (n, k), y (n, k), result (k); of vectors one number."""

@overload
def inverse_quadratic_form(
    solver: SparseTensor | torch.Tensor | Matrix | _Matrix,
    x: torch.Tensor,
    y: torch.Tensor | None = None,
) -> torch.Tensor: ...

@overload
def kron(pa: Pattern, a: torch.Tensor, pb: Pattern, b: torch.Tensor) -> torch.Tensor:
    """The values of the Kronecker product on the first of pa.kron(pb)."""

@overload
def kron(pa: SparseTensor | torch.Tensor | Matrix | _Matrix, pb: Pattern, b: torch.Tensor) -> torch.Tensor: ...

@overload
def kron(pa: Pattern, a: torch.Tensor, pb: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

@overload
def kron(
    pa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
) -> torch.Tensor: ...

@overload
def kron_mm(
    pa: Pattern,
    a: torch.Tensor,
    pb: Pattern,
    b: torch.Tensor,
    x: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor:
    """y = op(A (x) B) x, the Kronecker product never formed: rows of A outside, rows of B inside."""

@overload
def kron_mm(
    pa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: Pattern,
    b: torch.Tensor,
    x: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def kron_mm(
    pa: Pattern,
    a: torch.Tensor,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
    x: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def kron_mm(
    pa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
    x: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def kron_solve(
    sa: Pattern | Solver | Factor,
    a: torch.Tensor,
    sb: Pattern | Solver | Factor,
    b: torch.Tensor,
    y: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor:
    """x = op(A (x) B)^-1 y by a pattern, solver or factor of A and one of B."""

@overload
def kron_solve(
    sa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    sb: Pattern | Solver | Factor,
    b: torch.Tensor,
    y: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def kron_solve(
    sa: Pattern | Solver | Factor,
    a: torch.Tensor,
    sb: SparseTensor | torch.Tensor | Matrix | _Matrix,
    y: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def kron_solve(
    sa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    sb: SparseTensor | torch.Tensor | Matrix | _Matrix,
    y: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def kronsum_mm(
    pa: Pattern,
    a: torch.Tensor,
    pb: Pattern,
    b: torch.Tensor,
    x: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor:
    """y = op(A (x) I + I (x) B) x for square A and B."""

@overload
def kronsum_mm(
    pa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: Pattern,
    b: torch.Tensor,
    x: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def kronsum_mm(
    pa: Pattern,
    a: torch.Tensor,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
    x: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def kronsum_mm(
    pa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
    x: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def ldlt(
    pattern: Pattern,
    a: torch.Tensor,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> tuple[torch.Tensor, torch.Tensor]:
    """(L, D) of H[order][:, order] = L D L^H without pivoting, H = (A + A^H) / 2; L on F.tril()[0] of F =
    pattern.fill(ordering)[0], its ones stored; D (n), real."""

@overload
def ldlt(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> tuple[torch.Tensor, torch.Tensor]: ...

def less(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """1 where x < y, else 0."""

def less_equal(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """1 where x <= y, else 0."""

def log(x: torch.Tensor) -> torch.Tensor:
    """The natural logarithm."""

def log1p(x: torch.Tensor) -> torch.Tensor:
    """log(1 + x), exact for small x, of reals."""

def log_softmax(x: torch.Tensor, dim: int | Sequence[int] | None = -1) -> torch.Tensor:
    """log(softmax(x)) = y - logsumexp(y) for y = x - max(x), which loses no digits however large x is."""

@overload
def logdet(solver: Pattern | Solver | Factor, a: torch.Tensor) -> torch.Tensor:
    """log|det A|; of a complex matrix log|det A| + i arg(det A), the principal branch."""

@overload
def logdet(solver: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

@overload
def logdet_estimate(
    solver: Pattern | Solver,
    a: torch.Tensor,
    probes: torch.Tensor | int = 20,
    steps: int = 0,
    seed: int = 0,
) -> torch.Tensor:
    """(estimate, error) of log det of the Hermitian part of A, positive definite, by Lanczos quadrature: `steps` from
    each probe, 50 by default. Both are real; the error is that of chance alone, and NaN of one probe. The gradient is
    an unbiased estimate of that of log det A, (A^-1 z) z^H with the same probes, and not the derivative of the
    estimate: with random probes gradcheck finds the two apart. Higher orders are derivatives of the gradient."""

@overload
def logdet_estimate(
    solver: SparseTensor | torch.Tensor | Matrix | _Matrix,
    probes: torch.Tensor | int = 20,
    steps: int = 0,
    seed: int = 0,
) -> torch.Tensor: ...

def logsumexp(x: torch.Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> torch.Tensor:
    """log(sum(exp(x))) over the given axes, of reals, without overflow; all -inf gives -inf, with a gradient of
    zero."""

@overload
def lstsq(
    pattern: Pattern,
    a: torch.Tensor,
    b: torch.Tensor,
    damp: torch.Tensor | float | None = None,
    solver: Solver | Literal["lsmr", "lsqr"] | None = None,
    residual: bool = False,
) -> Any:
    """x that minimises |A x - b|^2 + |damp x|^2, and of all such x, where A is wide, is the shortest."""

@overload
def lstsq(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    b: torch.Tensor,
    damp: torch.Tensor | float | None = None,
    solver: Solver | Literal["lsmr", "lsqr"] | None = None,
    residual: bool = False,
) -> Any: ...

@overload
def lu(
    pattern: Pattern,
    a: torch.Tensor,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> torch.Tensor:
    """(L, U) of A[order][:, order] = L U without pivoting, on the triangles of F = pattern.fill(ordering)[0]: L on
    F.tril()[0], its ones stored, U on F.triu()[0]."""

@overload
def lu(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> torch.Tensor: ...

@overload
def lu_values(
    pattern: Pattern,
    c: torch.Tensor,
    steps: Map | None = None,
    pivots: Literal["nonzero", "positive"] = "nonzero",
) -> torch.Tensor:
    """L and U of C = L U without pivoting, L below the diagonal and U on and above."""

@overload
def lu_values(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    steps: Map | None = None,
    pivots: Literal["nonzero", "positive"] = "nonzero",
) -> torch.Tensor: ...

@overload
def lu_values_adjoint(pattern: Pattern, c: torch.Tensor, lu_bar: torch.Tensor) -> torch.Tensor:
    """The gradient in c of lu_values, given that of its result."""

@overload
def lu_values_adjoint(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    lu_bar: torch.Tensor,
) -> torch.Tensor: ...

def magnitude(x: torch.Tensor) -> torch.Tensor:
    """The power of two at or below |x|, of a real dtype; its derivative is zero."""

def matmul(x: torch.Tensor, y: torch.Tensor, op_x: _Form = "N", op_y: _Form = "N") -> torch.Tensor:
    """op(X) op(Y), dense: "N", "T" (transpose), "conjugated" or "H" (both) for each."""

@overload
def matrix_norm(
    pattern: Pattern,
    a: torch.Tensor,
    ord: Literal["fro", 1, "inf", 2] | float = "fro",
    tolerance: float = 0,
    steps: int = 0,
) -> torch.Tensor:
    """The norm of a matrix: "fro", 1, inf, or 2: the largest singular value, to a relative residual in so many steps
    (0: the defaults), else a ConvergenceError. Norm 2 can be differentiated once."""

@overload
def matrix_norm(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    ord: Literal["fro", 1, "inf", 2] | float = "fro",
    tolerance: float = 0,
    steps: int = 0,
) -> torch.Tensor: ...

def max(x: torch.Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> torch.Tensor:
    """The largest number over the given axes, of reals; ties share the gradient evenly, NaN is handed on."""

def mean(x: torch.Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> torch.Tensor:
    """The mean over the given axes, all by default; NaN of no numbers."""

def min(x: torch.Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> torch.Tensor:
    """The smallest number over the given axes, of reals; ties share the gradient evenly, NaN is handed on."""

@overload
def mirror(
    pattern: Pattern,
    a: torch.Tensor,
    triangle: Literal["lower", "upper"] = "lower",
    op: _Form = "H",
) -> torch.Tensor:
    """The values of T + op(T without its diagonal), T one triangle of the matrix, on the first of
    pattern.mirror(triangle): op "H" for Hermitian matrices, "T" for symmetric ones."""

@overload
def mirror(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    triangle: Literal["lower", "upper"] = "lower",
    op: _Form = "H",
) -> torch.Tensor: ...

def mul(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """x y, number by number."""

def neg(x: torch.Tensor) -> torch.Tensor:
    """-x."""

def norm(
    x: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    ord: Literal[2, 1, "inf"] | float = 2,
) -> torch.Tensor:
    """The vector norm over the given axes, all by default, of order 1, 2 or inf: real, its gradient at zero is zero."""

def not_equal(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """1 where x and y differ, else 0."""

def pow(x: torch.Tensor, y: torch.Tensor | float) -> torch.Tensor:
    """x^y. A y that is a number is frozen: there is no derivative in it, and no logarithm is taken."""

def probes(like: torch.Tensor, rows: int, count: int, seed: int = 0) -> torch.Tensor:
    """Signs at random in the dtype, and on the device, of the array `like`: the same for the same seed, and more
    columns leave the first ones as they are."""

def prod(x: torch.Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> torch.Tensor:
    """The product over the given axes, all by default, pair by pair: exact with zeros; 1 of no numbers."""

@overload
def quadratic_form(pattern: Pattern, a: torch.Tensor, x: torch.Tensor, y: torch.Tensor | None = None) -> torch.Tensor:
    """x^H A y of each column, y = x unless given: x (m, k), y (n, k), result (k); of vectors one number."""

@overload
def quadratic_form(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    x: torch.Tensor,
    y: torch.Tensor | None = None,
) -> torch.Tensor: ...

def real(x: torch.Tensor) -> torch.Tensor:
    """The real part."""

def reciprocal(x: torch.Tensor) -> torch.Tensor:
    """1 / x."""

def relu(x: torch.Tensor) -> torch.Tensor:
    """max(x, 0), of reals; derivative 0 at 0."""

def remap(map: Map, x: torch.Tensor, op: _Form = "N", axes: int = 0) -> torch.Tensor:
    """y = M x or, with op "T", M^T x on the last axis; `axes` more stand behind each entry."""

def reshape(x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """As many numbers, other shape."""

@overload
def row_sum(pattern: Pattern, a: torch.Tensor) -> torch.Tensor:
    """The sum of each row: (nnz) -> (rows)."""

@overload
def row_sum(pattern: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

@overload
def sampled_spgemm(
    target: Pattern | SparseTensor | torch.Tensor | Matrix | _Matrix,
    px: Pattern,
    x: torch.Tensor,
    py: Pattern,
    y: torch.Tensor,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> torch.Tensor:
    """t = op(X) op(Y) at the slots of `target` alone."""

@overload
def sampled_spgemm(
    target: Pattern | SparseTensor | torch.Tensor | Matrix | _Matrix,
    px: SparseTensor | torch.Tensor | Matrix | _Matrix,
    py: Pattern,
    y: torch.Tensor,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> torch.Tensor: ...

@overload
def sampled_spgemm(
    target: Pattern | SparseTensor | torch.Tensor | Matrix | _Matrix,
    px: Pattern,
    x: torch.Tensor,
    py: SparseTensor | torch.Tensor | Matrix | _Matrix,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> torch.Tensor: ...

@overload
def sampled_spgemm(
    target: Pattern | SparseTensor | torch.Tensor | Matrix | _Matrix,
    px: SparseTensor | torch.Tensor | Matrix | _Matrix,
    py: SparseTensor | torch.Tensor | Matrix | _Matrix,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> torch.Tensor: ...

def scale(factor: float, x: torch.Tensor) -> torch.Tensor:
    """factor * x, a frozen number: there is no derivative in it, and compiled code takes any value."""

@overload
def scale_cols(pattern: Pattern, a: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    """The values of A diag(d)."""

@overload
def scale_cols(pattern: SparseTensor | torch.Tensor | Matrix | _Matrix, d: torch.Tensor) -> torch.Tensor: ...

@overload
def scale_rows(pattern: Pattern, a: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    """The values of diag(d) A."""

@overload
def scale_rows(pattern: SparseTensor | torch.Tensor | Matrix | _Matrix, d: torch.Tensor) -> torch.Tensor: ...

def scatter_add(index: Map | torch.Tensor | Sequence[int], x: torch.Tensor, n: int | None = None) -> torch.Tensor:
    """y[index[i]] += x[i]: the adjoint of gather, in one order on any number of threads. Integers need n, the rows of
    y; a Map has them."""

def sddmm(
    pattern: Pattern | SparseTensor | torch.Tensor | Matrix | _Matrix,
    u: torch.Tensor,
    v: torch.Tensor,
) -> torch.Tensor:
    """s_z = sum_k u[row z, k] conj(v[col z, k]) for each slot z: u (rows, k), v (cols, k), s (nnz)."""

def segment_dot(map: Map, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The sum of u_i conj(v_i) of each group."""

def segment_logsumexp(map: Map, x: torch.Tensor, full: int = 0) -> torch.Tensor:
    """log of the sum of exp of each group; with `full`, groups have so many numbers, zeros where none is stored."""

def segment_max(
    map: Map,
    x: torch.Tensor,
    full: int = 0,
    extreme: Literal["largest", "smallest"] = "largest",
) -> torch.Tensor:
    """The largest of each group; ties share the gradient; `full` as in segment_logsumexp."""

def segment_mean(map: Map, x: torch.Tensor, axes: int = 0) -> torch.Tensor:
    """The mean of each group of a map; 0 for an empty one. `axes` more stand behind each entry, as in remap: 1 for rows
    of features."""

def segment_min(map: Map, x: torch.Tensor, full: int = 0) -> torch.Tensor:
    """The smallest of each group; ties share the gradient."""

def segment_mm(a: torch.Tensor, b: torch.Tensor, seglen_a: torch.Tensor | Sequence[int]) -> torch.Tensor:
    """The first seglen_a[0] rows of a times b[0], the next seglen_a[1] times b[1], ...: the lengths add up to n."""

def segment_scale(map: Map, d: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    """Each number of a group times that of the group."""

def segment_softmax(map: Map, x: torch.Tensor, full: int = 0) -> torch.Tensor:
    """The weights exp(x) / sum within each group; `full` as in segment_logsumexp."""

def segment_sum(map: Map, x: torch.Tensor) -> torch.Tensor:
    """The sum of each group of a map."""

def segment_ties(
    map: Map,
    x: torch.Tensor,
    full: int = 0,
    extreme: Literal["largest", "smallest"] = "largest",
) -> torch.Tensor:
    """The even share of each number that is the extreme of its group, 0 for the others; its derivative is zero."""

def select(c: torch.Tensor | bool, x: torch.Tensor, keep: Literal["nonzero", "zero"] = "nonzero") -> torch.Tensor:
    """x where c is not zero (keep="zero": where it is), exactly 0 elsewhere; no derivative in c."""

@overload
def selected_inverse(solver: Pattern | Solver | Factor, a: torch.Tensor) -> torch.Tensor:
    """A^-T where A has entries: in the slot of (i, j) stands (A^-1)(j, i). The gradient of log|det A|, conjugated."""

@overload
def selected_inverse(solver: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

def sell_mm(format: Format, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """y = A x with A in sliced ELL: a is remap(format.map, values), x (n, k) or (n,)."""

def sigmoid(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + e^-x)."""

def sign(x: torch.Tensor) -> torch.Tensor:
    """x / |x|, 0 at 0; so are its derivatives there."""

def sin(x: torch.Tensor) -> torch.Tensor:
    """The sine."""

def slice(x: torch.Tensor, dim: int, begin: int | None = None, end: int | None = None, step: int = 1) -> torch.Tensor:
    """x[begin:end:step] along an axis, with NumPy's meaning of negative and missing ends; the step is positive."""

@overload
def slogdet(solver: Pattern | Solver | Factor, a: torch.Tensor) -> torch.Tensor:
    """(sign, logabs) with det A = sign exp(logabs): sign is 1 or -1, of complex matrices the phase; logabs is real."""

@overload
def slogdet(solver: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

def softmax(x: torch.Tensor, dim: int | Sequence[int] | None = -1) -> torch.Tensor:
    """exp(x) / sum(exp(x)), the sum over the given axes, of reals; 0 where all are -inf."""

def softplus(x: torch.Tensor) -> torch.Tensor:
    """log(1 + e^x) without overflow, of reals."""

@overload
def solve(solver: Pattern | Solver | Factor, a: torch.Tensor, b: torch.Tensor, op: _Form = "N") -> torch.Tensor:
    """x = op(A)^-1 b, with a Pattern (solver with default options), a Solver, or a Factor of just these values."""

@overload
def solve(
    solver: SparseTensor | torch.Tensor | Matrix | _Matrix,
    b: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

@overload
def solve_from(
    solver: Pattern | Solver | Factor,
    a: torch.Tensor,
    b: torch.Tensor,
    x0: torch.Tensor | None = None,
    op: _Form = "N",
    reports: bool = False,
) -> torch.Tensor:
    """x = op(A)^-1 b, by an iteration from x0; with `reports` not to reach the tolerance is no error."""

@overload
def solve_from(
    solver: SparseTensor | torch.Tensor | Matrix | _Matrix,
    b: torch.Tensor,
    x0: torch.Tensor | None = None,
    op: _Form = "N",
    reports: bool = False,
) -> torch.Tensor: ...

@overload
def spadd(pa: Pattern, a: torch.Tensor, pb: Pattern, b: torch.Tensor) -> torch.Tensor:
    """The values of A + B on the first of pa.union(pb)."""

@overload
def spadd(pa: SparseTensor | torch.Tensor | Matrix | _Matrix, pb: Pattern, b: torch.Tensor) -> torch.Tensor: ...

@overload
def spadd(pa: Pattern, a: torch.Tensor, pb: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

@overload
def spadd(
    pa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
) -> torch.Tensor: ...

@overload
def sparse_bidir_logsumexp(
    pattern: Pattern,
    a: torch.Tensor,
    keepdim: bool = False,
    include_zeros: bool = True,
    output_layout: Literal["tuple", "padded"] = "tuple",
) -> torch.Tensor:
    """(over each column, over each row); output_layout "padded": (2, max(rows, cols)), the shorter ends with -inf."""

@overload
def sparse_bidir_logsumexp(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    keepdim: bool = False,
    include_zeros: bool = True,
    output_layout: Literal["tuple", "padded"] = "tuple",
) -> torch.Tensor: ...

@overload
def sparse_logsumexp(
    pattern: Pattern,
    a: torch.Tensor,
    dim: Literal[0, 1, -2, -1] | float,
    keepdim: bool = False,
    include_zeros: bool = True,
) -> torch.Tensor:
    """log of the sum of exp of each row (axis 1) or column (axis 0), the reduced dimension kept with size 1 if asked.
    include_zeros: absent entries are zeros, as in the dense matrix; else they are nothing, an empty line is -inf."""

@overload
def sparse_logsumexp(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    dim: Literal[0, 1, -2, -1] | float,
    keepdim: bool = False,
    include_zeros: bool = True,
) -> torch.Tensor: ...

@overload
def sparse_max(
    pattern: Pattern,
    a: torch.Tensor,
    dim: Literal[0, 1, -2, -1] | float,
    keepdim: bool = False,
    include_zeros: bool = True,
    extreme: Literal["largest", "smallest"] = "largest",
) -> torch.Tensor:
    """The largest number of each row (axis 1) or column (axis 0); ties share the gradient."""

@overload
def sparse_max(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    dim: Literal[0, 1, -2, -1] | float,
    keepdim: bool = False,
    include_zeros: bool = True,
    extreme: Literal["largest", "smallest"] = "largest",
) -> torch.Tensor: ...

@overload
def sparse_min(
    pattern: Pattern,
    a: torch.Tensor,
    dim: Literal[0, 1, -2, -1] | float,
    keepdim: bool = False,
    include_zeros: bool = True,
) -> torch.Tensor:
    """The smallest number of each row (axis 1) or column (axis 0); ties share the gradient."""

@overload
def sparse_min(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    dim: Literal[0, 1, -2, -1] | float,
    keepdim: bool = False,
    include_zeros: bool = True,
) -> torch.Tensor: ...

@overload
def sparse_softmax(
    pattern: Pattern,
    a: torch.Tensor,
    dim: Literal[0, 1, -2, -1] | float,
    include_zeros: bool = False,
) -> torch.Tensor:
    """The weights exp(a) / sum of the stored entries of each row (axis 1) or column (axis 0)."""

@overload
def sparse_softmax(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    dim: Literal[0, 1, -2, -1] | float,
    include_zeros: bool = False,
) -> torch.Tensor: ...

@overload
def spgemm(pa: Pattern, a: torch.Tensor, pb: Pattern, b: torch.Tensor) -> torch.Tensor:
    """The values of C = A B on pa.product(pb)."""

@overload
def spgemm(pa: SparseTensor | torch.Tensor | Matrix | _Matrix, pb: Pattern, b: torch.Tensor) -> torch.Tensor: ...

@overload
def spgemm(pa: Pattern, a: torch.Tensor, pb: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

@overload
def spgemm(
    pa: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
) -> torch.Tensor: ...

@overload
def spmm(pattern: Pattern, a: torch.Tensor, x: torch.Tensor, op: _Form = "N") -> torch.Tensor:
    """y = op(A) x: a (nnz), x (n, k) or (n,); op is "N" (A), "T" (A^T), "H" (A^H) or "conjugated" (conj A). A pattern
    with blocks takes a (nnz, *blocks)."""

@overload
def spmm(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    x: torch.Tensor,
    op: _Form = "N",
) -> torch.Tensor: ...

def sqrt(x: torch.Tensor) -> torch.Tensor:
    """The square root; its derivative at 0 is infinite."""

def square(x: torch.Tensor) -> torch.Tensor:
    """x^2."""

def sub(x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """x - y."""

def sum(x: torch.Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> torch.Tensor:
    """The sum over the given axes, all by default."""

def tanh(x: torch.Tensor) -> torch.Tensor:
    """The hyperbolic tangent."""

@overload
def to_dense(pattern: Pattern, a: torch.Tensor) -> torch.Tensor:
    """The dense matrix, (rows, cols)."""

@overload
def to_dense(pattern: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

def toeplitz(
    pattern: Pattern | SparseTensor | torch.Tensor | Matrix | _Matrix,
    c: torch.Tensor,
    r: torch.Tensor,
) -> torch.Tensor:
    """The values of scipy.linalg.toeplitz(c, r) on a pattern; r[0] and diagonals that it does not store are not read.
    solve, logdet and all that takes a matrix then take this one."""

def toeplitz_mm(c: torch.Tensor, r: torch.Tensor, x: torch.Tensor, op: _Form = "N") -> torch.Tensor:
    """y = op(T) x, T = scipy.linalg.toeplitz(c, r) and never formed; r[0] is not read."""

@overload
def trace(pattern: Pattern, a: torch.Tensor) -> torch.Tensor:
    """The sum of the diagonal."""

@overload
def trace(pattern: SparseTensor | torch.Tensor | Matrix | _Matrix) -> torch.Tensor: ...

@overload
def trace_solve(solver: Pattern | Solver, a: torch.Tensor, pb: Pattern, b: torch.Tensor) -> torch.Tensor:
    """tr(A^-1 B), B sparse with the pattern pb. Entries that A lacks widen what is factored."""

@overload
def trace_solve(
    solver: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: Pattern,
    b: torch.Tensor,
) -> torch.Tensor: ...

@overload
def trace_solve(
    solver: Pattern | Solver,
    a: torch.Tensor,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
) -> torch.Tensor: ...

@overload
def trace_solve(
    solver: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
) -> torch.Tensor: ...

@overload
def trace_solve_estimate(
    solver: Pattern | Solver,
    a: torch.Tensor,
    pb: Pattern,
    b: torch.Tensor,
    probes: torch.Tensor | int = 20,
    seed: int = 0,
) -> torch.Tensor:
    """(estimate, error) of tr(A^-1 B), any square A and B with the pattern pb: one solve for each probe. The error is
    the standard error; derivatives are those of the estimate."""

@overload
def trace_solve_estimate(
    solver: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: Pattern,
    b: torch.Tensor,
    probes: torch.Tensor | int = 20,
    seed: int = 0,
) -> torch.Tensor: ...

@overload
def trace_solve_estimate(
    solver: Pattern | Solver,
    a: torch.Tensor,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
    probes: torch.Tensor | int = 20,
    seed: int = 0,
) -> torch.Tensor: ...

@overload
def trace_solve_estimate(
    solver: SparseTensor | torch.Tensor | Matrix | _Matrix,
    pb: SparseTensor | torch.Tensor | Matrix | _Matrix,
    probes: torch.Tensor | int = 20,
    seed: int = 0,
) -> torch.Tensor: ...

def tridiagonal_solve(lower: torch.Tensor, diag: torch.Tensor, upper: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """x = A^-1 b: lower (n - 1), diag (n), upper (n - 1)."""

@overload
def trisolve(
    pattern: Pattern,
    a: torch.Tensor,
    b: torch.Tensor,
    triangle: Literal["lower", "upper"] = "lower",
    diagonal: Literal["stored", "unit"] = "stored",
    op: _Form = "N",
) -> torch.Tensor:
    """op(T) x = b with T the named triangle of the matrix; diagonal "unit" does not read a stored one."""

@overload
def trisolve(
    pattern: SparseTensor | torch.Tensor | Matrix | _Matrix,
    b: torch.Tensor,
    triangle: Literal["lower", "upper"] = "lower",
    diagonal: Literal["stored", "unit"] = "stored",
    op: _Form = "N",
) -> torch.Tensor: ...

def where(c: torch.Tensor | bool, x: torch.Tensor | float, y: torch.Tensor | float) -> torch.Tensor:
    """x where c is not zero, else y, of which one may be a number; no derivative in c, and nothing leaks."""
