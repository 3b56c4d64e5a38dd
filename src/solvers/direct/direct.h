// SPDX-License-Identifier: Apache-2.0
/// @file direct.h
/// Direct methods as kinds of solvers: a method works on one matrix in host memory, a kind on arrays and batches.

#ifndef LACUNA_SOLVERS_DIRECT_DIRECT_H
#define LACUNA_SOLVERS_DIRECT_DIRECT_H

#include "solvers/direct/method/refine.h"
#include "solvers/solver_impl.h"

/// What a method's `analyse` made for an ordering; the pattern keeps it.
typedef struct lac_analysis {
  lac_object object;
  const lac_direct_table *table;
  lac_ordering ordering;
  void *part;
  double seconds;
} lac_analysis;

/// The analysis for a pattern. Methods with the same `analyse` share it. Retained for the caller.
lac_status lac_analysis_get(lac_context *ctx, const lac_pattern *pattern, const lac_structure *structure,
                            const lac_direct_table *table, lac_ordering ordering, lac_analysis **out);

/// The part of a core.
typedef struct lac_direct_core {
  lac_structure *structure;
  const lac_direct_table *likely;  // the method that values will probably need; NULL: they can only be refused
  const char *reason;              // why
  lac_analysis *analysis;          // of that method
  lac_finding foreseen;            // of one f64 matrix; nnz is -1 where the values decide
  char warning[LAC_WARNING_SIZE];  // of what is foreseen
} lac_direct_core;

/// The part of a factor.
typedef struct lac_direct_factor {
  const lac_direct_table *table;  // the method that was taken
  lac_analysis *analysis;
  void **numerics;  // one for each matrix
  lac_finding finding;
  _Atomic double *conditions;  // what is known of each matrix (certain.c); 0: nothing yet
  _Atomic bool has_failed;     // a partner had to solve in its place, and goes on to
} lac_direct_factor;

static inline lac_direct_factor *lac_direct_of(const lac_factor *f) { return f->part; }
static inline const lac_structure *lac_direct_structure(const lac_factor *f) {
  return ((const lac_direct_core *)f->core->part)->structure;
}

/// The values of one matrix.
const void *lac_direct_item(const lac_factor *f, int64_t item);

/// One matrix with its numeric, for solves that measure their error, by so many threads, until `stop` (or NULL) ends
/// them.
lac_system lac_direct_system(const lac_factor *f, int64_t item, int threads, lac_stop *stop);

/// Whether another factor of the same values can take its place, made or not.
bool lac_direct_has_partner(const lac_factor *f);

/// Whether what is read off the factor, without a solve that refines, is that of the matrix to rounding.
bool lac_direct_is_exact(const lac_factor *f);

// -- how much is certain (certain.c) ---------------------------------------------------------------------------------

/// What is kept of each matrix and of its transpose: the condition in units of x, that in units of the matrix, and the
/// least of these units.
enum { CERTAIN_PLAIN, CERTAIN_CAREFUL = 2, CERTAIN_UNIT = 4, CERTAIN_KEPT = 6 };

/// The least certain column of a solve, and where it is.
typedef struct lac_doubt {
  pthread_mutex_t lock;
  double error;  // relative to the solution; 0: nothing is in doubt
  int64_t task;
} lac_doubt;

/// Columns that op(A) x = b was solved for.
typedef struct lac_solved {
  const lac_system *system;
  int64_t item, task;  // the matrix, and the task that solved
  lac_form form;       // LAC_PLAIN or LAC_TRANSPOSED
  int width;
  void *const *blocks;  // REFINE_BLOCKS of them
  const lac_refined *refined;
  int64_t judged_from;  // as of lac_solve_job, not negative
} lac_solved;

/// Judge columns where pivots or growth give cause, or where a part of x is asked for: LAC_ERR_SINGULAR where no digit
/// is certain and options do not accept that, else the worst is noted in `doubt`; LAC_ERR_CONVERGENCE where a partner
/// may do better.
lac_status lac_direct_certain(const lac_factor *f, const lac_solved *solved, lac_doubt *doubt, lac_fault *fault);

/// Judge the matrices of a factor themselves, for what is not a solve, and go on to the first of its partners that is
/// able and can tell; NULL where none is. LAC_ERR_SINGULAR as above, for `function`; a warning where few digits are
/// certain.
lac_status lac_direct_certain_partner(lac_context *ctx, const char *function, bool (*is_able)(const lac_factor *f),
                                      const lac_factor **f);

/// The ways out of LAC_ERR_SINGULAR, of a result and of a factorisation, which nothing can accept without a pivot; and
/// of LAC_ERR_INTERRUPTED.
extern const char lac_direct_singular_ways[], lac_direct_pivot_ways[], lac_direct_interrupted_ways[];

// -- by one method (numerics.c) --------------------------------------------------------------------------------------

/// Numeric factors of all matrices by one method, in place of those that are there. What the method cannot take is a
/// failed trial, of which lac_direct_explain makes an error.
lac_status lac_direct_try(lac_context *ctx, lac_factor *f, const lac_direct_table *table, lac_trial *trial);

/// The same by the method and the choices of an earlier factor of the same shape and dtype.
lac_trial lac_direct_try_like(lac_context *ctx, lac_factor *f, const lac_factor *like);

/// Let go of the numerics and of the method.
void lac_direct_drop(lac_factor *f);

lac_status lac_direct_explain(lac_context *ctx, const lac_factor *f, const lac_trial *trial);

// -- the choice (choose.c) -------------------------------------------------------------------------------------------

/// The method that values of this structure will probably need, and why. Of those that are asked for by name: refuse
/// one that the pattern does not have the nature for; NULL where values can only be refused.
lac_status lac_choose_likely(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                             const lac_direct_table **table, const char **reason);
lac_status lac_choose_likely_asked(lac_context *ctx, const lac_structure *structure, const lac_direct_table *asked,
                                   const lac_direct_table **table, const char **reason);

/// Factor by the cheapest method that fits, or by the one that is asked for; the factor's reason says why. Where a
/// method gives up with LAC_ERR_CONVERGENCE, the next safer one follows.
lac_status lac_choose(lac_context *ctx, const lac_linear *a, lac_factor *f);
lac_status lac_choose_asked(lac_context *ctx, const lac_linear *a, const lac_direct_table *asked, lac_factor *f);

/// Whether the values are what a method needs; those that are not finite are refused.
lac_status lac_choose_fits(lac_context *ctx, const lac_linear *a, const lac_factor *f, const lac_direct_table *table,
                           bool *fits);

/// What a method foresees for one matrix from an analysis, which it may share with others; nnz is -1 where the values
/// decide. `analysis` may be NULL.
lac_finding lac_foresee(const lac_direct_table *table, const lac_analysis *analysis, lac_dtype dtype);

// -- what factors are asked (solve.c, logdet.c, inverse.c, rcond.c) --------------------------------------------------

lac_status lac_direct_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, lac_solve_report *report);
lac_status lac_direct_logdet(lac_context *ctx, const lac_factor *f, lac_array *logabs, lac_array *sign);
lac_status lac_direct_selected_inverse(lac_context *ctx, const lac_factor *f, lac_array *values);
lac_status lac_direct_rcond(lac_context *ctx, const lac_factor *f, lac_array *rcond);

/// The kind of a method that an engine brings.
lac_solver_table lac_direct_kind(const lac_direct_table *method, unsigned flags);

#endif
