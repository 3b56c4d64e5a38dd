// SPDX-License-Identifier: Apache-2.0
/// @file determinants.h
/// Determinants, entries of the inverse, quadratic forms, and estimates from probes, of square sparse matrices.
///
/// Solvers and factors are made by solver.h. For patterns with blocks determinants are LAC_ERR_UNSUPPORTED.
/// ops.h says what holds for every function: ownership, derivatives, errors.

#ifndef LACUNA_DETERMINANTS_H
#define LACUNA_DETERMINANTS_H

#include "lacuna/solver.h"
#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- determinants and inverses ---------------------------------------------------------------------------------------

// Shapes: a (nnz); one number for each matrix of the batch.
// Derivatives: exact, not estimated.
// Cost: one factorisation, which derivatives use too; a gradient one selected inversion, about twice the work of the
// factorisation; a second derivative a selected inversion of a matrix of twice the size.
// Errors: LAC_ERR_SINGULAR names the column; those of lac_solver_factor; LAC_ERR_SHAPE where A is not square.

/// log|det A|; of a complex matrix log|det A| + i arg(det A), the principal branch. It does not overflow.
LAC_API lac_var lac_logdet(lac_tape *tape, const lac_solver *solver, lac_var a);

/// lac_logdet with a factor of the values a.
/// Errors: LAC_ERR_STALE where `factor` was made of other values.
LAC_API lac_var lac_logdet_with(lac_tape *tape, const lac_factor *factor, lac_var a);

/// det A = sign exp(logabs): out[0], the sign, is 1 or -1, or the phase of a complex determinant; out[1], logabs, has a
/// real dtype. Neither overflows.
LAC_API void lac_slogdet(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var out[2]);

/// det A, which overflows and underflows where its dtype does; lac_slogdet does not.
LAC_API lac_var lac_det(lac_tape *tape, const lac_solver *solver, lac_var a);

/// A^-T at the entries of A, (nnz): the number in the slot of (i, j) is (A^-1)(j, i). Its conjugate is the gradient of
/// log|det A|.
LAC_API lac_var lac_selected_inverse(lac_tape *tape, const lac_solver *solver, lac_var a);

/// lac_selected_inverse with a factor of the values a.
/// Errors: LAC_ERR_STALE where `factor` was made of other values.
LAC_API lac_var lac_selected_inverse_with(lac_tape *tape, const lac_factor *factor, lac_var a);

/// A^-1 at the entries of `target`, in its slots.
/// Cost: entries of `target` that A^T lacks widen the pattern that is factored (lac_solver_covering).
LAC_API lac_var lac_inverse_on(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *target);

LAC_API lac_var lac_inverse_diagonal(lac_tape *tape, const lac_solver *solver, lac_var a);  ///< (A^-1)_ii: (nnz) -> (n)

/// tr(A^-1 B) for a sparse B with a pattern of its own.
/// Cost: entries of B that A lacks widen the pattern that is factored.
LAC_API lac_var lac_trace_solve(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *pb, lac_var b);

/// x^H A y, A of any shape, and x^H A^-1 y, of each column.
/// Shapes: x (m, k), y (n, k), result (k).
/// Cost: one product; one solve.
LAC_API lac_var lac_quadratic_form(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var x, lac_var y);
LAC_API lac_var lac_inverse_quadratic_form(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var x, lac_var y);

// -- estimates from probes -------------------------------------------------------------------------------------------

// For matrices that are too large to factor. Probes are columns z (n, k) with E[z z^H] = I, as lac_probes makes them.
// out[0] is the mean over the probes; out[1] is its standard error, real, which falls with the square root of k, and is
// NaN for one probe.
// Derivatives: zero in the probes.

/// Random signs (rows, count), a constant: a function of seed, row and column alone, so that more columns leave the
/// first ones unchanged.
LAC_API lac_var lac_probes(lac_tape *tape, lac_dtype dtype, int64_t rows, int64_t count, int64_t seed);

/// lac_probes in the dtype and memory space of x, whose numbers are not read.
LAC_API lac_var lac_probes_like(lac_tape *tape, lac_var x, int64_t rows, int64_t count, int64_t seed);

/// log det of the Hermitian part of A, positive definite, by `steps` steps of Lanczos (0: 50) from each probe. Both
/// results are real.
/// Derivatives: of out[0], not of the error. The gradient is an unbiased estimate of the gradient of log det A,
/// (A^-1 z) z^H with the same probes, by solves of `solver`; it is not the derivative of the estimate. Higher orders
/// are the derivatives of this gradient.
/// Cost: nothing is factored until a derivative asks `solver` for solves.
/// Errors: LAC_ERR_DEFINITE where an eigenvalue is not positive; LAC_ERR_SYMMETRY for a pattern that is not symmetric.
LAC_API void lac_logdet_estimate(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var probes, int64_t steps,
                                 lac_var out[2]);

/// tr(A^-1 B) by Hutchinson's z^H A^-1 B z, for any square A and B.
/// Derivatives: those of the estimate.
/// Cost: one solve for each probe.
LAC_API void lac_trace_solve_estimate(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *pb,
                                      lac_var b, lac_var probes, lac_var out[2]);

#ifdef __cplusplus
}
#endif
#endif
