// SPDX-License-Identifier: Apache-2.0
/// @file column_steps.h
/// The scalar part of Krylov methods: what becomes of the coefficients of one column. Plain C that a device compiler takes
/// too; a backend runs it for all columns at once.
///
/// A column runs until it claims convergence by its recurrence, or ends; from then on its coefficients are zero and it
/// stands still. The true residual decides whether a claim holds.

#ifndef LACUNA_SOLVERS_KRYLOV_STEPS_COLUMN_STEPS_H
#define LACUNA_SOLVERS_KRYLOV_STEPS_COLUMN_STEPS_H

#include "solvers/krylov/steps/bicgstab.h"
#include "solvers/krylov/steps/cg.h"
#include "solvers/krylov/steps/gmres.h"
#include "solvers/krylov/steps/golub_kahan.h"
#include "solvers/krylov/steps/minres.h"

/// A step for one column whose coefficients are `stride` pairs apart.
LAC_STEP_FUNCTION lac_column_step_run(lac_column_step step, lac_pair *s, int64_t stride,
                                      const lac_step_numbers *numbers) {
#define LAC_STEP(name)                   \
  case LAC_STEP_##name:                  \
    lac_step_##name(s, stride, numbers); \
    break;
  switch (step) {
    LAC_STEPS(LAC_STEP)
    case LAC_STEPS_END:
      break;
  }
#undef LAC_STEP
}

#endif
