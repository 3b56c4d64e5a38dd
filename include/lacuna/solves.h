// SPDX-License-Identifier: Apache-2.0
/// @file solves.h
/// Linear systems: triangular solves, solves by a solver or a factor, without a matrix, least squares; factors as
/// arrays.
///
/// Solvers and factors are made by solver.h. Values are independent parameters: for a symmetric A with both halves
/// stored, each half has its own gradient. op(A) is A, A^T, conj(A) or A^H (lac_form in pattern.h).
/// ops.h says what holds for every function: ownership, derivatives, errors.

#ifndef LACUNA_SOLVES_H
#define LACUNA_SOLVES_H

#include "lacuna/solver.h"
#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- solves ----------------------------------------------------------------------------------------------------------

/// Solve op(T) x = b, with T the named triangle of the matrix.
/// Shapes: a (nnz), b and x (n, k).
/// Derivatives: entries outside the triangle, and a stored diagonal under LAC_DIAGONAL_UNIT, are not read and have a
/// gradient of exactly zero.
/// Errors: LAC_ERR_SINGULAR names a zero or missing diagonal entry.
LAC_API lac_var lac_trisolve(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var b, lac_triangle triangle,
                             lac_diagonal diagonal, lac_form op);

/// Solve op(A) x = b with a factor of the values a.
/// Shapes: a (nnz), or (nnz, br, bc) where the solver's pattern has blocks; b and x (n, k).
/// Errors: LAC_ERR_STALE where `factor` was made of other values; LAC_ERR_ARG for the factor of a preconditioner; those
/// of lac_factor_solve.
LAC_API lac_var lac_solve_with(lac_tape *tape, const lac_factor *factor, lac_var a, lac_var b, lac_form op);

/// Solve op(A) x = b: factor the values a, and solve. Shapes are those of lac_solve_with.
/// Cost: derivatives of every order solve with the factor that is made here, unless the solver keeps none (keep_bytes).
/// Errors: those of lac_solver_factor and lac_factor_solve; LAC_ERR_SHAPE where A is not square (lac_lstsq).
LAC_API lac_var lac_solve(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var b, lac_form op);

/// Solve op(A) x = b as lac_solve does, from a start x0, which may be absent: zero.
/// Reports: with `reports` the residual is measured, and a tolerance that is not reached is no error, in derivatives
/// neither: x is the best there is, and lac_context_last_solve says what became of it.
/// Shapes: x0 as b. A direct method does not read it.
/// Derivatives: those of the solution, which does not depend on x0: its adjoint is zero.
LAC_API lac_var lac_solve_from(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var b, lac_var x0, lac_form op,
                               bool reports);

/// Report the last call that factored or solved among the calls that `var` depends on: lac_solve, lac_solve_with,
/// lac_lstsq, lac_logdet, or a function composed of them.
/// Arguments: `factor` (may be NULL) receives the report of that call's factor; it is empty where the call holds no
/// factor (lac_solve_operator, a checkpoint). `solve` (may be NULL) receives the report that lac_solver_last_solve gave
/// after the call; its `reason` is "" where the call solved no system, as for a determinant.
/// Ownership: the texts of `factor` live until the tape is cleared.
/// Errors: LAC_ERR_ARG where there is no such call: calls are recorded on a LAC_TAPE_RECORD tape, and only where an
/// input depends on a leaf. LAC_ERR_ABSENT for an absent var.
LAC_API lac_status lac_tape_solve_report(const lac_tape *tape, lac_var var, lac_report *factor,
                                         lac_solve_report *solve);

/// Solve L(theta) x = b without a matrix.
/// Arguments: `function` emits y = L(theta) x from in = {theta[0], ..., x} into out[0]. It is linear in x; x and y are
/// like b, which is one vector whatever its shape. It is called twice, before this function returns; `data` is passed
/// to it and not used later. `options` (NULL: GMRES) give a Krylov method, its iteration, and preconditioner.factor or
/// preconditioner.apply, which sees arrays [1, n, 1].
/// Derivatives: in b and in every theta.
/// Errors: LAC_ERR_ARG for a function that is not linear in x, a method that needs a matrix and negative `thetas`;
/// LAC_ERR_SHAPE where y is not like b; LAC_ERR_CONVERGENCE where the tolerance is not reached; the status that
/// `function` returns.
LAC_API lac_var lac_solve_operator(lac_tape *tape, lac_tape_function function, void *data, int thetas,
                                   const lac_var *theta, lac_var b, const lac_solver_options *options);

