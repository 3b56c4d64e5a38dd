// SPDX-License-Identifier: Apache-2.0
/// @file golub_kahan.h
/// The scalar part of LSQR and LSMR, which share the bidiagonalisation A V = U B (solvers/krylov/least_squares.c).

#ifndef LACUNA_SOLVERS_KRYLOV_STEPS_GOLUB_KAHAN_H
#define LACUNA_SOLVERS_KRYLOV_STEPS_GOLUB_KAHAN_H

#include "solvers/krylov/steps/common.h"

enum {
  LAC_GK_SQUARE = LAC_SLOTS_COMMON,  // (u, u) or (v, v)
  LAC_GK_ALPHA,
  LAC_GK_BETA,
  LAC_GK_INVERSE,   // 1 over the norm of the vector at hand
  LAC_GK_NORM,      // |A| in the Frobenius norm so far, |A^H r|
  LAC_GK_LIVE,      // 1, and 0 where the column stands still
  LAC_GK_X,         // what x takes of w or h bar
  LAC_GK_W,         // what w or h keeps
  LAC_GK_HBAR,      // what h bar keeps
  LAC_GK_ROTATION,  // rho bar, phi bar (LSQR); alpha bar, zeta bar (LSMR)
  LAC_GK_RHO,       // of LSMR: rho, rho bar
  LAC_GK_BAR,       // c bar, s bar
  LAC_GK_ZETA,      // zeta, beta double dot
  LAC_GK_DOT,       // beta dot, rho dot old
  LAC_GK_TAU,       // tau tilde old, theta tilde
  LAC_GK_LEAST,     // |A^H r| of LSMR's iterates, and its value at the last progress
  LAC_GK_SIZE,      // |A v|, the largest so far
  LAC_GK_SLOTS
};

/// A hypotenuse and its angle; of zeros, none.
static inline LAC_DEVICE double lac_gk_angle(double a, double b, double *cosine, double *sine) {
  double size = hypot(a, b);
  *cosine = size > 0 ? a / size : 1, *sine = size > 0 ? b / size : 0;
  return size;
}

/// What stands still.
LAC_STEP_FUNCTION lac_gk_rest(lac_pair *s, int64_t stride) {
  lac_pair zero = lac_pair_of(0, 0);
  LAC_SLOT(LAC_GK_ALPHA) = LAC_SLOT(LAC_GK_BETA) = LAC_SLOT(LAC_GK_INVERSE) = LAC_SLOT(LAC_GK_X) = zero;
}

/// u = r / |r|
LAC_STEP_FUNCTION lac_step_gk_begin(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double beta = LAC_SLOT(LAC_SLOT_RESIDUAL).re;
  int runs = lac_column_runs(s) && beta > 0;
  (void)numbers;
  LAC_SLOT(LAC_GK_BETA) = lac_pair_of(beta, 0);
  LAC_SLOT(LAC_GK_INVERSE) = lac_pair_of(runs ? 1 / beta : 0, 0);
  LAC_SLOT(LAC_GK_LIVE) = lac_pair_of(runs, 0);
}

/// Where A^H r is zero relative to |A| |r|, no x does better: for a rectangular matrix x is then the solution.
LAC_STEP_FUNCTION lac_gk_arrive(lac_pair *s, int64_t stride, const lac_step_numbers *numbers, double share) {
  lac_column_end(s, stride, numbers->is_rectangular ? LAC_COLUMN_CONVERGED : LAC_COLUMN_STAGNATED, LAC_FAULT_NORMAL,
                 share);
  lac_gk_rest(s, stride);
}

