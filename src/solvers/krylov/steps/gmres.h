// SPDX-License-Identifier: Apache-2.0
/// @file gmres.h
/// The scalar part of GMRES (solvers/krylov/gmres.c).

#ifndef LACUNA_SOLVERS_KRYLOV_STEPS_GMRES_H
#define LACUNA_SOLVERS_KRYLOV_STEPS_GMRES_H

#include "solvers/krylov/steps/common.h"

/// Slots of GMRES, which keeps the triangle R, rotations and coefficients of m columns.
enum {
  LAC_GMRES_SQUARE = LAC_SLOTS_COMMON,  // (w, w)
  LAC_GMRES_INVERSE,                    // 1 / |w|
  LAC_GMRES_SIZE,                       // columns of R that count
  LAC_GMRES_LIVE,                       // 1, and 0 where the column stands still
  LAC_GMRES_FIRST                       // of those below
};
#define LAC_GMRES_H(m, i) (LAC_GMRES_FIRST + (int)(i))
#define LAC_GMRES_AGAIN(m, i) (LAC_GMRES_FIRST + (int)(m) + 1 + (int)(i))
#define LAC_GMRES_COSINE(m, i) (LAC_GMRES_FIRST + 2 * (int)(m) + 2 + (int)(i))
#define LAC_GMRES_SINE(m, i) (LAC_GMRES_FIRST + 3 * (int)(m) + 2 + (int)(i))
#define LAC_GMRES_G(m, i) (LAC_GMRES_FIRST + 4 * (int)(m) + 2 + (int)(i))
#define LAC_GMRES_Y(m, i) (LAC_GMRES_FIRST + 5 * (int)(m) + 3 + (int)(i))
#define LAC_GMRES_R(m, i, j) (LAC_GMRES_FIRST + 6 * (int)(m) + 3 + (int)(j) * ((int)(j) + 1) / 2 + (int)(i))
#define LAC_GMRES_SLOTS(m) LAC_GMRES_R(m, 0, m)

LAC_STEP_FUNCTION lac_step_gmres_begin(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  int64_t m = numbers->restart;
  double norm = LAC_SLOT(LAC_SLOT_RESIDUAL).re;
  LAC_SLOT(LAC_GMRES_G(m, 0)) = lac_pair_of(norm, 0);
  LAC_SLOT(LAC_GMRES_INVERSE) = lac_pair_of(lac_column_runs(s) ? 1 / norm : 0, 0);
  LAC_SLOT(LAC_GMRES_SIZE) = lac_pair_of(0, 0);
}

/// Rotate column j of H by the rotations so far: R(i, j).
LAC_STEP_FUNCTION lac_gmres_rotate(lac_pair *s, int64_t stride, int64_t m, int64_t j) {
  lac_pair above = lac_pair_add(LAC_SLOT(LAC_GMRES_H(m, 0)), LAC_SLOT(LAC_GMRES_AGAIN(m, 0)));
  for (int64_t i = 0; i < j; ++i) {
    lac_pair c = LAC_SLOT(LAC_GMRES_COSINE(m, i)), sine = LAC_SLOT(LAC_GMRES_SINE(m, i));
    lac_pair below = lac_pair_add(LAC_SLOT(LAC_GMRES_H(m, i + 1)), LAC_SLOT(LAC_GMRES_AGAIN(m, i + 1)));
    LAC_SLOT(LAC_GMRES_R(m, i, j)) = lac_pair_add(lac_pair_mul(c, above), lac_pair_mul(sine, below));
    above = lac_pair_sub(lac_pair_mul(c, below), lac_pair_mul(lac_pair_conj(sine), above));
  }
  LAC_SLOT(LAC_GMRES_R(m, j, j)) = above;
}

