// SPDX-License-Identifier: Apache-2.0
/// @file minres.h
/// The scalar part of MINRES (solvers/krylov/minres.c).

#ifndef LACUNA_SOLVERS_KRYLOV_STEPS_MINRES_H
#define LACUNA_SOLVERS_KRYLOV_STEPS_MINRES_H

#include "solvers/krylov/steps/common.h"

enum {
  LAC_MINRES_SQUARE = LAC_SLOTS_COMMON,  // (r2, z)
  LAC_MINRES_NORM,                       // |A|, about; 1 once a cycle has ended for |A r|
  LAC_MINRES_ALPHA,                      // (v, A v)
  LAC_MINRES_BETA,
  LAC_MINRES_INVERSE,  // 1 / beta
  LAC_MINRES_BEFORE,   // beta / beta_old: what r1 takes part with
  LAC_MINRES_SHARE,    // alpha / beta: what r2 does
  LAC_MINRES_COSINE,
  LAC_MINRES_SINE,
  LAC_MINRES_BAR,  // delta bar, epsilon
  LAC_MINRES_PHI,
  LAC_MINRES_LEFT,  // phi bar: the residual in the norm of M^-1
  LAC_MINRES_W1,    // the new w is W1 w1 + V v - W2 w2
  LAC_MINRES_W2,
  LAC_MINRES_V,
  LAC_MINRES_KEEP,  // the residual is KEEP r + NEXT r2
  LAC_MINRES_NEXT,
  LAC_MINRES_SLOTS
};

/// (r2, z) is known: the next beta. False where the column ends.
static inline LAC_DEVICE int lac_minres_beta(lac_pair *s, int64_t stride, double *beta) {
  lac_pair square = LAC_SLOT(LAC_MINRES_SQUARE);
  if (!lac_pair_is_finite(square)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, square.re);
    return 0;
  }
  if (square.re < 0) {
    lac_column_end(s, stride, LAC_COLUMN_BROKE_DOWN, LAC_FAULT_PRECONDITIONER, square.re);
    return 0;
  }
  *beta = sqrt(square.re);
  return 1;
}

LAC_STEP_FUNCTION lac_step_minres_begin(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double beta = 0;
  (void)numbers;
  for (int slot = LAC_MINRES_ALPHA; slot < LAC_MINRES_SLOTS; ++slot) LAC_SLOT(slot) = lac_pair_of(0, 0);
  if (!lac_column_runs(s) || !lac_minres_beta(s, stride, &beta)) return;
  if (beta == 0) {
    lac_column_end(s, stride, LAC_COLUMN_BROKE_DOWN, LAC_FAULT_PRECONDITIONER, beta);
    return;
  }
  LAC_SLOT(LAC_MINRES_BETA) = lac_pair_of(beta, 0);
  LAC_SLOT(LAC_MINRES_INVERSE) = lac_pair_of(1 / beta, 0);
  LAC_SLOT(LAC_MINRES_COSINE) = lac_pair_of(-1, 0);
  LAC_SLOT(LAC_MINRES_LEFT) = lac_pair_of(beta, 0);
}

LAC_STEP_FUNCTION lac_step_minres_alpha(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  lac_pair alpha = LAC_SLOT(LAC_MINRES_ALPHA);
  (void)numbers;
  LAC_SLOT(LAC_MINRES_SHARE) = lac_pair_of(0, 0);
  if (!lac_column_runs(s)) return;
  if (!lac_pair_is_finite(alpha)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, alpha.re);
    return;
  }
  LAC_SLOT(LAC_MINRES_SHARE) = lac_pair_of(alpha.re * LAC_SLOT(LAC_MINRES_INVERSE).re, 0);
}

/// What stands still: no coefficient moves anything.
LAC_STEP_FUNCTION lac_minres_rest(lac_pair *s, int64_t stride) {
  lac_pair zero = lac_pair_of(0, 0);
  LAC_SLOT(LAC_MINRES_PHI) = LAC_SLOT(LAC_MINRES_INVERSE) = LAC_SLOT(LAC_MINRES_BEFORE) = LAC_SLOT(LAC_MINRES_NEXT) =
      zero;
  LAC_SLOT(LAC_MINRES_W1) = LAC_SLOT(LAC_MINRES_W2) = LAC_SLOT(LAC_MINRES_V) = zero;
  LAC_SLOT(LAC_MINRES_KEEP) = lac_pair_of(1, 0);
}

