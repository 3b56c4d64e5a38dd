// SPDX-License-Identifier: Apache-2.0
/// @file numbers.c
/// The quotient of complex numbers of any size.
///
///     (a + ib) / (c + id) = (ac + bd + i (bc - ad)) / (c^2 + d^2)
///
/// Products and sums keep their power of two apart, and the quotient gets it back at the end: each part of it leaves the
/// range only where its own true value does.

#include "core/numbers.h"

/// fraction * 2^power
typedef struct scaled {
  f64 fraction;
  int power;
} scaled;

enum { POWER_OF_ZERO = -10000 };  // below that of every product: a zero does not decide at which power a sum is taken

static scaled scaled_of(f64 x) {
  scaled s = {.fraction = 0, .power = POWER_OF_ZERO};
  if (x != 0) s.fraction = frexp(x, &s.power);
  return s;
}

static scaled scaled_product(scaled x, scaled y) { return (scaled){x.fraction * y.fraction, x.power + y.power}; }

/// x y + u v
static scaled scaled_products(scaled x, scaled y, scaled u, scaled v) {
  scaled one = scaled_product(x, y), other = scaled_product(u, v);
  scaled most = one.power < other.power ? other : one, least = one.power < other.power ? one : other;
  return (scaled){most.fraction + ldexp(least.fraction, least.power - most.power), most.power};
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
