// SPDX-License-Identifier: Apache-2.0
/// @file auto.h
/// The automatic choice as a kind of solver.

#ifndef LACUNA_SOLVERS_AUTO_AUTO_H
#define LACUNA_SOLVERS_AUTO_AUTO_H

#include "solvers/auto/cost.h"
#include "solvers/precondition/preconditioner.h"
#include "solvers/solver_impl.h"

/// The part of a core.
typedef struct lac_auto_core {
  bool begins_iterating;
  const lac_solver_table *asked;  // the kind of the preconditioner; NULL: it is left open, or given
  const lac_solver_core *direct;  // the core of direct factors, where it begins with them; one of the core's own
  char why[LAC_REASON_SIZE];      // it iterates
  lac_auto_cost cost;             // as it is foreseen from the pattern
  lac_multigrid_bytes bytes;      // of multigrid on a grid, where it iterates on one; else 0
  /// What was learnt from a solve after which a direct factor served: why factors are direct at once from then on.
  _Atomic(const char *) learnt;
  atomic_bool has_left_device;  // what makes them there failed: direct factors are the host's from then on
} lac_auto_core;

/// The part of a factor.
typedef struct lac_auto_factor {
  lac_factor *taken;
  atomic_bool has_fallen;  // solves go to its partner: set once, after `fallen` was written under the factor's lock
  char fallen[LAC_REASON_SIZE];  // why
  _Atomic int64_t lacking;       // bytes that were available when a direct factor did not fit into memory; 0: not tried
} lac_auto_factor;

static inline lac_auto_factor *lac_auto_of(const lac_factor *f) { return f->part; }

/// What a direct factor takes, by an analysis, which is made where there is none yet and stays with the core; false:
/// it is not known before there are values.
lac_status lac_auto_analyse(lac_context *ctx, lac_solver_core *core, lac_auto_cost *cost, bool *is_known);

/// A direct factor knows of no null space: with one the matrix is singular, and what it gives would be rounding
/// magnified.
static inline bool lac_auto_may_go_direct(const lac_solver_core *core) { return !core->options.iteration.null_space; }

/// Whether a failure is the own one of what works on the device: no finding about the numbers, and no wish.
static inline bool lac_auto_is_engines_own(lac_status status) {
  return status != LAC_OK && status != LAC_ERR_SINGULAR && status != LAC_ERR_NONFINITE && status != LAC_ERR_INTERRUPTED;
}

/// The factor that serves: what was taken, or its partner once that failed.
const lac_factor *lac_auto_inner(const lac_factor *f);

/// Solve, by a direct factor in the end where iterating fails or is foreseen to take longer (solve.c).
lac_status lac_auto_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, lac_solve_report *report);

/// Whether an automatic choice may iterate on such values; else *finding says what is against it.
bool lac_auto_suits(const lac_survey *survey, const char **finding);

#endif