/// The first v = A^H u is known by its square.
LAC_STEP_FUNCTION lac_step_gk_first(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double alpha = sqrt(LAC_SLOT(LAC_GK_SQUARE).re), beta = LAC_SLOT(LAC_GK_BETA).re, norm = LAC_SLOT(LAC_GK_NORM).re;
  LAC_SLOT(LAC_GK_X) = LAC_SLOT(LAC_GK_W) = LAC_SLOT(LAC_GK_HBAR) = LAC_SLOT(LAC_GK_INVERSE) = lac_pair_of(0, 0);
  if (!lac_column_runs(s)) return;
  if (!isfinite(alpha)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, alpha);
    return;
  }
  if (alpha <= numbers->least * norm || alpha == 0) {
    lac_gk_arrive(s, stride, numbers, norm > 0 ? alpha / norm : 0);
    return;
  }
  LAC_SLOT(LAC_GK_ALPHA) = lac_pair_of(alpha, 0);
  LAC_SLOT(LAC_GK_INVERSE) = lac_pair_of(1 / alpha, 0);
  LAC_SLOT(LAC_GK_NORM) = lac_pair_of(hypot(norm, numbers->first ? alpha : 0), alpha * beta);
  LAC_SLOT(LAC_GK_ROTATION) = lac_pair_of(alpha, numbers->is_lsmr ? alpha * beta : beta);
  LAC_SLOT(LAC_GK_RHO) = LAC_SLOT(LAC_GK_BAR) = lac_pair_of(1, 0);
  LAC_SLOT(LAC_GK_RHO).im = 1;
  LAC_SLOT(LAC_GK_ZETA) = lac_pair_of(0, beta);
  LAC_SLOT(LAC_GK_DOT) = lac_pair_of(0, 1);
  LAC_SLOT(LAC_GK_TAU) = lac_pair_of(0, 0);
  if (numbers->first) LAC_SLOT(LAC_GK_LEAST) = lac_pair_of(alpha * beta, alpha * beta);
}

/// The norm of a new u or v, and its inverse; 0 where the column ends.
static inline LAC_DEVICE double lac_gk_norm(lac_pair *s, int64_t stride) {
  double norm = sqrt(LAC_SLOT(LAC_GK_SQUARE).re);
  LAC_SLOT(LAC_GK_INVERSE) = lac_pair_of(0, 0);
  if (!lac_column_runs(s)) return 0;
  if (!isfinite(norm)) {
    lac_column_end(s, stride, LAC_COLUMN_DIVERGED, LAC_FAULT_NONE, norm);
    lac_gk_rest(s, stride);
    return 0;
  }
  if (norm > 0) LAC_SLOT(LAC_GK_INVERSE) = lac_pair_of(1 / norm, 0);
  LAC_SLOT(LAC_GK_NORM).re = hypot(LAC_SLOT(LAC_GK_NORM).re, norm);
  return norm;
}

LAC_STEP_FUNCTION lac_step_gk_u(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double beta = lac_gk_norm(s, stride);
  (void)numbers;
  LAC_SLOT(LAC_GK_BETA) = lac_pair_of(beta, 0);
  LAC_SLOT(LAC_GK_SIZE).re = fmax(LAC_SLOT(LAC_GK_SIZE).re, hypot(LAC_SLOT(LAC_GK_ALPHA).re, beta));
}

/// |A^H r| that falls is progress, since |r| stays at what b leaves over. That of LSQR rises for long; that of LSMR
/// does not, and follows from it: 1 / least^2 is the sum of 1 / normal^2 (Fong and Saunders 2011, section 4).
LAC_STEP_FUNCTION lac_gk_progress(lac_pair *s, int64_t stride, const lac_step_numbers *numbers, double normal) {
  lac_pair *least = &LAC_SLOT(LAC_GK_LEAST), *count = &LAC_SLOT(LAC_SLOT_COUNT);
  double size = hypot(least->re, normal);
  least->re = numbers->is_lsmr || size == 0 ? normal : least->re * (normal / size);
  if (least->re < 0.99 * least->im) least->im = least->re, count->im = count->re + 1;
}

/// An iteration has brought |r| and |A^H r|. The latter also may say that it is time to look.
LAC_STEP_FUNCTION lac_gk_count(lac_pair *s, int64_t stride, const lac_step_numbers *numbers, double norm,
                               double normal) {
  double whole = LAC_SLOT(LAC_GK_NORM).re * norm;
  LAC_SLOT(LAC_GK_NORM).im = normal;
  lac_gk_progress(s, stride, numbers, normal);
  lac_column_count(s, stride, numbers, norm);
  if (lac_column_runs(s) && normal <= 0.5 * numbers->least * whole)
    lac_column_end(s, stride, LAC_COLUMN_CLAIMS, LAC_FAULT_NORMAL, whole > 0 ? normal / whole : 0);
}

