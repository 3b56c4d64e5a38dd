// SPDX-License-Identifier: Apache-2.0
/// @file quotient.h
/// The quotient of complex numbers of any size. Plain C that a device compiler takes too.
///
///     (a + ib) / (c + id) = (ac + bd + i (bc - ad)) / (c^2 + d^2)
///
/// Products and sums keep their power of two apart, and the quotient gets it back at the end: each part of it leaves
/// the range only where its own true value does. Who includes this file says what x y + s is: LAC_FUSED.

#ifndef LACUNA_CORE_QUOTIENT_H
#define LACUNA_CORE_QUOTIENT_H

#include <math.h>

#ifndef LAC_DEVICE
#define LAC_DEVICE
#endif

/// fraction * 2^power
typedef struct lac_scaled {
  double fraction;
  int power;
} lac_scaled;

enum {
  LAC_POWER_OF_ZERO = -10000,  // below that of every product
  LAC_POWERS_APART = 200       // of a product that a sum does not feel
};

static inline LAC_DEVICE lac_scaled lac_scaled_of(double x) {
  lac_scaled s = {0, LAC_POWER_OF_ZERO};
  if (x != 0) s.fraction = frexp(x, &s.power);
  return s;
}

/// x y + u v, rounded as the quotient of numbers near 1 does: it has the same digits at every scale.
static inline LAC_DEVICE lac_scaled lac_scaled_products(lac_scaled x, lac_scaled y, lac_scaled u, lac_scaled v) {
  int power = x.power + y.power;
  lac_scaled other = {u.fraction * v.fraction, u.power + v.power};
  if (other.power - power > LAC_POWERS_APART) return other;
  other.fraction = LAC_FUSED(x.fraction, y.fraction, ldexp(other.fraction, other.power - power));
  other.power = power;
  return other;
}

static inline LAC_DEVICE double lac_scaled_quotient(lac_scaled x, lac_scaled y) {
  return ldexp(x.fraction / y.fraction, x.power - y.power);
}

/// (a + ib) / (c + id); a number over an infinite one is 0.
static inline LAC_DEVICE void lac_quotient(double a, double b, double c, double d, double *re, double *im) {
  if (isinf(c) || isinf(d)) {
    double size = fabs(c) + fabs(d);  // NaN where a part is
    *re = 0 * a / size;
    *im = 0 * b / size;
    return;
  }
  lac_scaled sa = lac_scaled_of(a), sb = lac_scaled_of(b), sc = lac_scaled_of(c), sd = lac_scaled_of(d);
  lac_scaled minus_d = {-sd.fraction, sd.power}, square = lac_scaled_products(sc, sc, sd, sd);
  *re = lac_scaled_quotient(lac_scaled_products(sa, sc, sb, sd), square);
  *im = lac_scaled_quotient(lac_scaled_products(sb, sc, sa, minus_d), square);
}

#endif
