// SPDX-License-Identifier: Apache-2.0
/// @file numbers.c
/// The quotient of complex numbers of any size.
///
///     (a + ib) / (c + id) = (ac + bd + i (bc - ad)) / (c^2 + d^2)
///
/// Products and sums keep their power of two apart, and the quotient gets it back at the end: each part of it leaves
/// the range only where its own true value does.

#include "core/numbers.h"

/// fraction * 2^power
typedef struct scaled {
  f64 fraction;
  int power;
} scaled;

enum {
  POWER_OF_ZERO = -10000,  // below that of every product
  POWERS_APART = 200       // of a product that a sum does not feel
};

static scaled scaled_of(f64 x) {
  scaled s = {.fraction = 0, .power = POWER_OF_ZERO};
  if (x != 0) s.fraction = frexp(x, &s.power);
  return s;
}

/// x y + u v, rounded as div_c128 does: a quotient has the same digits at every scale.
static scaled scaled_products(scaled x, scaled y, scaled u, scaled v) {
  int power = x.power + y.power;
  scaled other = {u.fraction * v.fraction, u.power + v.power};
  if (other.power - power > POWERS_APART) return other;
  return (scaled){fused_f64(x.fraction, y.fraction, ldexp(other.fraction, other.power - power)), power};
}

static f64 scaled_quotient(scaled x, scaled y) { return ldexp(x.fraction / y.fraction, x.power - y.power); }

c128 lac_div_scaled(c128 x, c128 y) {
  if (isinf(creal(y)) || isinf(cimag(y))) {
    f64 size = fabs(creal(y)) + fabs(cimag(y));  // NaN where a part is
    return PAIR(0 * creal(x) / size, 0 * cimag(x) / size);
  }
  scaled a = scaled_of(creal(x)), b = scaled_of(cimag(x)), c = scaled_of(creal(y)), d = scaled_of(cimag(y));
  scaled minus_d = {-d.fraction, d.power}, square = scaled_products(c, c, d, d);
  return PAIR(scaled_quotient(scaled_products(a, c, b, d), square),
              scaled_quotient(scaled_products(b, c, a, minus_d), square));
}
