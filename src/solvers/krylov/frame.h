// SPDX-License-Identifier: Apache-2.0
/// @file frame.h
/// What all Krylov methods share: vectors, coefficients, true residuals, endings.
///
///     repeat   r = b - op(A) x     columns that are within their tolerance have converged
///              a cycle             until no column runs: each has claimed convergence or ended
///
/// so that a claim of the recurrence is checked by the true residual, and a column whose claim does not hold starts
/// again from there. Right-hand sides whose squares leave the range of numbers are scaled by powers of two, and x with
/// them.

#ifndef LACUNA_SOLVERS_KRYLOV_FRAME_H
#define LACUNA_SOLVERS_KRYLOV_FRAME_H

#include "solvers/krylov/steps/column_steps.h"
#include "solvers/krylov/krylov.h"

/// Directions that are taken out of a vector: orthonormal, each an array [n].
typedef struct krylov_basis {
  int64_t count;
  lac_array **vectors;
} krylov_basis;

typedef struct krylov {
  lac_context *ctx;
  const lac_krylov_job *job;
  int64_t b_rows, x_rows;  // of op(A)
  int64_t columns;         // items times width
  int64_t limit, iterations;
  int64_t looked;    // the iteration of the last look
  int64_t told;      // the last iteration that `progress` heard of
  int64_t running;   // columns, at the last look
  bool is_scaled;    // some columns are
  bool is_far;       // some of these are not zero: b has another scale
  bool is_stopped;   // by the progress callback, or
  bool is_left;      // by the onlooker
  double unit;       // a power of two: products are those of A over it, and x is times it
  double size;       // of A in these units, as the solution's rounding has it; 0: unknown
  int64_t restart;   // longest cycle
  lac_array *state;  // coefficients [slots, items, k]
  lac_pair *seen;    // its first slots, on the host
  lac_pair *near;    // its LAC_SLOT_NEAR, on the host
  lac_array **r;     // vectors like b; the first is the residual, the second free between cycles
  lac_array **v;     // vectors like x
  int r_count, v_count;
  lac_array *start;  // a copy of the start, unless that is zero
  bool is_again;     // columns run for the second time
  double lost;       // what rounding of A x is of b, in columns whose residual is no better
  krylov_basis x_null, b_null;
  lac_array *spread;  // a vector of a basis, where there are several columns
  lac_step_numbers numbers;
} krylov;

/// A method: how much it works in and what a cycle is. One that restarts makes its vectors when it needs
/// them, but for the first two.
typedef struct krylov_method {
  int r_count, v_count, slots;
  int64_t window;   // iterations without progress that are stagnation
  int64_t restart;  // 0: none
  lac_status (*cycle)(krylov *k);
  bool squares;  // |A|^2 comes up: a matrix far from 1 is brought there
} krylov_method;

/// Run a method to its end.
lac_status krylov_run(lac_context *ctx, const lac_krylov_job *job, const krylov_method *method,
                      lac_solve_report *report);

/// The most iterations that a job may take, and how many without progress are stagnation in a short recurrence.
int64_t krylov_limit(const lac_krylov_job *job);
int64_t krylov_window(const lac_krylov_job *job);

/// The i-th vector like b, or like x, is there from now on.
lac_status krylov_need_r(krylov *k, int64_t i);
lac_status krylov_need_v(krylov *k, int64_t i);

/// Operations on vectors of one shape; a step of the coefficients.
lac_status krylov_pass(krylov *k, int count, const lac_column_op *ops);
lac_status krylov_step(krylov *k, lac_column_step step);

/// y = op(A) x; y = op(A)^H x; y = op(M)^-1 x, freed of the null space.
lac_status krylov_product(krylov *k, const lac_array *x, lac_array *y);
lac_status krylov_adjoint(krylov *k, const lac_array *x, lac_array *y);
lac_status krylov_precondition(krylov *k, const lac_array *x, lac_array *y);

static inline bool krylov_is_preconditioned(const krylov *k) { return k->job->m.apply; }

/// An iteration has ended: count it and look at the residuals when it is time. Goes on while *goes_on.
lac_status krylov_end(krylov *k, bool *goes_on);

/// Of two residuals; NaN is the worst, and no number after it takes its place.
static inline bool krylov_is_worse(double a, double than) {
  return a > than || (a != a && than == than);  // NOLINT(misc-redundant-expression): NaN
}

/// Null spaces of a job, made orthonormal (null_space.c).
lac_status krylov_bases_open(krylov *k);
void krylov_bases_close(krylov *k);
lac_status krylov_free_of(krylov *k, const krylov_basis *basis, lac_array *y);

/// Tell the columns that run whether their true residuals may be rounding, so that they find out soon; no true residual
/// is known yet; a column whose residual does not fall any more has arrived all the same where that is rounding of A x.
/// Not so where x itself has grown as only a singular matrix lets it (rounding.c).
lac_status krylov_warn(krylov *k);
void krylov_forget(krylov *k);
lac_status krylov_attain(krylov *k);

/// What became of it (report.c).
void krylov_tell(const krylov *k, lac_solve_report *report);

#endif