/// Solve a least-squares problem: x = out[0] minimises |A x - b|^2 + |damp x|^2, and where A is wide it is the shortest
/// such x; out[1] = b - A x.
/// Shapes: A of any shape, a (nnz), b (rows, k), x (cols, k), out[1] (rows, k). damp is one real number for each matrix
/// of the batch; an absent damp is zero.
/// Solver: one of the pattern that lac_pattern_augmented makes of A's pattern. Or "lsmr" or "lsqr" of A's own pattern
/// or, with damp, of A over the identity (lac_pattern_vstack), which iterates to its tolerance.
/// Derivatives: in a, b and damp, the residual's part included (Golub and Pereyra).
/// Errors: LAC_ERR_SINGULAR where A lacks full rank and is not damped (a warning, lac_context_warning, where few digits
/// are certain); LAC_ERR_PATTERN for a solver of another pattern.
LAC_API void lac_lstsq(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var b, lac_var damp,
                       const lac_solver *solver, lac_var out[2]);

// -- factors as arrays -----------------------------------------------------------------------------------------------

/// The pivots that an elimination accepts. Both errors name the row.
typedef enum lac_pivots {
  LAC_PIVOTS_NONZERO,  ///< LAC_ERR_SINGULAR where a number is divided by a zero pivot
  LAC_PIVOTS_POSITIVE  ///< LAC_ERR_DEFINITE where a pivot is not positive
} lac_pivots;

/// C = L U by elimination without pivoting, on a square pattern with a full diagonal: L, whose diagonal is one and is
/// not stored, below the diagonal; U on and above it. Fill outside the pattern is dropped. A pattern that is closed
/// under elimination (lac_pattern_fill) has no such fill; on other patterns this is ILU(0).
/// Arguments: `steps` (may be NULL) is the map of lac_pattern_fill; errors then name the row of the original matrix.
LAC_API lac_var lac_lu_values(lac_tape *tape, const lac_pattern *pattern, lac_var c, const lac_map *steps,
                              lac_pivots pivots);

/// The gradient in c of lac_lu_values, given the gradient lu_bar of its result.
LAC_API lac_var lac_lu_values_adjoint(lac_tape *tape, const lac_pattern *pattern, lac_var c, lac_var lu_bar);

// The functions below are composed of lac_lu_values. A[order, order] is factored, in the order and on the filled
// pattern of lac_pattern_fill.
// Ownership: `patterns` and `lower` may be NULL; else they receive the triangular patterns of the factors, which the
// caller destroys. On failure they are unchanged.

/// A[order, order] = L U without pivoting: out[0] is L with its ones stored, out[1] is U.
/// Errors: LAC_ERR_SINGULAR names the row.
LAC_API void lac_lu(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_ordering ordering,
                    lac_pattern *patterns[2], lac_var out[2]);

/// H[order, order] = L D L^H without pivoting, for H = (A + A^H) / 2: out[0] is L with its ones stored, out[1] is D
/// (n), real.
/// Errors: LAC_ERR_SINGULAR names the row.
LAC_API void lac_ldlt(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_ordering ordering, lac_pattern **lower,
                      lac_var out[2]);

/// H[order, order] = L L^H, for H = (A + A^H) / 2; the result is L.
/// Derivatives: for a Hermitian A the gradient is Hermitian.
/// Errors: LAC_ERR_DEFINITE names the row.
LAC_API lac_var lac_cholesky(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_ordering ordering,
                             lac_pattern **lower);

/// The incomplete factors on the pattern of A, in its own order: L U = A at the entries of A. out[0] is L with its ones
/// stored, out[1] is U.
/// Errors: LAC_ERR_SINGULAR names the row of a zero pivot or of a diagonal entry that is not stored.
LAC_API void lac_ilu0(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_pattern *patterns[2], lac_var out[2]);

/// The incomplete Cholesky factor: L L^H = (A + A^H) / 2 where A or A^H has entries; the result is L.
/// Errors: LAC_ERR_DEFINITE where a pivot is not positive. A positive definite matrix may have no such factor; a matrix
/// whose diagonal outweighs its rows has one. LAC_ERR_SINGULAR where a diagonal entry is not stored.
LAC_API lac_var lac_ic0(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_pattern **lower);

#ifdef __cplusplus
}
#endif
#endif
