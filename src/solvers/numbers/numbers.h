// SPDX-License-Identifier: Apache-2.0
/// @file numbers.h
/// What the direct solvers ask of numbers beyond core/numbers/numbers.h: range and scaling.

#ifndef LACUNA_SOLVERS_NUMBERS_NUMBERS_H
#define LACUNA_SOLVERS_NUMBERS_NUMBERS_H

#include "core/numbers/numbers.h"

/// r x c for two positive scales. They nearly undo each other, as a rule: where their product is out of range, x must
/// help.
#define NUMBERS_RESCALE(T)                                      \
  static inline T rescale_##T(T x, f64 r, f64 c) {              \
    if (isnormal(r * c)) return (T)((acc_##T)x * (r * c));      \
    return (T)((acc_##T)x * (r < c ? r : c) * (r < c ? c : r)); \
  }
NUMBERS_RESCALE(f32)
NUMBERS_RESCALE(f64)
NUMBERS_RESCALE(c64)
NUMBERS_RESCALE(c128)

// The size of a number in which residuals are summed.
#define wide_size_f32 size_f64
#define wide_size_f64 size_f64
#define wide_size_c64 size_c128
#define wide_size_c128 size_c128

// How far a scaling by a power of two may go.
enum { range_f32 = 120, range_f64 = 1000, range_c64 = 120, range_c128 = 1000 };

// e with 2^(e - 1) <= x < 2^e for x > 0, and 2^e for |e| <= 1000: what frexp and ldexp give, without a call.
INLINE int exponent_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1022;
  if (exponent == -1022) (void)frexp(x, &exponent);
  return exponent;
}
INLINE double power_of_two(int e) {
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

#endif
