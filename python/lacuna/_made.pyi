# SPDX-License-Identifier: Apache-2.0
"""Made by scripts/check-stubs --write from the tables of C."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, overload

from numpy.typing import ArrayLike, DTypeLike, NDArray

from .format import Format
from .matrix import Matrix
from .pattern import Map, Pattern
from .solver import Factor, Solver

_Form = Literal["N", "T", "H", "plain", "transposed", "conjugated", "adjoint"]

class _Matrix(Protocol):
    """A matrix of SciPy."""

    def tocoo(self) -> Any: ...

def abs(x: ArrayLike) -> NDArray[Any]:
    """|x|, of a real dtype; its gradient x / |x| is 0 at 0."""

def add(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """x + y."""

def apply(
    op: str,
    *arguments: Any,
    ints: Sequence[int] = (),
    floats: Sequence[float] = (),
    shape: Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Any:
    """Any operator by its name: patterns and objects first, then arrays; the keywords are its attributes."""

def banded_gemm(
    bands_of_x: tuple[int, int],
    x: ArrayLike,
    bands_of_y: tuple[int, int],
    y: ArrayLike,
    target: tuple[int, int] | None = None,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> NDArray[Any]:
    """op(X) op(Y) of two square banded matrices on the band `target`, which by default holds all of it."""

def banded_mm(
    lower_and_upper: tuple[int, int],
    ab: ArrayLike,
    x: ArrayLike,
    rows: int | None = None,
    op: _Form = "N",
) -> NDArray[Any]:
    """y = op(A) x for a banded A stored as SciPy stores it, ab[upper + i - j, j] = A[i, j]; square unless `rows`
    says."""

def banded_outer(lower_and_upper: tuple[int, int], u: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """The band of u v^H: u (rows, k), v (cols, k), or vectors."""

def banded_solve(lower_and_upper: tuple[int, int], ab: ArrayLike, b: ArrayLike, op: _Form = "N") -> NDArray[Any]:
    """x = op(A)^-1 b as scipy.linalg.solve_banded: (lower, upper), then the band, then b (n,) or (n, k)."""

def block_diag(patterns: Sequence[Pattern], arrays: Sequence[ArrayLike]) -> NDArray[Any]:
    """The values on the first of Pattern.block_diag(patterns): one matrix's behind the other's."""

def cast(x: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """x in another dtype, itself where that is its own. Complex to real is refused: say real, imag or abs."""

@overload
def cholesky(
    pattern: Pattern,
    a: ArrayLike,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> NDArray[Any]:
    """L of H[order][:, order] = L L^H, H = (A + A^H) / 2, on F.tril()[0] of F = pattern.fill(ordering)[0]. A matrix
    that is not positive definite is an error that names the row."""

@overload
def cholesky(
    pattern: Matrix | _Matrix,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> NDArray[Any]: ...

def circulant_mm(c: ArrayLike, x: ArrayLike, op: _Form = "N") -> NDArray[Any]:
    """y = op(C) x with C[i, j] = c[(i - j) mod n], in O(n log n)."""

def circulant_outer(u: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """s[d] = sum_i sum_k u[i, k] conj(v[(i - d) mod n, k])."""

def circulant_solve(c: ArrayLike, b: ArrayLike, op: _Form = "N") -> NDArray[Any]:
    """x = op(C)^-1 b, as scipy.linalg.solve_circulant."""

def clamp(x: ArrayLike, low: float | None = None, high: float | None = None) -> NDArray[Any]:
    """x moved into [low, high]; the derivative is 1 inside it and 0 on its bounds."""

@overload
def col_sum(pattern: Pattern, a: ArrayLike) -> NDArray[Any]:
    """The sum of each column: (nnz) -> (cols)."""

@overload
def col_sum(pattern: Matrix | _Matrix) -> NDArray[Any]: ...

def compare(
    x: ArrayLike | float,
    y: ArrayLike | float,
    relation: Literal["eq", "ne", "lt", "le", "gt", "ge"],
) -> NDArray[Any]:
    """1 where x and y stand in the relation, else 0, in their dtype."""

def concat(arrays: Sequence[ArrayLike], axis: int = 0) -> NDArray[Any]:
    """Arrays behind each other along an axis; axes before it broadcast."""

def conj(x: ArrayLike) -> NDArray[Any]:
    """conj(x)."""

def cos(x: ArrayLike) -> NDArray[Any]:
    """The cosine."""

def cumsum(x: ArrayLike, axis: int = -1, backwards: bool = False) -> NDArray[Any]:
    """Running sums along an axis, from its first place on, or from its last."""

@overload
def det(solver: Pattern | Solver | Factor, a: ArrayLike) -> NDArray[Any]:
    """det A. It overflows and underflows where the number does: slogdet does not."""

@overload
def det(solver: Matrix | _Matrix) -> NDArray[Any]: ...

def diag_mm(d: ArrayLike, x: ArrayLike) -> NDArray[Any]:
    """diag(d) x."""

def diag_solve(d: ArrayLike, b: ArrayLike) -> NDArray[Any]:
    """diag(d)^-1 b; a zero is an error that names it."""

@overload
def diagonal(pattern: Pattern, a: ArrayLike) -> NDArray[Any]:
    """The diagonal, 0 where it is not stored: (nnz) -> (min(rows, cols))."""

@overload
def diagonal(pattern: Matrix | _Matrix) -> NDArray[Any]: ...

def div(x: ArrayLike | float, y: ArrayLike | float, zeros: Literal["plain", "zero"] = "plain") -> NDArray[Any]:
    """x / y; zeros="zero": exactly 0, with all derivatives, where y is 0."""

def div_or_zero(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """x / y, and exactly 0, with all derivatives, where y is 0."""

def dot(x: ArrayLike, y: ArrayLike) -> NDArray[Any]:
    """The sum of conj(x) y over the last two axes, or of two vectors."""

def equal(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """1 where x = y, else 0."""

def exp(x: ArrayLike) -> NDArray[Any]:
    """e^x."""

def expm1(x: ArrayLike) -> NDArray[Any]:
    """e^x - 1, exact for small x, of reals."""

def gather(index: Map | ArrayLike, x: ArrayLike) -> NDArray[Any]:
    """y[i] = x[index[i]] for the rows of x (..., n, k) or the numbers of a vector; 0 where the index is -1."""

def gather_mm(a: ArrayLike, b: ArrayLike, idx_b: Map | ArrayLike) -> NDArray[Any]:
    """out[i] = a[i] @ b[idx_b[i]]: a (n, d), b (r, d, e); idx_b are integers, or a Map of them, made once."""

def gather_outer(map: Map, u: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """w[j] = sum of conj(u[i])^T v[i] over the rows i that name j."""

def greater(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """1 where x > y, else 0."""

def greater_equal(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """1 where x >= y, else 0."""

@overload
def hadamard(pa: Pattern, a: ArrayLike, pb: Pattern, b: ArrayLike) -> NDArray[Any]:
    """The values of A .* B on the first of pa.intersection(pb)."""

@overload
def hadamard(pa: Matrix | _Matrix, pb: Pattern, b: ArrayLike) -> NDArray[Any]: ...

@overload
def hadamard(pa: Pattern, a: ArrayLike, pb: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def hadamard(pa: Matrix | _Matrix, pb: Matrix | _Matrix) -> NDArray[Any]: ...

def heaviside(x: ArrayLike) -> NDArray[Any]:
    """1 where x > 0, else 0, of reals; its derivative is zero."""

@overload
def ic0(pattern: Pattern, a: ArrayLike) -> NDArray[Any]:
    """L with L L^H = (A + A^H) / 2 where A has entries, on its lower triangle (and that of A^H where A is not symmetric
    in structure)."""

@overload
def ic0(pattern: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def ilu0(pattern: Pattern, a: ArrayLike) -> NDArray[Any]:
    """(L, U) with L U = A where A has entries: L on pattern.tril()[0], its ones stored, U on pattern.triu()[0]."""

@overload
def ilu0(pattern: Matrix | _Matrix) -> NDArray[Any]: ...

def imag(x: ArrayLike) -> NDArray[Any]:
    """The imaginary part, of a real dtype."""

@overload
def inverse_diagonal(solver: Pattern | Solver, a: ArrayLike) -> NDArray[Any]:
    """The diagonal of A^-1: (nnz) -> (n)."""

@overload
def inverse_diagonal(solver: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def inverse_on(solver: Pattern | Solver, a: ArrayLike, target: Pattern | Matrix | _Matrix) -> NDArray[Any]:
    """A^-1 where the target pattern has entries, in its slots. Entries that A^T lacks widen what is factored."""

@overload
def inverse_on(solver: Matrix | _Matrix, target: Pattern | Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def inverse_quadratic_form(
    solver: Pattern | Solver | Factor,
    a: ArrayLike,
    x: ArrayLike,
    y: ArrayLike | None = None,
) -> NDArray[Any]:
    """x^H A^-1 y of each column, y = x unless given: x (n, k), y (n, k), result (k); of vectors one number."""

@overload
def inverse_quadratic_form(solver: Matrix | _Matrix, x: ArrayLike, y: ArrayLike | None = None) -> NDArray[Any]: ...

@overload
def kron(pa: Pattern, a: ArrayLike, pb: Pattern, b: ArrayLike) -> NDArray[Any]:
    """The values of the Kronecker product on the first of pa.kron(pb)."""

@overload
def kron(pa: Matrix | _Matrix, pb: Pattern, b: ArrayLike) -> NDArray[Any]: ...

@overload
def kron(pa: Pattern, a: ArrayLike, pb: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def kron(pa: Matrix | _Matrix, pb: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def kron_mm(pa: Pattern, a: ArrayLike, pb: Pattern, b: ArrayLike, x: ArrayLike, op: _Form = "N") -> NDArray[Any]:
    """y = op(A (x) B) x, the Kronecker product never formed: rows of A outside, rows of B inside."""

@overload
def kron_mm(pa: Matrix | _Matrix, pb: Pattern, b: ArrayLike, x: ArrayLike, op: _Form = "N") -> NDArray[Any]: ...

@overload
def kron_mm(pa: Pattern, a: ArrayLike, pb: Matrix | _Matrix, x: ArrayLike, op: _Form = "N") -> NDArray[Any]: ...

@overload
def kron_mm(pa: Matrix | _Matrix, pb: Matrix | _Matrix, x: ArrayLike, op: _Form = "N") -> NDArray[Any]: ...

@overload
def kron_solve(
    sa: Pattern | Solver | Factor,
    a: ArrayLike,
    sb: Pattern | Solver | Factor,
    b: ArrayLike,
    y: ArrayLike,
    op: _Form = "N",
) -> NDArray[Any]:
    """x = op(A (x) B)^-1 y by a pattern, solver or factor of A and one of B."""

@overload
def kron_solve(
    sa: Matrix | _Matrix,
    sb: Pattern | Solver | Factor,
    b: ArrayLike,
    y: ArrayLike,
    op: _Form = "N",
) -> NDArray[Any]: ...

@overload
def kron_solve(
    sa: Pattern | Solver | Factor,
    a: ArrayLike,
    sb: Matrix | _Matrix,
    y: ArrayLike,
    op: _Form = "N",
) -> NDArray[Any]: ...

@overload
def kron_solve(sa: Matrix | _Matrix, sb: Matrix | _Matrix, y: ArrayLike, op: _Form = "N") -> NDArray[Any]: ...

@overload
def kronsum_mm(pa: Pattern, a: ArrayLike, pb: Pattern, b: ArrayLike, x: ArrayLike, op: _Form = "N") -> NDArray[Any]:
    """y = op(A (x) I + I (x) B) x for square A and B."""

@overload
def kronsum_mm(pa: Matrix | _Matrix, pb: Pattern, b: ArrayLike, x: ArrayLike, op: _Form = "N") -> NDArray[Any]: ...

@overload
def kronsum_mm(pa: Pattern, a: ArrayLike, pb: Matrix | _Matrix, x: ArrayLike, op: _Form = "N") -> NDArray[Any]: ...

@overload
def kronsum_mm(pa: Matrix | _Matrix, pb: Matrix | _Matrix, x: ArrayLike, op: _Form = "N") -> NDArray[Any]: ...

@overload
def ldlt(
    pattern: Pattern,
    a: ArrayLike,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> tuple[NDArray[Any], NDArray[Any]]:
    """(L, D) of H[order][:, order] = L D L^H without pivoting, H = (A + A^H) / 2; L on F.tril()[0] of F =
    pattern.fill(ordering)[0], its ones stored; D (n), real."""

@overload
def ldlt(
    pattern: Matrix | _Matrix,
    ordering: Literal["auto", "amd", "metis", "natural"] = "auto",
) -> tuple[NDArray[Any], NDArray[Any]]: ...

def less(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """1 where x < y, else 0."""

def less_equal(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """1 where x <= y, else 0."""

def log(x: ArrayLike) -> NDArray[Any]:
    """The natural logarithm."""

def log1p(x: ArrayLike) -> NDArray[Any]:
    """log(1 + x), exact for small x, of reals."""

def log_softmax(x: ArrayLike, axis: int | Sequence[int] | None = -1) -> NDArray[Any]:
    """log(softmax(x)) = y - logsumexp(y) for y = x - max(x), which loses no digits however large x is."""

@overload
def logdet(solver: Pattern | Solver | Factor, a: ArrayLike) -> NDArray[Any]:
    """log|det A|; of a complex matrix log|det A| + i arg(det A), the principal branch."""

@overload
def logdet(solver: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def logdet_estimate(
    solver: Pattern | Solver,
    a: ArrayLike,
    probes: ArrayLike | int = 20,
    steps: int = 0,
    seed: int = 0,
) -> NDArray[Any]:
    """(estimate, error) of log det of the Hermitian part of A, positive definite, by Lanczos quadrature: `steps` from
    each probe, 50 by default. Both are real; the error is that of chance alone, and NaN of one probe. The gradient is
    an unbiased estimate of that of log det A, (A^-1 z) z^H with the same probes, and not the derivative of the
    estimate: with random probes gradcheck finds the two apart. Higher orders are derivatives of the gradient."""

@overload
def logdet_estimate(
    solver: Matrix | _Matrix,
    probes: ArrayLike | int = 20,
    steps: int = 0,
    seed: int = 0,
) -> NDArray[Any]: ...

def logsumexp(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> NDArray[Any]:
    """log(sum(exp(x))) over the given axes, of reals, without overflow; all -inf gives -inf, with a gradient of
    zero."""

@overload
def lstsq(
    pattern: Pattern,
    a: ArrayLike,
    b: ArrayLike,
    damp: ArrayLike | float | None = None,
    solver: Solver | Literal["lsmr", "lsqr"] | None = None,
    residual: bool = False,
) -> Any:
    """x that minimises |A x - b|^2 + |damp x|^2, and of all such x, where A is wide, is the shortest."""

@overload
def lstsq(
    pattern: Matrix | _Matrix,
    b: ArrayLike,
    damp: ArrayLike | float | None = None,
    solver: Solver | Literal["lsmr", "lsqr"] | None = None,
    residual: bool = False,
) -> Any: ...

@overload
def lu(pattern: Pattern, a: ArrayLike, ordering: Literal["auto", "amd", "metis", "natural"] = "auto") -> NDArray[Any]:
    """(L, U) of A[order][:, order] = L U without pivoting, on the triangles of F = pattern.fill(ordering)[0]: L on
    F.tril()[0], its ones stored, U on F.triu()[0]."""

@overload
def lu(pattern: Matrix | _Matrix, ordering: Literal["auto", "amd", "metis", "natural"] = "auto") -> NDArray[Any]: ...

@overload
def lu_values(
    pattern: Pattern,
    c: ArrayLike,
    steps: Map | None = None,
    pivots: Literal["nonzero", "positive"] = "nonzero",
) -> NDArray[Any]:
    """L and U of C = L U without pivoting, L below the diagonal and U on and above."""

@overload
def lu_values(
    pattern: Matrix | _Matrix,
    steps: Map | None = None,
    pivots: Literal["nonzero", "positive"] = "nonzero",
) -> NDArray[Any]: ...

@overload
def lu_values_adjoint(pattern: Pattern, c: ArrayLike, lu_bar: ArrayLike) -> NDArray[Any]:
    """The gradient in c of lu_values, given that of its result."""

@overload
def lu_values_adjoint(pattern: Matrix | _Matrix, lu_bar: ArrayLike) -> NDArray[Any]: ...

def magnitude(x: ArrayLike) -> NDArray[Any]:
    """The power of two at or below |x|, of a real dtype; its derivative is zero."""

def matmul(x: ArrayLike, y: ArrayLike, op_x: _Form = "N", op_y: _Form = "N") -> NDArray[Any]:
    """op(X) op(Y), dense: "N", "T" (transpose), "conjugated" or "H" (both) for each."""

@overload
def matrix_norm(
    pattern: Pattern,
    a: ArrayLike,
    ord: Literal["fro", 1, "inf", 2] | float = "fro",
    tolerance: float = 0,
    steps: int = 0,
) -> NDArray[Any]:
    """The norm of a matrix: "fro", 1, inf, or 2: the largest singular value, to a relative residual in so many steps
    (0: the defaults), else a ConvergenceError. Norm 2 can be differentiated once."""

@overload
def matrix_norm(
    pattern: Matrix | _Matrix,
    ord: Literal["fro", 1, "inf", 2] | float = "fro",
    tolerance: float = 0,
    steps: int = 0,
) -> NDArray[Any]: ...

def max(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> NDArray[Any]:
    """The largest number over the given axes, of reals; ties share the gradient evenly, NaN is handed on."""

def mean(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> NDArray[Any]:
    """The mean over the given axes, all by default; NaN of no numbers."""

def min(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> NDArray[Any]:
    """The smallest number over the given axes, of reals; ties share the gradient evenly, NaN is handed on."""

@overload
def mirror(
    pattern: Pattern,
    a: ArrayLike,
    triangle: Literal["lower", "upper"] = "lower",
    op: _Form = "H",
) -> NDArray[Any]:
    """The values of T + op(T without its diagonal), T one triangle of the matrix, on the first of
    pattern.mirror(triangle): op "H" for Hermitian matrices, "T" for symmetric ones."""

@overload
def mirror(
    pattern: Matrix | _Matrix,
    triangle: Literal["lower", "upper"] = "lower",
    op: _Form = "H",
) -> NDArray[Any]: ...

def mul(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """x y, number by number."""

def neg(x: ArrayLike) -> NDArray[Any]:
    """-x."""

def norm(
    x: ArrayLike,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: Literal[2, 1, "inf"] | float = 2,
) -> NDArray[Any]:
    """The vector norm over the given axes, all by default, of order 1, 2 or inf: real, its gradient at zero is zero."""

def not_equal(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """1 where x and y differ, else 0."""

def pow(x: ArrayLike, y: ArrayLike | float) -> NDArray[Any]:
    """x^y. A y that is a number is frozen: there is no derivative in it, and no logarithm is taken."""

def probes(like: ArrayLike, rows: int, count: int, seed: int = 0) -> NDArray[Any]:
    """Signs at random in the dtype, and on the device, of the array `like`: the same for the same seed, and more
    columns leave the first ones as they are."""

def prod(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> NDArray[Any]:
    """The product over the given axes, all by default, pair by pair: exact with zeros; 1 of no numbers."""

@overload
def quadratic_form(pattern: Pattern, a: ArrayLike, x: ArrayLike, y: ArrayLike | None = None) -> NDArray[Any]:
    """x^H A y of each column, y = x unless given: x (m, k), y (n, k), result (k); of vectors one number."""

@overload
def quadratic_form(pattern: Matrix | _Matrix, x: ArrayLike, y: ArrayLike | None = None) -> NDArray[Any]: ...

def real(x: ArrayLike) -> NDArray[Any]:
    """The real part."""

def reciprocal(x: ArrayLike) -> NDArray[Any]:
    """1 / x."""

def relu(x: ArrayLike) -> NDArray[Any]:
    """max(x, 0), of reals; derivative 0 at 0."""

def remap(map: Map, x: ArrayLike, op: _Form = "N", axes: int = 0) -> NDArray[Any]:
    """y = M x or, with op "T", M^T x on the last axis; `axes` more stand behind each entry."""

def reshape(x: ArrayLike, shape: Sequence[int]) -> NDArray[Any]:
    """As many numbers, other shape."""

@overload
def row_sum(pattern: Pattern, a: ArrayLike) -> NDArray[Any]:
    """The sum of each row: (nnz) -> (rows)."""

@overload
def row_sum(pattern: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def sampled_spgemm(
    target: Pattern | Matrix | _Matrix,
    px: Pattern,
    x: ArrayLike,
    py: Pattern,
    y: ArrayLike,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> NDArray[Any]:
    """t = op(X) op(Y) at the slots of `target` alone."""

@overload
def sampled_spgemm(
    target: Pattern | Matrix | _Matrix,
    px: Matrix | _Matrix,
    py: Pattern,
    y: ArrayLike,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> NDArray[Any]: ...

@overload
def sampled_spgemm(
    target: Pattern | Matrix | _Matrix,
    px: Pattern,
    x: ArrayLike,
    py: Matrix | _Matrix,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> NDArray[Any]: ...

@overload
def sampled_spgemm(
    target: Pattern | Matrix | _Matrix,
    px: Matrix | _Matrix,
    py: Matrix | _Matrix,
    op_x: _Form = "N",
    op_y: _Form = "N",
) -> NDArray[Any]: ...

def scale(factor: float, x: ArrayLike) -> NDArray[Any]:
    """factor * x, a frozen number: there is no derivative in it, and compiled code takes any value."""

@overload
def scale_cols(pattern: Pattern, a: ArrayLike, d: ArrayLike) -> NDArray[Any]:
    """The values of A diag(d)."""

@overload
def scale_cols(pattern: Matrix | _Matrix, d: ArrayLike) -> NDArray[Any]: ...

@overload
def scale_rows(pattern: Pattern, a: ArrayLike, d: ArrayLike) -> NDArray[Any]:
    """The values of diag(d) A."""

@overload
def scale_rows(pattern: Matrix | _Matrix, d: ArrayLike) -> NDArray[Any]: ...

def scatter_add(index: Map | ArrayLike, x: ArrayLike, n: int | None = None) -> NDArray[Any]:
    """y[index[i]] += x[i]: the adjoint of gather, in one order on any number of threads. Integers need n, the rows of
    y; a Map has them."""

def sddmm(pattern: Pattern | Matrix | _Matrix, u: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """s_z = sum_k u[row z, k] conj(v[col z, k]) for each slot z: u (rows, k), v (cols, k), s (nnz)."""

def segment_dot(map: Map, u: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """The sum of u_i conj(v_i) of each group."""

def segment_logsumexp(map: Map, x: ArrayLike, full: int = 0) -> NDArray[Any]:
    """log of the sum of exp of each group; with `full`, groups have so many numbers, zeros where none is stored."""

def segment_max(
    map: Map,
    x: ArrayLike,
    full: int = 0,
    extreme: Literal["largest", "smallest"] = "largest",
) -> NDArray[Any]:
    """The largest of each group; ties share the gradient; `full` as in segment_logsumexp."""

def segment_mean(map: Map, x: ArrayLike, axes: int = 0) -> NDArray[Any]:
    """The mean of each group of a map; 0 for an empty one. `axes` more stand behind each entry, as in remap: 1 for rows
    of features."""

def segment_min(map: Map, x: ArrayLike, full: int = 0) -> NDArray[Any]:
    """The smallest of each group; ties share the gradient."""

def segment_mm(a: ArrayLike, b: ArrayLike, seglen_a: ArrayLike) -> NDArray[Any]:
    """The first seglen_a[0] rows of a times b[0], the next seglen_a[1] times b[1], ...: the lengths add up to n."""

def segment_scale(map: Map, d: ArrayLike, a: ArrayLike) -> NDArray[Any]:
    """Each number of a group times that of the group."""

def segment_softmax(map: Map, x: ArrayLike, full: int = 0) -> NDArray[Any]:
    """The weights exp(x) / sum within each group; `full` as in segment_logsumexp."""

def segment_sum(map: Map, x: ArrayLike) -> NDArray[Any]:
    """The sum of each group of a map."""

def segment_ties(
    map: Map,
    x: ArrayLike,
    full: int = 0,
    extreme: Literal["largest", "smallest"] = "largest",
) -> NDArray[Any]:
    """The even share of each number that is the extreme of its group, 0 for the others; its derivative is zero."""

def select(c: ArrayLike | bool, x: ArrayLike, keep: Literal["nonzero", "zero"] = "nonzero") -> NDArray[Any]:
    """x where c is not zero (keep="zero": where it is), exactly 0 elsewhere; no derivative in c."""

@overload
def selected_inverse(solver: Pattern | Solver | Factor, a: ArrayLike) -> NDArray[Any]:
    """A^-T where A has entries: in the slot of (i, j) stands (A^-1)(j, i). The gradient of log|det A|, conjugated."""

@overload
def selected_inverse(solver: Matrix | _Matrix) -> NDArray[Any]: ...

def sell_mm(format: Format, a: ArrayLike, x: ArrayLike) -> NDArray[Any]:
    """y = A x with A in sliced ELL: a is remap(format.map, values), x (n, k) or (n,)."""

def sigmoid(x: ArrayLike) -> NDArray[Any]:
    """1 / (1 + e^-x)."""

def sign(x: ArrayLike) -> NDArray[Any]:
    """x / |x|, 0 at 0; so are its derivatives there."""

def sin(x: ArrayLike) -> NDArray[Any]:
    """The sine."""

def slice(x: ArrayLike, axis: int, begin: int | None = None, end: int | None = None, step: int = 1) -> NDArray[Any]:
    """x[begin:end:step] along an axis, with NumPy's meaning of negative and missing ends; the step is positive."""

