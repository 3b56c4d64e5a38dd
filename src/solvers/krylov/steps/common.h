// SPDX-License-Identifier: Apache-2.0
/// @file common.h
/// What the steps of all Krylov methods share: how a column stands, its slots, pairs of doubles, residuals.

#ifndef LACUNA_SOLVERS_KRYLOV_STEPS_COMMON_H
#define LACUNA_SOLVERS_KRYLOV_STEPS_COMMON_H

#include <math.h>

#include "kernels/columns.h"

#ifndef LAC_DEVICE
#define LAC_DEVICE
#endif

/// How a column stands.
typedef enum lac_column_status {
  LAC_COLUMN_RUNS,
  LAC_COLUMN_CLAIMS,  // its recurrence says that it has converged
  LAC_COLUMN_CONVERGED,
  LAC_COLUMN_LIMIT,
  LAC_COLUMN_STAGNATED,
  LAC_COLUMN_BROKE_DOWN,
  LAC_COLUMN_DIVERGED
} lac_column_status;

/// What a method could not divide by.
typedef enum lac_column_fault {
  LAC_FAULT_NONE,
  LAC_FAULT_CURVATURE,       // (p, A p) <= 0
  LAC_FAULT_PRECONDITIONER,  // (r, M^-1 r) <= 0
  LAC_FAULT_SINGULAR,        // A is singular on the Krylov space
  LAC_FAULT_SHADOW,          // (r~, r) = 0
  LAC_FAULT_STABILISER,      // (t, s) = 0
  LAC_FAULT_NORMAL,          // A^H r = 0: least squares
  LAC_FAULT_CLAIMS,          // claims that did not hold
  LAC_FAULT_RANGE,           // x, scaled back, overflows
  LAC_FAULT_ROUNDING         // none: the residual is as small as rounding lets it be
} lac_column_fault;

/// Slots of every method. The first, up to LAC_SLOTS_SEEN, are what the host reads.
enum {
  LAC_SLOT_STATUS,    // lac_column_status, lac_column_fault
  LAC_SLOT_RESIDUAL,  // |r|, and what is asked of it, both scaled
  LAC_SLOT_COUNT,     // iterations, and the one with the smallest residual
  LAC_SLOT_B,         // |b| scaled, the first residual scaled
  LAC_SLOT_DETAIL,    // the quantity that broke down
  LAC_SLOTS_SEEN,
  LAC_SLOT_SCALE = LAC_SLOTS_SEEN,  // the power of two that b and x are multiplied by
  LAC_SLOT_UNSCALE,                 // its inverse
  LAC_SLOT_ONE,                     // 1
  LAC_SLOT_ALONG,                   // the part along a vector of the null space
  LAC_SLOT_SQUARE,                  // (r, r)
  LAC_SLOT_BEST,                    // the smallest residual, the true one of the last claim
  LAC_SLOT_CLAIMS,                  // claims in a row that did not hold
  LAC_SLOT_NEAR,   // whether the last true residual may be rounding of A x, and the smallest so far; the host says so
  LAC_SLOT_STOP,   // of a column that runs again: the iteration at which it ends, and the old detail
  LAC_SLOT_ENDED,  // how it had ended: status and fault
  LAC_SLOT_SPENT,  // the iterations that it had taken
  LAC_SLOT_KEEP,   // 1, and 0 where x goes back to its start
  LAC_SLOTS_COMMON
};

#define LAC_STEP_FUNCTION static inline LAC_DEVICE void
#define LAC_SLOT(number) s[(number)*stride]

