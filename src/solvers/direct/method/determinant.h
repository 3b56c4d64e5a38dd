// SPDX-License-Identifier: Apache-2.0
/// @file determinant.h
/// Products of very many numbers, without overflow: the modulus as mantissa 2^exponent, the phase apart.

#ifndef LACUNA_SOLVERS_DIRECT_METHOD_DETERMINANT_H
#define LACUNA_SOLVERS_DIRECT_METHOD_DETERMINANT_H

#include <math.h>

#include "solvers/direct/method/method.h"
#include "solvers/direct/order/permutation.h"

typedef struct lac_determinant {
  double mantissa;
  int64_t exponent;
  double re, im;  // of the phase
} lac_determinant;

static inline lac_determinant lac_determinant_one(void) { return (lac_determinant){.mantissa = 1, .re = 1}; }

static inline void lac_determinant_times_modulus(lac_determinant *d, double modulus) {
  int own = 0, carry = 0;
  d->mantissa = frexp(d->mantissa * frexp(modulus, &own), &carry);
  d->exponent += own + carry;
}

static inline void lac_determinant_times(lac_determinant *d, double re, double im) {
  if (im == 0) {
    lac_determinant_times_modulus(d, fabs(re));
    if (re < 0) d->re = -d->re, d->im = -d->im;
    return;
  }
  int power = 0;
  (void)frexp(fmax(fabs(re), fabs(im)), &power);
  re = ldexp(re, -power), im = ldexp(im, -power);
  double modulus = hypot(re, im), old = d->re;
  d->re = (old * re - d->im * im) / modulus;
  d->im = (old * im + d->im * re) / modulus;
  lac_determinant_times_modulus(d, modulus);
  d->exponent += power;
}

/// Divide by a positive scale.
static inline void lac_determinant_over(lac_determinant *d, double scale) {
  int own = 0, carry = 0;
  d->mantissa = frexp(d->mantissa / frexp(scale, &own), &carry);
  d->exponent += carry - own;
}

static inline void lac_determinant_negate(lac_determinant *d) { d->re = -d->re, d->im = -d->im; }

static inline lac_polar lac_determinant_log(const lac_determinant *d) {
  static const double LOG_2 = 0.693147180559945309417232121458176568;
  double modulus = d->im == 0 ? fabs(d->re) : hypot(d->re, d->im);
  double im = d->im == 0 ? 0 : d->im / modulus;  // never -0: the argument of a negative number is pi, and not -pi
  return (lac_polar){
      .logabs = log(d->mantissa) + (double)d->exponent * LOG_2, .sign_re = d->re / modulus, .sign_im = im};
}

#endif
