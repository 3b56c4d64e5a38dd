// SPDX-License-Identifier: Apache-2.0
/// @file bicgstab.h
/// The scalar part of BiCGSTAB (solvers/krylov/bicgstab.c).

#ifndef LACUNA_SOLVERS_KRYLOV_STEPS_BICGSTAB_H
#define LACUNA_SOLVERS_KRYLOV_STEPS_BICGSTAB_H

#include "solvers/krylov/steps/common.h"

enum {
  LAC_BICGSTAB_RHO = LAC_SLOTS_COMMON,  // (r0, r), and whether it is the first of a cycle
  LAC_BICGSTAB_NEW_RHO,
  LAC_BICGSTAB_START,  // |r0|
  LAC_BICGSTAB_RV,     // (r0, v)
  LAC_BICGSTAB_TS,     // (t, s)
  LAC_BICGSTAB_TT,     // (t, t)
  LAC_BICGSTAB_ALPHA,
  LAC_BICGSTAB_BETA,
  LAC_BICGSTAB_OMEGA,
  LAC_BICGSTAB_STEP,   // omega for x, where t is scaled
  LAC_BICGSTAB_RANGE,  // the power of two by which t is scaled
  LAC_BICGSTAB_BEST,   // the smallest residual for which x is kept
  LAC_BICGSTAB_TAKE,   // 1 where x goes to the vector that keeps it, or comes back
  LAC_BICGSTAB_SLOTS
};

/// A cycle begins with r0 = r.
LAC_STEP_FUNCTION lac_step_bicgstab_begin(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  lac_pair zero = lac_pair_of(0, 0);
  (void)numbers;
  LAC_SLOT(LAC_BICGSTAB_RHO) = LAC_SLOT(LAC_SLOT_SQUARE);
  LAC_SLOT(LAC_BICGSTAB_START) = LAC_SLOT(LAC_BICGSTAB_BEST) = lac_pair_of(sqrt(LAC_SLOT(LAC_SLOT_SQUARE).re), 0);
  LAC_SLOT(LAC_BICGSTAB_ALPHA) = LAC_SLOT(LAC_BICGSTAB_BETA) = LAC_SLOT(LAC_BICGSTAB_OMEGA) = zero;
  LAC_SLOT(LAC_BICGSTAB_STEP) = zero;
}

/// A quantity is zero: start again with another r0, unless this was the first iteration of a cycle.
LAC_STEP_FUNCTION lac_bicgstab_fail(lac_pair *s, int64_t stride, int is_first, lac_column_fault fault, lac_pair what) {
  double size = lac_pair_abs(what);
  if (!lac_pair_is_finite(what)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, size);
  } else {
    lac_column_end(s, stride, is_first ? LAC_COLUMN_BROKE_DOWN : LAC_COLUMN_CLAIMS, fault, size);
  }
}

LAC_STEP_FUNCTION lac_step_bicgstab_alpha(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  lac_pair rv = LAC_SLOT(LAC_BICGSTAB_RV), rho = LAC_SLOT(LAC_BICGSTAB_RHO), alpha;
  LAC_SLOT(LAC_BICGSTAB_ALPHA) = lac_pair_of(0, 0);
  if (!lac_column_runs(s)) return;
  alpha = lac_pair_div(rho, rv);
  if (lac_pair_is_zero(rv) || !lac_pair_is_finite(alpha)) {
    lac_bicgstab_fail(s, stride, numbers->iteration == 0, LAC_FAULT_SHADOW, rv);
  } else {
    LAC_SLOT(LAC_BICGSTAB_ALPHA) = alpha;
  }
}

