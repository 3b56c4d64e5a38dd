// SPDX-License-Identifier: Apache-2.0
/// @file iterative.h
/// Iterative solvers behind lac_solver and lac_factor: the factor is a preconditioner that was set up, and solves iterate.
///
/// The core of such a solver has no structure, which takes 96 bytes a row; what it asks of the values it asks of the pattern as
/// it is (survey.h). A factor shares the array of its values where the library owns the memory, and is stale once that changes.

#ifndef LACUNA_SOLVERS_KRYLOV_ITERATIVE_H
#define LACUNA_SOLVERS_KRYLOV_ITERATIVE_H

#include "solvers/krylov/krylov.h"
#include "solvers/precondition/preconditioner.h"
#include "solvers/solver_impl.h"
#include "solvers/survey/survey.h"

/// What a factor has in place of numerics.
struct lac_iterative {
  const lac_krylov_table *krylov;         // NULL: the preconditioner by itself
  const lac_preconditioner_table *table;  // NULL: `inner`, or a user's function
  void *part;                             // NULL: there is nothing to apply it to
  lac_factor *inner;                      // a direct factor of the same values, or what the user gave
  lac_array *given;                       // the values as they came, or a copy
  lac_array *values;                      // the same as [items, nnz]
  int64_t version;                        // of that memory when it was looked at
  bool is_hermitian;
  lac_array *largest;  // [items, 1, 1]: sizes of numbers
  lac_setup_finding finding;
  char *text;  // of lac_factor_describe, made under the factor's lock when first asked
  _Atomic int64_t solves, iterations;
  atomic_bool has_fallen;  // solves go to the partner: set once, after `fallen` was written under the factor's lock
  char fallen[LAC_REASON_SIZE];  // why
};

// -- methods (iterative.c) -------------------------------------------------------------------------------------------

/// The table of a method, or NULL where it is none of those.
const lac_krylov_table *lac_krylov_of(lac_method method);
const lac_preconditioner_table *lac_preconditioner_of(lac_method method);
/// The form of a method that takes a preconditioner which varies: CG and GMRES have one, flexible methods are; NULL: there is none.
const lac_krylov_table *lac_krylov_flexible(const lac_krylov_table *krylov);
bool lac_iterative_takes_rectangles(lac_method method);

/// Refuse options that no method can mean.
lac_status lac_iterative_check(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options);

/// Hold what options point to, and let it go.
void lac_iterative_hold(const lac_solver_options *options);
void lac_iterative_let_go(const lac_solver_options *options);

/// What the options ask of one solve: the tolerance that it is held to, that of derivatives where it is for one. Krylov methods know the
/// other defaults.
lac_iteration lac_iteration_for(const lac_iteration *asked, lac_dtype dtype, bool is_derivative);

/// Refuse numbers that no iteration can mean.
lac_status lac_iteration_check(lac_context *ctx, const lac_iteration *iteration);

/// The core of an iterative solver; stays NULL where the method is direct, or a direct one promises to be cheap.
lac_status lac_iterative_core(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                              lac_solver_core **out);

// -- what a direct solver would need (forecast.c) --------------------------------------------------------------------

typedef struct lac_forecast {
  double width;         // rows of a separator, about
  double flops, bytes;  // of a Cholesky factor of f64
  double share;         // of the flops beside what iterating takes
  bool is_costly;
} lac_forecast;

/// From a breadth-first search, in a few bytes a row: no ordering, no symbolic factorisation.
lac_status lac_forecast_direct(lac_context *ctx, const lac_pattern *pattern, lac_forecast *out);

// -- factors (iterative_factor.c) ------------------------------------------------------------------------------------

/// A factor of values: looks at them, chooses what is left open, sets up. `like` is an earlier one of the same shape whose
/// set-up may be refreshed; or NULL. Under LAC_METHOD_AUTO it may turn out a direct one.
lac_status lac_iterative_make(lac_context *ctx, lac_solver_core *core, const lac_factor *like, const lac_array *values,
                              lac_factor **out);
