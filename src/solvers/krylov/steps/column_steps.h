// SPDX-License-Identifier: Apache-2.0
/// @file column_steps.h
/// The scalar part of Krylov methods: what becomes of the coefficients of one column. Plain C that a device compiler
/// takes too; a backend runs it for all columns at once.
///
/// A column runs until it claims convergence by its recurrence, or ends; from then on its coefficients are zero and it
/// stands still. The true residual decides whether a claim holds.

#ifndef LACUNA_SOLVERS_KRYLOV_STEPS_COLUMN_STEPS_H
#define LACUNA_SOLVERS_KRYLOV_STEPS_COLUMN_STEPS_H

#include "kernels/columns.h"

#define LAC_STEP_HEADERS
#include "solvers/krylov/krylov.def"

/// A step for one column whose coefficients are `stride` pairs apart.
LAC_STEP_FUNCTION lac_column_step_run(lac_column_step step, lac_pair *s, int64_t stride,
                                      const lac_step_numbers *numbers) {
  switch (step) {
#define LAC_STEP(name)                   \
  case LAC_STEP_##name:                  \
    lac_step_##name(s, stride, numbers); \
    break;
#include "solvers/krylov/krylov.def"
    case LAC_STEP_END:
      break;
  }
}

#endif