/// LSQR: u and v of the next column are known.
LAC_STEP_FUNCTION lac_step_lsqr_rotate(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double alpha = lac_gk_norm(s, stride), beta = LAC_SLOT(LAC_GK_BETA).re, cosine, sine, rho, phi;
  lac_pair *rotation = &LAC_SLOT(LAC_GK_ROTATION);
  LAC_SLOT(LAC_GK_X) = lac_pair_of(0, 0);
  if (!lac_column_runs(s)) return;
  rho = lac_gk_angle(rotation->re, beta, &cosine, &sine);
  if (rho == 0) {
    lac_column_end(s, stride, LAC_COLUMN_BROKE_DOWN, LAC_FAULT_SINGULAR, LAC_SLOT(LAC_GK_NORM).re);
    return;
  }
  phi = cosine * rotation->im;
  *rotation = lac_pair_of(-cosine * alpha, sine * rotation->im);
  LAC_SLOT(LAC_GK_ALPHA) = lac_pair_of(alpha, 0);
  LAC_SLOT(LAC_GK_X) = lac_pair_of(phi / rho, 0);
  LAC_SLOT(LAC_GK_W) = lac_pair_of(-sine * alpha / rho, 0);
  lac_gk_count(s, stride, numbers, fabs(rotation->im), fabs(rotation->im * alpha * cosine));
}

/// LSMR: |r| is that of the least-squares problem with the bidiagonal matrix, rotated twice (Fong and Saunders 2011,
/// section 5).
static inline LAC_DEVICE double lac_lsmr_norm(lac_pair *s, int64_t stride, double cosine, double sine, double theta_bar,
                                              double rho_bar, double zeta_old) {
  lac_pair *zeta = &LAC_SLOT(LAC_GK_ZETA), *dot = &LAC_SLOT(LAC_GK_DOT), *tau = &LAC_SLOT(LAC_GK_TAU);
  double hat = cosine * zeta->im, c, n, rho_tilde = lac_gk_angle(dot->im, theta_bar, &c, &n), theta_old = tau->im;
  zeta->im = -sine * zeta->im;
  tau->im = n * rho_bar;
  *dot = lac_pair_of(-n * dot->re + c * hat, c * rho_bar);
  tau->re = (zeta_old - theta_old * tau->re) / rho_tilde;
  double left = dot->re - (zeta->re - tau->im * tau->re) / dot->im;
  return isfinite(left) ? hypot(left, zeta->im) : fabs(zeta->im);
}

LAC_STEP_FUNCTION lac_step_lsmr_rotate(lac_pair *s, int64_t stride, const lac_step_numbers *numbers) {
  double alpha = lac_gk_norm(s, stride), beta = LAC_SLOT(LAC_GK_BETA).re, c, n, rho, theta, theta_bar, rho_bar;
  lac_pair *rotation = &LAC_SLOT(LAC_GK_ROTATION), *old = &LAC_SLOT(LAC_GK_RHO), *bar = &LAC_SLOT(LAC_GK_BAR);
  double zeta_old = LAC_SLOT(LAC_GK_ZETA).re;
  LAC_SLOT(LAC_GK_X) = lac_pair_of(0, 0);
  if (!lac_column_runs(s)) return;
  rho = lac_gk_angle(rotation->re, beta, &c, &n);
  theta = n * alpha, theta_bar = bar->im * rho;
  rho_bar = lac_gk_angle(bar->re * rho, theta, &bar->re, &bar->im);
  if (rho == 0 || rho_bar == 0) {
    lac_column_end(s, stride, LAC_COLUMN_BROKE_DOWN, LAC_FAULT_SINGULAR, LAC_SLOT(LAC_GK_NORM).re);
    return;
  }
  LAC_SLOT(LAC_GK_ZETA).re = bar->re * rotation->im;
  LAC_SLOT(LAC_GK_ALPHA) = lac_pair_of(alpha, 0);
  LAC_SLOT(LAC_GK_HBAR) = lac_pair_of(-theta_bar * rho / old->re / old->im, 0);
  LAC_SLOT(LAC_GK_X) = lac_pair_of(LAC_SLOT(LAC_GK_ZETA).re / rho / rho_bar, 0);
  LAC_SLOT(LAC_GK_W) = lac_pair_of(-theta / rho, 0);
  *rotation = lac_pair_of(c * alpha, -bar->im * rotation->im);
  *old = lac_pair_of(rho, rho_bar);
  lac_gk_count(s, stride, numbers, lac_lsmr_norm(s, stride, c, n, theta_bar, rho_bar, zeta_old), fabs(rotation->im));
}

#endif