/// The same where an automatic choice began as a direct one, and the context has just been told that there is no room for that.
lac_status lac_iterative_make_instead(lac_context *ctx, lac_solver_core *core, const lac_factor *like,
                                      const lac_array *values, lac_factor **out);
void lac_iterative_destroy(lac_iterative *iterative);  // accepts NULL

/// Set up the preconditioner that the options ask for, or the first that will do (iterative_choose.c).
lac_status lac_iterative_choose(lac_context *ctx, lac_factor *factor, const lac_factor *like, const lac_survey *survey);

/// Whether solves by a factor are another linear map each time, or none: inner iterations, K-cycles. Flexible methods alone may use it.
bool lac_iterative_varies(const lac_factor *factor);

/// Refuse columns with NaN or infinity; and, of a factor, null spaces that are none (iterative_null.c).
lac_status lac_iterative_require_finite(lac_context *ctx, const char *name, const lac_array *columns);
lac_status lac_iterative_require_null(lac_context *ctx, const lac_factor *f);

/// Whether an automatic choice may iterate on such values; the reason says what it found.
bool lac_iterative_may_go_direct(const lac_solver_core *core);
bool lac_iterative_suits(const lac_survey *survey, const char **finding);

/// Whether the values are those that were factored; refuse a factor whose values have changed since.
bool lac_iterative_is_fresh(const lac_factor *factor);
lac_status lac_iterative_require_fresh(lac_context *ctx, const char *function, const lac_factor *factor);

/// Whether a factor was made of these values: for the solver that keeps it, which knows a hash; and for operators.
bool lac_iterative_recognises(const lac_factor *factor, const lac_array *values, uint64_t hash);
lac_status lac_iterative_matches(lac_context *ctx, const char *function, const lac_factor *factor,
                                 const lac_array *values, int *matches);

lac_report lac_iterative_report(const lac_factor *factor);
lac_report lac_iterative_foreseen(const lac_solver_core *core);

// -- solves (iterative_solve.c, iterative_apply.c) -------------------------------------------------------------------

/// op(A) x = b from x0 (NULL: zero); shapes have been checked, `batch` is that of values, b and x. What was not reached, the
/// report says; `x` holds the best there is.
lac_status lac_iterative_run(lac_context *ctx, const lac_factor *factor, lac_side side, bool is_derivative,
                             const lac_batch *batch, const lac_array *b, const lac_array *x0, lac_array *x,
                             lac_solve_report *report);

/// The same, where what was not reached is an error, or falls back on a direct factor if the choice was automatic.
lac_status lac_iterative_solve(lac_context *ctx, const lac_factor *factor, lac_side side, bool is_derivative,
                               const lac_batch *batch, const lac_array *b, lac_array *x);

/// How the matrices of a factor meet the items of a joint batch.
typedef struct lac_iterative_view {
  const lac_factor *factor;
  const lac_batch *batch;  // operand 0: the values
  int64_t count;           // items of the joint batch
  bool is_single;          // one matrix for all
  bool is_plain;           // each item has its own, in order
} lac_iterative_view;

lac_iterative_view lac_iterative_view_of(const lac_factor *factor, const lac_batch *batch);

/// y = op(A) x and y = op(M)^-1 x for arrays [count, n, k], as lac_linear.apply; self is a view.
lac_status lac_iterative_product(lac_context *ctx, const void *self, lac_side side, const lac_array *x, lac_array *y);
lac_status lac_iterative_precondition(lac_context *ctx, const void *self, lac_side side, const lac_array *x,
                                      lac_array *y);

/// y = op(F)^-1 x by a factor as preconditioner; an inner iteration need not reach its tolerance.
lac_status lac_iterative_by_factor(lac_context *ctx, const lac_factor *factor, lac_side side, const lac_array *x,
                                   lac_array *y);

/// `count` items of an array [items, ...] from `first` on, over the same memory.
lac_status lac_iterative_items(lac_context *ctx, const lac_array *array, int64_t first, int64_t count, lac_array **out);

#endif
