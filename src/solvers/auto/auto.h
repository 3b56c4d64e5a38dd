// SPDX-License-Identifier: Apache-2.0
/// @file auto.h
/// The automatic choice as a kind of solver.

#ifndef LACUNA_SOLVERS_AUTO_AUTO_H
#define LACUNA_SOLVERS_AUTO_AUTO_H

#include "solvers/auto/cost.h"
#include "solvers/solver_impl.h"

/// The part of a core.
typedef struct lac_auto_core {
  bool begins_iterating;
  const lac_solver_table *asked;  // the kind of the preconditioner; NULL: it is left open, or given
  const lac_solver_core *direct;  // the core of direct factors, where it begins with them; one of the core's own
  char why[LAC_REASON_SIZE];      // it iterates
  lac_auto_cost cost;
  atomic_bool
      has_failed;  // an iteration did not converge and a direct factor served: from then on factors are direct at once
} lac_auto_core;

/// The part of a factor.
typedef struct lac_auto_factor {
  lac_factor *taken;
  atomic_bool has_fallen;  // solves go to its partner: set once, after `fallen` was written under the factor's lock
  char fallen[LAC_REASON_SIZE];  // why
} lac_auto_factor;

static inline lac_auto_factor *lac_auto_of(const lac_factor *f) { return f->part; }

/// Whether an automatic choice may iterate on such values; else *finding says what is against it.
bool lac_auto_suits(const lac_survey *survey, const char **finding);

#endif
