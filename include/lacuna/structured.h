// SPDX-License-Identifier: Apache-2.0
/// @file structured.h
/// Structured matrices, stored by their few numbers: banded, diagonal, circulant, Toeplitz, Kronecker.
///
/// op(A) is A, A^T, conj(A) or A^H (lac_form in pattern.h).
/// ops.h says what holds for every function: ownership, derivatives, errors.

#ifndef LACUNA_STRUCTURED_H
#define LACUNA_STRUCTURED_H

#include "lacuna/solver.h"
#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- banded matrices -------------------------------------------------------------------------------------------------

// A band is stored as LAPACK and SciPy store it: ab (lower + upper + 1, cols) holds A[i, j] at ab[upper + i - j, j].
// Arguments: lower, upper >= 0 may reach beyond the matrix.
// Derivatives: corners of ab outside the matrix are not read and have a gradient of exactly zero.

/// y = op(A) x for a banded A with `rows` rows.
/// Shapes: ab (lower + upper + 1, cols), x (n, k), y (m, k) for op(A) m x n.
LAC_API lac_var lac_banded_mm(lac_tape *tape, int64_t lower, int64_t upper, lac_var ab, lac_var x, int64_t rows,
                              lac_form op);

/// The band of u v^H: s[upper + i - j, j] = sum_k u[i, k] conj(v[j, k]).
/// Shapes: u (rows, k), v (cols, k), s (lower + upper + 1, cols).
LAC_API lac_var lac_banded_outer(lac_tape *tape, int64_t lower, int64_t upper, lac_var u, lac_var v);

/// The band (lower, upper) of op(X) op(Y), both square and banded. lower_x + lower_y and upper_x + upper_y hold all of
/// X Y.
LAC_API lac_var lac_banded_gemm(lac_tape *tape, int64_t lower_x, int64_t upper_x, lac_var x, int64_t lower_y,
                                int64_t upper_y, lac_var y, int64_t lower, int64_t upper, lac_form op_x, lac_form op_y);

/// x = op(A)^-1 b for a square banded A, by elimination with partial pivoting.
/// Shapes: ab (lower + upper + 1, n), b and x (n, k).
/// Errors: LAC_ERR_SINGULAR names the column.
LAC_API lac_var lac_banded_solve(lac_tape *tape, int64_t lower, int64_t upper, lac_var ab, lac_var b, lac_form op);

/// x = A^-1 b for a tridiagonal A, by lac_banded_solve.
/// Shapes: lower (n - 1), diag (n), upper (n - 1), b and x (n, k).
LAC_API lac_var lac_tridiagonal_solve(lac_tape *tape, lac_var lower, lac_var diag, lac_var upper, lac_var b);

LAC_API lac_var lac_diag_mm(lac_tape *tape, lac_var d, lac_var x);     ///< diag(d) x: d (n), x (n, k)
LAC_API lac_var lac_diag_solve(lac_tape *tape, lac_var d, lac_var b);  ///< diag(d)^-1 b; LAC_ERR_SINGULAR names a zero

// -- circulant and Toeplitz matrices ---------------------------------------------------------------------------------

// Cost: O(n log n) for each column, by fast Fourier transforms.

/// y = op(C) x with C[i, j] = c[(i - j) mod n].
/// Shapes: c (n), x and y (n, k).
LAC_API lac_var lac_circulant_mm(lac_tape *tape, lac_var c, lac_var x, lac_form op);

/// s[d] = sum_i sum_k u[i, k] conj(v[(i - d) mod n, k]).
/// Shapes: u and v (n, k), s (n).
LAC_API lac_var lac_circulant_outer(lac_tape *tape, lac_var u, lac_var v);

/// x = op(C)^-1 b.
/// Shapes: c (n), b and x (n, k).
/// Errors: LAC_ERR_SINGULAR names an eigenvalue that is zero to rounding.
LAC_API lac_var lac_circulant_solve(lac_tape *tape, lac_var c, lac_var b, lac_form op);

/// y = op(T) x for the m x n matrix T[i, j] = column[i - j] for i >= j, else row[j - i]. row[0] is not read.
/// Shapes: column (m), row (n), x (n, k), y (m, k); where op transposes, x (m, k), y (n, k).
LAC_API lac_var lac_toeplitz_mm(lac_tape *tape, lac_var column, lac_var row, lac_var x, lac_form op);

/// The values of that matrix on a pattern: a sparse matrix for lac_solve, lac_logdet and all else.
/// Shapes: column (m), row (n) for an m x n pattern; a (nnz).
/// Derivatives: row[0], and numbers of diagonals that the pattern does not store, have a gradient of exactly zero.
/// Cost: linear in the pattern. Of a pattern that stores everything a solve takes what a dense matrix takes.
LAC_API lac_var lac_toeplitz(lac_tape *tape, const lac_pattern *pattern, lac_var column, lac_var row);

// -- Kronecker products ----------------------------------------------------------------------------------------------

// The product is never formed. Row i of A and row k of B are row i rows_B + k of it.
// Errors: LAC_ERR_OVERFLOW where its rows cannot be counted.

/// y = op(A (x) B) x.
LAC_API lac_var lac_kron_mm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                            lac_var x, lac_form op);

/// y = op(A (x) I + I (x) B) x for square A and B.
LAC_API lac_var lac_kronsum_mm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                               lac_var x, lac_form op);

/// x = op(A (x) B)^-1 y, by a solver of A's pattern and one of B's.
/// Errors: those of lac_solve.
LAC_API lac_var lac_kron_solve(lac_tape *tape, const lac_solver *sa, lac_var a, const lac_solver *sb, lac_var b,
                               lac_var y, lac_form op);

#ifdef __cplusplus
}
#endif
#endif