static inline LAC_DEVICE lac_pair lac_pair_of(double re, double im) {
  lac_pair p;
  p.re = re, p.im = im;
  return p;
}
static inline LAC_DEVICE lac_pair lac_pair_add(lac_pair a, lac_pair b) { return lac_pair_of(a.re + b.re, a.im + b.im); }
static inline LAC_DEVICE lac_pair lac_pair_sub(lac_pair a, lac_pair b) { return lac_pair_of(a.re - b.re, a.im - b.im); }
static inline LAC_DEVICE lac_pair lac_pair_mul(lac_pair a, lac_pair b) {
  return lac_pair_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
static inline LAC_DEVICE lac_pair lac_pair_conj(lac_pair a) { return lac_pair_of(a.re, -a.im); }
static inline LAC_DEVICE lac_pair lac_pair_times(double c, lac_pair a) { return lac_pair_of(c * a.re, c * a.im); }
static inline LAC_DEVICE double lac_pair_abs(lac_pair a) { return a.im == 0 ? fabs(a.re) : hypot(a.re, a.im); }
/// a / b by a scaled b, so that squares stay in range.
static inline LAC_DEVICE lac_pair lac_pair_div(lac_pair a, lac_pair b) {
  double size = lac_pair_abs(b);
  lac_pair unit = lac_pair_of(b.re / size, -b.im / size);
  a = lac_pair_mul(a, unit);
  return lac_pair_of(a.re / size, a.im / size);
}
static inline LAC_DEVICE int lac_pair_is_finite(lac_pair a) { return isfinite(a.re) && isfinite(a.im); }
static inline LAC_DEVICE int lac_pair_is_zero(lac_pair a) { return a.re == 0 && a.im == 0; }

static inline LAC_DEVICE int lac_column_runs(const lac_pair *s) { return s[LAC_SLOT_STATUS].re == LAC_COLUMN_RUNS; }

static inline LAC_DEVICE void lac_column_end(lac_pair *s, int64_t stride, lac_column_status status,
                                             lac_column_fault fault, double detail) {
  LAC_SLOT(LAC_SLOT_STATUS) = lac_pair_of(status, fault);
  LAC_SLOT(LAC_SLOT_DETAIL) = lac_pair_of(detail, 0);
}

/// From (b, b) in SQUARE, or |b| in RESIDUAL where that is out of range: the scale. A b that is zero makes x zero; one
/// that is not finite makes it NaN.
LAC_STEP_FUNCTION lac_step_open(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double norm = sqrt(LAC_SLOT(LAC_SLOT_SQUARE).re), scale = 1;
  int exponent;
  if (!(norm >= numbers->low && norm <= numbers->high)) {
    norm = LAC_SLOT(LAC_SLOT_RESIDUAL).re;
    if (norm > 0 && isfinite(norm)) {
      (void)frexp(norm, &exponent);
      exponent = 1 - exponent > numbers->reach ? numbers->reach : 1 - exponent;
      scale = ldexp(1.0, exponent < -numbers->reach ? -numbers->reach : exponent);
    }
  }
  LAC_SLOT(LAC_SLOT_STATUS) = lac_pair_of(LAC_COLUMN_RUNS, LAC_FAULT_NONE);
  LAC_SLOT(LAC_SLOT_COUNT) = LAC_SLOT(LAC_SLOT_DETAIL) = LAC_SLOT(LAC_SLOT_CLAIMS) = lac_pair_of(0, 0);
  LAC_SLOT(LAC_SLOT_STOP) = LAC_SLOT(LAC_SLOT_SPENT) = LAC_SLOT(LAC_SLOT_NEAR) = lac_pair_of(0, 0);
  LAC_SLOT(LAC_SLOT_BEST) = lac_pair_of(INFINITY, INFINITY);
  LAC_SLOT(LAC_SLOT_ONE) = lac_pair_of(1, 0);
  LAC_SLOT(LAC_SLOT_B) = lac_pair_of(norm * scale, 0);
  LAC_SLOT(LAC_SLOT_SCALE) = lac_pair_of(norm > 0 ? scale : 0, 0);
  LAC_SLOT(LAC_SLOT_UNSCALE) = lac_pair_of(isfinite(norm) ? 1 / scale : NAN, 0);
}

/// From (b, b) of the scaled b, freed of the null space: |b| and the tolerance.
LAC_STEP_FUNCTION lac_step_norm(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double whole = LAC_SLOT(LAC_SLOT_B).re, norm = sqrt(LAC_SLOT(LAC_SLOT_SQUARE).re), tolerance;
  if (!isfinite(whole)) norm = whole;
  if (norm <= numbers->floor * whole) norm = 0;
  tolerance = fmax(numbers->rtol * norm, numbers->atol * LAC_SLOT(LAC_SLOT_SCALE).re);
  LAC_SLOT(LAC_SLOT_B).re = norm;
  LAC_SLOT(LAC_SLOT_RESIDUAL) = lac_pair_of(norm, tolerance);
  if (norm == 0) {
    lac_column_end(s, stride, LAC_COLUMN_CONVERGED, LAC_FAULT_NONE, 0);
    LAC_SLOT(LAC_SLOT_SCALE) = lac_pair_of(0, 0);
  } else if (!isfinite(norm)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, norm);
    LAC_SLOT(LAC_SLOT_UNSCALE) = lac_pair_of(NAN, 0);
  }
}

