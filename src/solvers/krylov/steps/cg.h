// SPDX-License-Identifier: Apache-2.0
/// @file cg.h
/// The scalar part of conjugate gradients (solvers/krylov/cg.c).

#ifndef LACUNA_SOLVERS_KRYLOV_STEPS_CG_H
#define LACUNA_SOLVERS_KRYLOV_STEPS_CG_H

#include "solvers/krylov/steps/common.h"

/// Slots of CG.
enum {
  LAC_CG_PQ = LAC_SLOTS_COMMON,  // (p, A p)
  LAC_CG_RZ,                     // (r, z)
  LAC_CG_NEW_RZ,
  LAC_CG_QZ,  // (q, z)
  LAC_CG_ALPHA,
  LAC_CG_BETA,
  LAC_CG_SLOTS
};

static inline LAC_DEVICE int lac_is_positive(lac_pair a) { return a.re > 0 && fabs(a.im) <= 0.01 * a.re; }

/// alpha = (p, r) / (p, q), where (p, r) is (z, r): complex where M is Hermitian only to its own rounding, as one of a
/// lower precision is. Its real part alone would leave the rest of r along p, which the next direction is freed of.
LAC_STEP_FUNCTION lac_step_cg_alpha(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  lac_pair pq = LAC_SLOT(LAC_CG_PQ), alpha = lac_pair_of(0, 0);
  (void)numbers;
  if (lac_column_runs(s)) {
    if (!lac_pair_is_finite(pq)) {
      lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, pq.re);
    } else if (!lac_is_positive(pq)) {
      lac_column_end(s, stride, LAC_COLUMN_BROKE_DOWN, LAC_FAULT_CURVATURE, pq.re);
    } else {
      alpha = lac_pair_of(LAC_SLOT(LAC_CG_RZ).re / pq.re, -LAC_SLOT(LAC_CG_RZ).im / pq.re);
    }
  }
  LAC_SLOT(LAC_CG_ALPHA) = alpha;
}

LAC_STEP_FUNCTION lac_step_cg_residual(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  if (lac_column_runs(s)) lac_column_count(s, stride, numbers, sqrt(LAC_SLOT(LAC_SLOT_SQUARE).re));
}

/// (r, z) of the new residual is known: the next direction, which in the first iteration of a cycle is z itself.
LAC_STEP_FUNCTION lac_cg_turn(lac_pair *s, int64_t stride, const lac_step_numbers *numbers, lac_pair beta) {
  lac_pair rz = LAC_SLOT(LAC_CG_NEW_RZ);
  LAC_SLOT(LAC_CG_BETA) = lac_pair_of(0, 0);
  if (!lac_column_runs(s)) return;
  if (numbers->iteration == 0) beta = lac_pair_of(0, 0);
  if (!lac_pair_is_finite(rz) || !lac_pair_is_finite(beta)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, rz.re);
  } else if (!lac_is_positive(rz)) {
    lac_column_end(s, stride, LAC_COLUMN_BROKE_DOWN, LAC_FAULT_PRECONDITIONER, rz.re);
  } else {
    LAC_SLOT(LAC_CG_RZ) = rz;
    LAC_SLOT(LAC_CG_BETA) = beta;
  }
}

LAC_STEP_FUNCTION lac_step_cg_beta(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  lac_cg_turn(s, stride, numbers, lac_pair_of(LAC_SLOT(LAC_CG_NEW_RZ).re / LAC_SLOT(LAC_CG_RZ).re, 0));
}

/// beta = -(q, z) / (p, q): the next direction is conjugate to this one whatever M was.
LAC_STEP_FUNCTION lac_step_cg_flexible(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  lac_cg_turn(s, stride, numbers, lac_pair_times(-1 / LAC_SLOT(LAC_CG_PQ).re, LAC_SLOT(LAC_CG_QZ)));
}

/// Without a preconditioner z is r.
LAC_STEP_FUNCTION lac_step_cg_plain(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  LAC_SLOT(LAC_CG_NEW_RZ) = LAC_SLOT(LAC_SLOT_SQUARE);
  lac_step_cg_beta(s, stride, numbers);
}

#endif