@overload
def slogdet(solver: Pattern | Solver | Factor, a: ArrayLike) -> NDArray[Any]:
    """(sign, logabs) with det A = sign exp(logabs): sign is 1 or -1, of complex matrices the phase; logabs is real."""

@overload
def slogdet(solver: Matrix | _Matrix) -> NDArray[Any]: ...

def softmax(x: ArrayLike, axis: int | Sequence[int] | None = -1) -> NDArray[Any]:
    """exp(x) / sum(exp(x)), the sum over the given axes, of reals; 0 where all are -inf."""

def softplus(x: ArrayLike) -> NDArray[Any]:
    """log(1 + e^x) without overflow, of reals."""

@overload
def solve(solver: Pattern | Solver | Factor, a: ArrayLike, b: ArrayLike, op: _Form = "N") -> NDArray[Any]:
    """x = op(A)^-1 b, with a Pattern (solver with default options), a Solver, or a Factor of just these values."""

@overload
def solve(solver: Matrix | _Matrix, b: ArrayLike, op: _Form = "N") -> NDArray[Any]: ...

@overload
def solve_from(
    solver: Pattern | Solver | Factor,
    a: ArrayLike,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    op: _Form = "N",
    reports: bool = False,
) -> NDArray[Any]:
    """x = op(A)^-1 b, by an iteration from x0; with `reports` not to reach the tolerance is no error."""