/// |A r| / |r| of the last x, in the norms of M, is zero relative to |A|: that solves the least-squares problem. Where
/// it is only small the true residual shall say so: once, a cycle ends for it.
static inline LAC_DEVICE int lac_minres_is_least(lac_pair *s, int64_t stride, const lac_step_numbers *numbers,
                                                 double size, double normal) {
  lac_pair *norm = &LAC_SLOT(LAC_MINRES_NORM);
  int is_first = LAC_SLOT(LAC_MINRES_BEFORE).re == 0;
  double share;
  norm->re = fmax(norm->re, size);
  share = norm->re > 0 ? normal / norm->re : 0;
  if (share <= (is_first ? 200 : 20) * numbers->epsilon) {
    lac_column_end(s, stride, LAC_COLUMN_STAGNATED, LAC_FAULT_NORMAL, share);
    return 1;
  }
  if (share > 1000 * numbers->epsilon || norm->im != 0 || is_first) return 0;
  norm->im = 1;
  lac_column_end(s, stride, LAC_COLUMN_CLAIMS, LAC_FAULT_NORMAL, share);
  return 1;
}

/// The next column of the tridiagonal matrix is complete: rotate it, and count where phi bar is the residual itself.
LAC_STEP_FUNCTION lac_step_minres_rotate(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double alpha = LAC_SLOT(LAC_MINRES_ALPHA).re, old = LAC_SLOT(LAC_MINRES_BETA).re, beta = 0;
  double cosine = LAC_SLOT(LAC_MINRES_COSINE).re, sine = LAC_SLOT(LAC_MINRES_SINE).re;
  lac_pair *bar = &LAC_SLOT(LAC_MINRES_BAR), *left = &LAC_SLOT(LAC_MINRES_LEFT);
  double epsilon = bar->im, delta = cosine * bar->re + sine * alpha, gamma_bar = sine * bar->re - cosine * alpha, gamma,
         size;
  if (!lac_column_runs(s) || !lac_minres_beta(s, stride, &beta)) {
    lac_minres_rest(s, stride);
    return;
  }
  size = fabs(alpha) + beta + (LAC_SLOT(LAC_MINRES_BEFORE).re > 0 ? old : 0);  // the first beta is not of the matrix
  *bar = lac_pair_of(-cosine * beta, sine * beta);
  gamma = hypot(gamma_bar, beta);
  if (lac_minres_is_least(s, stride, numbers, size, hypot(gamma_bar, bar->re))) {
    lac_minres_rest(s, stride);
    return;
  }
  cosine = gamma_bar / gamma, sine = beta / gamma;
  LAC_SLOT(LAC_MINRES_PHI) = lac_pair_of(cosine * left->re, 0);
  left->re *= sine;
  LAC_SLOT(LAC_MINRES_COSINE) = lac_pair_of(cosine, 0);
  LAC_SLOT(LAC_MINRES_SINE) = lac_pair_of(sine, 0);
  LAC_SLOT(LAC_MINRES_W1) = lac_pair_of(-epsilon / gamma, 0);
  LAC_SLOT(LAC_MINRES_W2) = lac_pair_of(delta / gamma, 0);
  LAC_SLOT(LAC_MINRES_V) = lac_pair_of(1 / gamma, 0);
  LAC_SLOT(LAC_MINRES_KEEP) = lac_pair_of(sine * sine, 0);
  LAC_SLOT(LAC_MINRES_NEXT) = lac_pair_of(beta > 0 ? -left->re * cosine / beta : 0, 0);
  LAC_SLOT(LAC_MINRES_BETA) = lac_pair_of(beta, 0);
  LAC_SLOT(LAC_MINRES_BEFORE) = lac_pair_of(beta / old, 0);
  LAC_SLOT(LAC_MINRES_INVERSE) = lac_pair_of(beta > 0 ? 1 / beta : 0, 0);
  if (!numbers->has_m) lac_column_count(s, stride, numbers, fabs(left->re));
}

/// With a preconditioner phi bar is another norm: r itself is kept, and (r, r) is known.
LAC_STEP_FUNCTION lac_step_minres_residual(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  if (lac_column_runs(s)) lac_column_count(s, stride, numbers, sqrt(LAC_SLOT(LAC_SLOT_SQUARE).re));
}

#endif