/// s is known, by (s, s): t = A s will be about |s / alpha|, and is scaled where its square would leave the range.
LAC_STEP_FUNCTION lac_step_bicgstab_half(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double size = sqrt(LAC_SLOT(LAC_SLOT_SQUARE).re) / lac_pair_abs(LAC_SLOT(LAC_BICGSTAB_ALPHA)), scale = 1;
  int exponent;
  if (size > 0 && isfinite(size) && !(size >= numbers->low && size <= numbers->high)) {
    (void)frexp(size, &exponent);
    scale = ldexp(1.0, -exponent);
  }
  LAC_SLOT(LAC_BICGSTAB_RANGE) = lac_pair_of(scale, 0);
}

LAC_STEP_FUNCTION lac_step_bicgstab_omega(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  lac_pair ts = LAC_SLOT(LAC_BICGSTAB_TS);
  double tt = LAC_SLOT(LAC_BICGSTAB_TT).re, square = LAC_SLOT(LAC_SLOT_SQUARE).re;
  double scale = LAC_SLOT(LAC_BICGSTAB_RANGE).re;
  lac_pair omega = lac_pair_times(1 / tt, ts);
  LAC_SLOT(LAC_BICGSTAB_OMEGA) = LAC_SLOT(LAC_BICGSTAB_STEP) = lac_pair_of(0, 0);
  if (!lac_column_runs(s) || sqrt(square) <= LAC_SLOT(LAC_SLOT_RESIDUAL).im) return;
  if (!(lac_pair_abs(ts) > 1e-14 * sqrt(tt) * sqrt(square)) || !lac_pair_is_finite(omega)) {
    lac_bicgstab_fail(s, stride, numbers->iteration == 0, LAC_FAULT_STABILISER, ts);
    return;
  }
  LAC_SLOT(LAC_BICGSTAB_OMEGA) = omega;
  LAC_SLOT(LAC_BICGSTAB_STEP) = lac_pair_times(scale, omega);
}

/// (r, r) and (r0, r) of the new residual are known.
LAC_STEP_FUNCTION lac_step_bicgstab_end(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  lac_pair rho = LAC_SLOT(LAC_BICGSTAB_NEW_RHO), ratio;
  double norm = sqrt(LAC_SLOT(LAC_SLOT_SQUARE).re);
  LAC_SLOT(LAC_BICGSTAB_BETA) = LAC_SLOT(LAC_BICGSTAB_TAKE) = lac_pair_of(0, 0);
  if (!lac_column_runs(s)) return;
  lac_column_count(s, stride, numbers, norm);
  if (norm < 0.7 * LAC_SLOT(LAC_BICGSTAB_BEST).re) {
    LAC_SLOT(LAC_BICGSTAB_BEST) = lac_pair_of(norm, 0);
    LAC_SLOT(LAC_BICGSTAB_TAKE) = lac_pair_of(1, 0);
  }
  if (!lac_column_runs(s)) return;
  ratio = lac_pair_div(LAC_SLOT(LAC_BICGSTAB_ALPHA), LAC_SLOT(LAC_BICGSTAB_STEP));
  ratio = lac_pair_mul(lac_pair_div(rho, LAC_SLOT(LAC_BICGSTAB_RHO)), ratio);
  if (lac_pair_abs(rho) <= 1e-14 * norm * LAC_SLOT(LAC_BICGSTAB_START).re || !lac_pair_is_finite(ratio)) {
    lac_bicgstab_fail(s, stride, 0, LAC_FAULT_SHADOW, rho);
    return;
  }
  LAC_SLOT(LAC_BICGSTAB_BETA) = ratio;
  LAC_SLOT(LAC_BICGSTAB_RHO) = rho;
}

/// After a cycle: 1 where the x that was kept is better than the last.
LAC_STEP_FUNCTION lac_step_bicgstab_keep(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double last = LAC_SLOT(LAC_SLOT_RESIDUAL).re, best = LAC_SLOT(LAC_BICGSTAB_BEST).re;
  (void)numbers;
  LAC_SLOT(LAC_BICGSTAB_TAKE) =
      lac_pair_of(LAC_SLOT(LAC_SLOT_STATUS).re != LAC_COLUMN_CONVERGED && !(last <= best) ? 1 : 0, 0);
}

#endif