@overload
def solve_from(
    solver: Matrix | _Matrix,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    op: _Form = "N",
    reports: bool = False,
) -> NDArray[Any]: ...

@overload
def spadd(pa: Pattern, a: ArrayLike, pb: Pattern, b: ArrayLike) -> NDArray[Any]:
    """The values of A + B on the first of pa.union(pb)."""

@overload
def spadd(pa: Matrix | _Matrix, pb: Pattern, b: ArrayLike) -> NDArray[Any]: ...

@overload
def spadd(pa: Pattern, a: ArrayLike, pb: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def spadd(pa: Matrix | _Matrix, pb: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def sparse_bidir_logsumexp(
    pattern: Pattern,
    a: ArrayLike,
    keepdims: bool = False,
    include_zeros: bool = True,
    output_layout: Literal["tuple", "padded"] = "tuple",
) -> NDArray[Any]:
    """(over each column, over each row); output_layout "padded": (2, max(rows, cols)), the shorter ends with -inf."""

@overload
def sparse_bidir_logsumexp(
    pattern: Matrix | _Matrix,
    keepdims: bool = False,
    include_zeros: bool = True,
    output_layout: Literal["tuple", "padded"] = "tuple",
) -> NDArray[Any]: ...

@overload
def sparse_logsumexp(
    pattern: Pattern,
    a: ArrayLike,
    axis: Literal[0, 1, -2, -1] | float,
    keepdims: bool = False,
    include_zeros: bool = True,
) -> NDArray[Any]:
    """log of the sum of exp of each row (axis 1) or column (axis 0), the reduced dimension kept with size 1 if asked.
    include_zeros: absent entries are zeros, as in the dense matrix; else they are nothing, an empty line is -inf."""

@overload
def sparse_logsumexp(
    pattern: Matrix | _Matrix,
    axis: Literal[0, 1, -2, -1] | float,
    keepdims: bool = False,
    include_zeros: bool = True,
) -> NDArray[Any]: ...

@overload
def sparse_max(
    pattern: Pattern,
    a: ArrayLike,
    axis: Literal[0, 1, -2, -1] | float,
    keepdims: bool = False,
    include_zeros: bool = True,
    extreme: Literal["largest", "smallest"] = "largest",
) -> NDArray[Any]:
    """The largest number of each row (axis 1) or column (axis 0); ties share the gradient."""

@overload
def sparse_max(
    pattern: Matrix | _Matrix,
    axis: Literal[0, 1, -2, -1] | float,
    keepdims: bool = False,
    include_zeros: bool = True,
    extreme: Literal["largest", "smallest"] = "largest",
) -> NDArray[Any]: ...

@overload
def sparse_min(
    pattern: Pattern,
    a: ArrayLike,
    axis: Literal[0, 1, -2, -1] | float,
    keepdims: bool = False,
    include_zeros: bool = True,
) -> NDArray[Any]:
    """The smallest number of each row (axis 1) or column (axis 0); ties share the gradient."""

@overload
def sparse_min(
    pattern: Matrix | _Matrix,
    axis: Literal[0, 1, -2, -1] | float,
    keepdims: bool = False,
    include_zeros: bool = True,
) -> NDArray[Any]: ...

@overload
def sparse_softmax(
    pattern: Pattern,
    a: ArrayLike,
    axis: Literal[0, 1, -2, -1] | float,
    include_zeros: bool = False,
) -> NDArray[Any]:
    """The weights exp(a) / sum of the stored entries of each row (axis 1) or column (axis 0)."""

@overload
def sparse_softmax(
    pattern: Matrix | _Matrix,
    axis: Literal[0, 1, -2, -1] | float,
    include_zeros: bool = False,
) -> NDArray[Any]: ...

@overload
def spgemm(pa: Pattern, a: ArrayLike, pb: Pattern, b: ArrayLike) -> NDArray[Any]:
    """The values of C = A B on pa.product(pb)."""

@overload
def spgemm(pa: Matrix | _Matrix, pb: Pattern, b: ArrayLike) -> NDArray[Any]: ...

@overload
def spgemm(pa: Pattern, a: ArrayLike, pb: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def spgemm(pa: Matrix | _Matrix, pb: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def spmm(pattern: Pattern, a: ArrayLike, x: ArrayLike, op: _Form = "N") -> NDArray[Any]:
    """y = op(A) x: a (nnz), x (n, k) or (n,); op is "N" (A), "T" (A^T), "H" (A^H) or "conjugated" (conj A). A pattern
    with blocks takes a (nnz, *blocks)."""

@overload
def spmm(pattern: Matrix | _Matrix, x: ArrayLike, op: _Form = "N") -> NDArray[Any]: ...

def sqrt(x: ArrayLike) -> NDArray[Any]:
    """The square root; its derivative at 0 is infinite."""

def square(x: ArrayLike) -> NDArray[Any]:
    """x^2."""

def sub(x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """x - y."""

def sum(x: ArrayLike, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> NDArray[Any]:
    """The sum over the given axes, all by default."""

def tanh(x: ArrayLike) -> NDArray[Any]:
    """The hyperbolic tangent."""

@overload
def to_dense(pattern: Pattern, a: ArrayLike) -> NDArray[Any]:
    """The dense matrix, (rows, cols)."""

@overload
def to_dense(pattern: Matrix | _Matrix) -> NDArray[Any]: ...

def toeplitz(pattern: Pattern | Matrix | _Matrix, c: ArrayLike, r: ArrayLike) -> NDArray[Any]:
    """The values of scipy.linalg.toeplitz(c, r) on a pattern; r[0] and diagonals that it does not store are not read.
    solve, logdet and all that takes a matrix then take this one."""

def toeplitz_mm(c: ArrayLike, r: ArrayLike, x: ArrayLike, op: _Form = "N") -> NDArray[Any]:
    """y = op(T) x, T = scipy.linalg.toeplitz(c, r) and never formed; r[0] is not read."""

@overload
def trace(pattern: Pattern, a: ArrayLike) -> NDArray[Any]:
    """The sum of the diagonal."""

@overload
def trace(pattern: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def trace_solve(solver: Pattern | Solver, a: ArrayLike, pb: Pattern, b: ArrayLike) -> NDArray[Any]:
    """tr(A^-1 B), B sparse with the pattern pb. Entries that A lacks widen what is factored."""

@overload
def trace_solve(solver: Matrix | _Matrix, pb: Pattern, b: ArrayLike) -> NDArray[Any]: ...

@overload
def trace_solve(solver: Pattern | Solver, a: ArrayLike, pb: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def trace_solve(solver: Matrix | _Matrix, pb: Matrix | _Matrix) -> NDArray[Any]: ...

@overload
def trace_solve_estimate(
    solver: Pattern | Solver,
    a: ArrayLike,
    pb: Pattern,
    b: ArrayLike,
    probes: ArrayLike | int = 20,
    seed: int = 0,
) -> NDArray[Any]:
    """(estimate, error) of tr(A^-1 B), any square A and B with the pattern pb: one solve for each probe. The error is
    the standard error; derivatives are those of the estimate."""

@overload
def trace_solve_estimate(
    solver: Matrix | _Matrix,
    pb: Pattern,
    b: ArrayLike,
    probes: ArrayLike | int = 20,
    seed: int = 0,
) -> NDArray[Any]: ...

@overload
def trace_solve_estimate(
    solver: Pattern | Solver,
    a: ArrayLike,
    pb: Matrix | _Matrix,
    probes: ArrayLike | int = 20,
    seed: int = 0,
) -> NDArray[Any]: ...

@overload
def trace_solve_estimate(
    solver: Matrix | _Matrix,
    pb: Matrix | _Matrix,
    probes: ArrayLike | int = 20,
    seed: int = 0,
) -> NDArray[Any]: ...

def tridiagonal_solve(lower: ArrayLike, diag: ArrayLike, upper: ArrayLike, b: ArrayLike) -> NDArray[Any]:
    """x = A^-1 b: lower (n - 1), diag (n), upper (n - 1)."""

@overload
def trisolve(
    pattern: Pattern,
    a: ArrayLike,
    b: ArrayLike,
    triangle: Literal["lower", "upper"] = "lower",
    diagonal: Literal["stored", "unit"] = "stored",
    op: _Form = "N",
) -> NDArray[Any]:
    """op(T) x = b with T the named triangle of the matrix; diagonal "unit" does not read a stored one."""

@overload
def trisolve(
    pattern: Matrix | _Matrix,
    b: ArrayLike,
    triangle: Literal["lower", "upper"] = "lower",
    diagonal: Literal["stored", "unit"] = "stored",
    op: _Form = "N",
) -> NDArray[Any]: ...

def where(c: ArrayLike | bool, x: ArrayLike | float, y: ArrayLike | float) -> NDArray[Any]:
    """x where c is not zero, else y, of which one may be a number; no derivative in c, and nothing leaks."""