/// Column j of H is known, and |w|: a rotation [c s; -conj(s) c] with a real c makes the next entry zero.
LAC_STEP_FUNCTION lac_step_gmres_column(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  int64_t m = numbers->restart, j = numbers->iteration;
  double next = sqrt(LAC_SLOT(LAC_GMRES_SQUARE).re), above, size, length = next;
  LAC_SLOT(LAC_GMRES_INVERSE) = lac_pair_of(0, 0);
  if (!lac_column_runs(s)) return;
  for (int64_t i = 0; i <= j; ++i)
    length = hypot(length, lac_pair_abs(lac_pair_add(LAC_SLOT(LAC_GMRES_H(m, i)), LAC_SLOT(LAC_GMRES_AGAIN(m, i)))));
  lac_gmres_rotate(s, stride, m, j);
  if (!isfinite(length)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, length);
    return;
  }
  if (next <= 4 * numbers->epsilon * length) next = 0;  // what is left is rounding: the space is invariant
  lac_pair r = LAC_SLOT(LAC_GMRES_R(m, j, j)), g = LAC_SLOT(LAC_GMRES_G(m, j)), phase;
  above = lac_pair_abs(r);
  size = hypot(above, next);
  if (size <= 40 * numbers->epsilon * length || length == 0) {
    lac_column_end(s, stride, LAC_COLUMN_BROKE_DOWN, LAC_FAULT_SINGULAR, length);
    return;
  }
  phase = above > 0 ? lac_pair_times(1 / above, r) : lac_pair_of(1, 0);
  LAC_SLOT(LAC_GMRES_COSINE(m, j)) = lac_pair_of(above / size, 0);
  LAC_SLOT(LAC_GMRES_SINE(m, j)) = lac_pair_times(next / size, phase);
  LAC_SLOT(LAC_GMRES_R(m, j, j)) = lac_pair_times(size, phase);
  LAC_SLOT(LAC_GMRES_G(m, j + 1)) = lac_pair_times(-next / size, lac_pair_mul(lac_pair_conj(phase), g));
  LAC_SLOT(LAC_GMRES_G(m, j)) = lac_pair_times(above / size, g);
  LAC_SLOT(LAC_GMRES_SIZE) = lac_pair_of((double)(j + 1), 0);
  if (next > 0) LAC_SLOT(LAC_GMRES_INVERSE) = lac_pair_of(1 / next, 0);
  lac_column_count(s, stride, numbers, lac_pair_abs(LAC_SLOT(LAC_GMRES_G(m, j + 1))));
  if (!lac_column_runs(s)) LAC_SLOT(LAC_GMRES_INVERSE) = lac_pair_of(0, 0);
}

/// R y = g, and zeros behind; what is not finite moves nothing.
LAC_STEP_FUNCTION lac_step_gmres_solve(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  int64_t m = numbers->restart, size = (int64_t)LAC_SLOT(LAC_GMRES_SIZE).re;
  int is_finite = 1;
  for (int64_t i = m - 1; i >= 0; --i) {
    lac_pair sum = lac_pair_of(0, 0);
    if (i < size) {
      sum = LAC_SLOT(LAC_GMRES_G(m, i));
      for (int64_t j = i + 1; j < size; ++j)
        sum = lac_pair_sub(sum, lac_pair_mul(LAC_SLOT(LAC_GMRES_R(m, i, j)), LAC_SLOT(LAC_GMRES_Y(m, j))));
      sum = lac_pair_div(sum, LAC_SLOT(LAC_GMRES_R(m, i, i)));
      if (!lac_pair_is_finite(sum)) is_finite = 0;
    }
    LAC_SLOT(LAC_GMRES_Y(m, i)) = sum;
  }
  if (!is_finite) {
    for (int64_t i = 0; i < m; ++i) LAC_SLOT(LAC_GMRES_Y(m, i)) = lac_pair_of(0, 0);
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, NAN);
  }
  LAC_SLOT(LAC_GMRES_LIVE) = lac_pair_of(size > 0 && is_finite ? 1 : 0, 0);
}

#endif