/// Below which residual a column claims to have converged: what is asked, or, where the last claim did not hold and its
/// true residual may be rounding, a quarter of that. If it is rounding, the true residual will not have followed.
static inline LAC_DEVICE double lac_column_claims_at(const lac_pair *s, int64_t stride) {
  double asked = LAC_SLOT(LAC_SLOT_RESIDUAL).im, last = LAC_SLOT(LAC_SLOT_BEST).im;
  return LAC_SLOT(LAC_SLOT_NEAR).re > 0 && last < INFINITY ? fmax(asked, 0.25 * last) : asked;
}

/// A claim that did not hold: the column goes on, unless such claims have led nowhere, or it is at rounding again.
LAC_STEP_FUNCTION lac_column_disclaim(lac_pair *s, int64_t stride, double norm) {
  lac_pair *claims = &LAC_SLOT(LAC_SLOT_CLAIMS), *best = &LAC_SLOT(LAC_SLOT_BEST), near = LAC_SLOT(LAC_SLOT_NEAR);
  claims->re = norm > 0.5 * best->im ? claims->re + 1 : 0;
  if (claims->re >= 3 || (near.re > 0 && norm > 0.5 * near.im && norm <= 1.5 * near.im)) {
    lac_column_end(s, stride, LAC_COLUMN_STAGNATED, LAC_FAULT_CLAIMS, LAC_SLOT(LAC_SLOT_COUNT).re - claims->im);
    return;
  }
  if (claims->re == 0) claims->im = LAC_SLOT(LAC_SLOT_COUNT).re;
  best->im = norm;
  LAC_SLOT(LAC_SLOT_STATUS) = lac_pair_of(LAC_COLUMN_RUNS, LAC_FAULT_NONE);
}

/// From the true (r, r): whether the column has arrived.
LAC_STEP_FUNCTION lac_step_look(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double norm = sqrt(LAC_SLOT(LAC_SLOT_SQUARE).re), b = LAC_SLOT(LAC_SLOT_B).re;
  int status = (int)LAC_SLOT(LAC_SLOT_STATUS).re;
  if (b == 0 || !isfinite(b)) return;
  LAC_SLOT(LAC_SLOT_RESIDUAL).re = norm;
  if (numbers->first) LAC_SLOT(LAC_SLOT_B).im = norm;
  if (norm <= LAC_SLOT(LAC_SLOT_RESIDUAL).im) {
    lac_column_end(s, stride, LAC_COLUMN_CONVERGED, LAC_FAULT_NONE, 0);
  } else if (status > LAC_COLUMN_CLAIMS) {
    return;
  } else if (!isfinite(norm)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, norm);
  } else if (status == LAC_COLUMN_CLAIMS) {
    lac_column_disclaim(s, stride, norm);
  }
  if (numbers->is_last && lac_column_runs(s)) lac_column_end(s, stride, LAC_COLUMN_LIMIT, LAC_FAULT_NONE, 0);
}

