// SPDX-License-Identifier: Apache-2.0
/// @file column_steps.h
/// The scalar part of Krylov methods: what becomes of the coefficients of one column. Plain C that a device compiler takes
/// too; a backend runs it for all columns at once.
///
/// A column runs until it claims convergence by its recurrence, or ends; from then on its coefficients are zero and it
/// stands still. The true residual decides whether a claim holds.

#ifndef LACUNA_CORE_COLUMN_STEPS_H
#define LACUNA_CORE_COLUMN_STEPS_H

#include <math.h>

#include "core/columns.h"

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
  LAC_FAULT_CLAIMS           // claims that did not hold
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
  LAC_SLOTS_COMMON
};

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

// -- every method ----------------------------------------------------------------------------------------------------

/// From (b, b) in SQUARE, or |b| in RESIDUAL where that is out of range: the scale. A b that is zero makes x zero; one that is not finite makes it NaN.
LAC_STEP_FUNCTION lac_step_open(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double norm = sqrt(LAC_SLOT(LAC_SLOT_SQUARE).re), scale = 1;
  int exponent;
  if (!(norm >= numbers->low && norm <= numbers->high)) {
    norm = LAC_SLOT(LAC_SLOT_RESIDUAL).re;
    if (norm > 0 && isfinite(norm)) {
      (void)frexp(norm, &exponent);
      scale = ldexp(1, 1 - exponent > 1000 ? 1000 : 1 - exponent);
    }
  }
  LAC_SLOT(LAC_SLOT_STATUS) = lac_pair_of(LAC_COLUMN_RUNS, LAC_FAULT_NONE);
  LAC_SLOT(LAC_SLOT_COUNT) = LAC_SLOT(LAC_SLOT_DETAIL) = LAC_SLOT(LAC_SLOT_CLAIMS) = lac_pair_of(0, 0);
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

/// A claim that did not hold: the column goes on, unless such claims have led nowhere.
LAC_STEP_FUNCTION lac_column_disclaim(lac_pair *s, int64_t stride, double norm) {
  lac_pair *claims = &LAC_SLOT(LAC_SLOT_CLAIMS), *best = &LAC_SLOT(LAC_SLOT_BEST);
  claims->re = norm > 0.5 * best->im ? claims->re + 1 : 0;
  if (claims->re >= 3) {
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

/// An iteration has brought |r|, by the recurrence.
LAC_STEP_FUNCTION lac_column_count(lac_pair *s, int64_t stride, const lac_step_numbers *numbers, double norm) {
  lac_pair *count = &LAC_SLOT(LAC_SLOT_COUNT), *best = &LAC_SLOT(LAC_SLOT_BEST);
  count->re += 1;
  LAC_SLOT(LAC_SLOT_RESIDUAL).re = norm;
  if (norm < 0.99 * best->re) best->re = norm, count->im = count->re;
  if (!isfinite(norm)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, norm);
  } else if (norm <= LAC_SLOT(LAC_SLOT_RESIDUAL).im) {
    lac_column_end(s, stride, LAC_COLUMN_CLAIMS, LAC_FAULT_NONE, 0);
  } else if (count->re - count->im >= (double)numbers->window) {
    lac_column_end(s, stride, LAC_COLUMN_STAGNATED, LAC_FAULT_NONE, count->re - count->im);
  }
}

// -- conjugate gradients ---------------------------------------------------------------------------------------------

static inline LAC_DEVICE int lac_is_positive(lac_pair a) { return a.re > 0 && fabs(a.im) <= 0.01 * a.re; }

LAC_STEP_FUNCTION lac_step_cg_alpha(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  lac_pair pq = LAC_SLOT(LAC_CG_PQ), alpha = lac_pair_of(0, 0);
  (void)numbers;
  if (lac_column_runs(s)) {
    if (!lac_pair_is_finite(pq)) {
      lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, pq.re);
    } else if (!lac_is_positive(pq)) {
      lac_column_end(s, stride, LAC_COLUMN_BROKE_DOWN, LAC_FAULT_CURVATURE, pq.re);
    } else {
      alpha = lac_pair_of(LAC_SLOT(LAC_CG_RZ).re / pq.re, 0);
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

// -- GMRES -----------------------------------------------------------------------------------------------------------

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
  if (next <= 1e-15 * length) next = 0;  // what is left is rounding: the space is invariant
  lac_pair r = LAC_SLOT(LAC_GMRES_R(m, j, j)), g = LAC_SLOT(LAC_GMRES_G(m, j)), phase;
  above = lac_pair_abs(r);
  size = hypot(above, next);
  if (size <= 1e-14 * length || length == 0) {
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