/// A column that runs again has come to its best iterate: it ends as it had ended.
LAC_STEP_FUNCTION lac_column_stop(lac_pair *s, int64_t stride) {
  lac_column_end(s, stride, (lac_column_status)LAC_SLOT(LAC_SLOT_ENDED).re,
                 (lac_column_fault)LAC_SLOT(LAC_SLOT_ENDED).im, LAC_SLOT(LAC_SLOT_STOP).im);
  LAC_SLOT(LAC_SLOT_COUNT) = LAC_SLOT(LAC_SLOT_SPENT);
}

/// A column that has failed and is ten times farther off than it was goes back to its start, and shall end where it was
/// best.
LAC_STEP_FUNCTION lac_step_again(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double norm = LAC_SLOT(LAC_SLOT_RESIDUAL).re, b = LAC_SLOT(LAC_SLOT_B).re, first = LAC_SLOT(LAC_SLOT_B).im;
  double best = LAC_SLOT(LAC_SLOT_BEST).re, at = LAC_SLOT(LAC_SLOT_COUNT).im;
  (void)numbers;
  LAC_SLOT(LAC_SLOT_KEEP) = lac_pair_of(1, 0);
  if (!(first <= best)) first = best;
  if (LAC_SLOT(LAC_SLOT_STATUS).re <= LAC_COLUMN_CONVERGED || !(b > 0) || norm <= 10 * first) return;
  if (!(best <= first) || LAC_SLOT(LAC_SLOT_SPENT).re > 0) at = 0;  // the second time x is the start itself
  LAC_SLOT(LAC_SLOT_ENDED) = LAC_SLOT(LAC_SLOT_STATUS);
  LAC_SLOT(LAC_SLOT_STOP) = lac_pair_of(at, LAC_SLOT(LAC_SLOT_DETAIL).re);
  LAC_SLOT(LAC_SLOT_SPENT) = LAC_SLOT(LAC_SLOT_COUNT);
  LAC_SLOT(LAC_SLOT_KEEP) = LAC_SLOT(LAC_SLOT_COUNT) = lac_pair_of(0, 0);
  LAC_SLOT(LAC_SLOT_CLAIMS) = LAC_SLOT(LAC_SLOT_NEAR) = lac_pair_of(0, 0);
  LAC_SLOT(LAC_SLOT_BEST) = lac_pair_of(INFINITY, INFINITY);
  LAC_SLOT(LAC_SLOT_STATUS) = lac_pair_of(LAC_COLUMN_RUNS, LAC_FAULT_NONE);
  if (LAC_SLOT(LAC_SLOT_STOP).re == 0) lac_column_stop(s, stride);
}

/// An iteration has brought |r|, by the recurrence.
LAC_STEP_FUNCTION lac_column_count(lac_pair *s, int64_t stride, const lac_step_numbers *numbers, double norm) {
  lac_pair *count = &LAC_SLOT(LAC_SLOT_COUNT), *best = &LAC_SLOT(LAC_SLOT_BEST);
  count->re += 1;
  LAC_SLOT(LAC_SLOT_RESIDUAL).re = norm;
  if (norm < 0.99 * best->re) best->re = norm, count->im = count->re;
  if (count->re == LAC_SLOT(LAC_SLOT_STOP).re) {
    lac_column_stop(s, stride);
  } else if (!isfinite(norm)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, norm);
  } else if (norm <= lac_column_claims_at(s, stride)) {
    lac_column_end(s, stride, LAC_COLUMN_CLAIMS, LAC_FAULT_NONE, 0);
  } else if (count->re - count->im >= (double)numbers->window) {
    lac_column_end(s, stride, LAC_COLUMN_STAGNATED, LAC_FAULT_NONE, count->re - count->im);
  }
}

#endif
