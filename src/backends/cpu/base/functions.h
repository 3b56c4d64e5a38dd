// SPDX-License-Identifier: Apache-2.0
/// @file functions.h
/// The functions of one number, or two, for every dtype, under names that kernel texts paste together (instantiate.h).
///
/// They call the C library one number at a time, or are written out so that compilers vectorise them (exp, tanh,
/// sigmoid, softplus); both write x y + s as one fused operation: no number's bits depend on where in a loop it stands.
/// Functions that take reals alone read the real part, so that one text serves all dtypes; operators refuse complex
/// arrays before a kernel is called.
///
/// Complex functions have the branches of the C library: log(z) = log|z| + i arg(z) with -pi < arg(z) <= pi, so the
/// cuts of log, sqrt and pow lie along the negative real axis.

#ifndef LACUNA_BACKENDS_CPU_BASE_FUNCTIONS_H
#define LACUNA_BACKENDS_CPU_BASE_FUNCTIONS_H

#include "backends/cpu/base/types.h"

INLINE bool is_zero_f32(f32 x) { return x == 0; }
INLINE bool is_zero_f64(f64 x) { return x == 0; }
INLINE bool is_zero_c64(c64 x) { return crealf(x) == 0 && cimagf(x) == 0; }
INLINE bool is_zero_c128(c128 x) { return creal(x) == 0 && cimag(x) == 0; }

INLINE bool equals_f32(f32 x, f32 y) { return x == y; }
INLINE bool equals_f64(f64 x, f64 y) { return x == y; }
INLINE bool equals_c64(c64 x, c64 y) { return crealf(x) == crealf(y) && cimagf(x) == cimagf(y); }
INLINE bool equals_c128(c128 x, c128 y) { return creal(x) == creal(y) && cimag(x) == cimag(y); }

/// |x|, without overflow of squares
INLINE f32 abs_f32(f32 x) { return fabsf(x); }
INLINE f64 abs_f64(f64 x) { return fabs(x); }
INLINE f32 abs_c64(c64 x) { return hypotf(crealf(x), cimagf(x)); }
INLINE f64 abs_c128(c128 x) { return hypot(creal(x), cimag(x)); }

/// The power of two at or below |x|, but no less than the smallest normal number, whose reciprocal is finite; 1 at 0.
INLINE f64 magnitude_f64(f64 x) {
  uint64_t bits;
  double size = fabs(x) < 0x1p-1022 ? 0x1p-1022 : fabs(x), power;
  memcpy(&bits, &size, sizeof bits);
  bits &= (uint64_t)0x7ff << 52;  // the exponent alone
  memcpy(&power, &bits, sizeof power);
  return x == 0 ? 1 : x == x ? power : x;
}
INLINE f32 magnitude_f32(f32 x) { return fabsf(x) < 0x1p-126f && x != 0 ? 0x1p-126f : (f32)magnitude_f64(x); }
INLINE f32 magnitude_c64(c64 x) { return magnitude_f32(abs_c64(x)); }
INLINE f64 magnitude_c128(c128 x) { return magnitude_f64(abs_c128(x)); }

/// x / |x|, and 0 at 0. Doubles hold every square of a float; doubles themselves are first brought near 1.
INLINE f64 sign_f64(f64 x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
INLINE f32 sign_f32(f32 x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
INLINE c64 sign_c64(c64 x) {
  double a = crealf(x), b = cimagf(x), size = sqrt(fused_f64(a, a, b * b));
  return size == 0 ? 0 : PAIR((f32)(a / size), (f32)(b / size));
}
static inline c128 sign_c128(c128 x) {
  double most = fmax(fabs(creal(x)), fabs(cimag(x)));
  if (most == 0) return x;
  double a = creal(x) / most, b = cimag(x) / most, size = sqrt(fused_f64(a, a, b * b));
  return PAIR(a / size, b / size);
}

/// The whole number nearest to x y, which is below 2^51 in size.
INLINE f64 round_product(f64 x, f64 y) { return fused_f64(x, y, 0x1.8p52) - 0x1.8p52; }

/// 2^k for a whole k of a normal number's exponent.
INLINE f64 two_to(f64 k) {
  double sum = k + (0x1.8p52 + 1023), power;
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  bits <<= 52;  // the lowest bits hold k + 1023
  memcpy(&power, &bits, sizeof power);
  return power;
}

/// exp(r) - 1 by its series, where x = k log(2) + r with a whole k and |r| <= log(2) / 2.
INLINE f64 exp_reduced(f64 x, f64 *k) {
  static const double series[] = {1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320,
                                  1. / 5040,       1. / 720,       1. / 120,      1. / 24,      1. / 6,      1. / 2};
  *k = round_product(x, 0x1.71547652b82fep0);
  double r = fused_f64(-*k, 0x1.ef35793c7673p-45, fused_f64(-*k, 0x1.62e42fefa38p-1, x)), sum = series[0];
  UNROLL(11) for (int i = 1; i < 12; ++i) sum = fused_f64(sum, r, series[i]);
  return fused_f64(r * r, sum, r);
}

/// exp(x) within one unit in the last place. 2^k comes in two factors: results below the normal numbers are rounded
/// once.
INLINE f64 exp_f64(f64 x) {
  double k, most = exp_reduced(x > 710 ? 710 : x < -746 ? -746 : x, &k), half = round_product(k, 0.5);  // NaN stays
  return (1 + most) * two_to(half) * two_to(k - half);
}
INLINE f32 exp_f32(f32 x) { return (f32)exp_f64(x); }
INLINE c64 exp_c64(c64 x) { return cexpf(x); }
INLINE c128 exp_c128(c128 x) { return cexp(x); }

/// tanh(x) = -e / (2 + e) with e = exp(-2 |x|) - 1 = 2^k (exp(r) - 1) + (2^k - 1), which keeps its digits where x is
/// small.
INLINE f64 tanh_f64(f64 x) {
  double k, y = -2 * fabs(x), most = exp_reduced(y < -40 ? -40 : y, &k), scale = two_to(k);
  double e = fused_f64(scale, most, scale - 1);
  return copysign(-e / (2 + e), x);
}
INLINE f32 tanh_f32(f32 x) { return (f32)tanh_f64(x); }
INLINE c64 tanh_c64(c64 x) { return ctanhf(x); }
INLINE c128 tanh_c128(c128 x) { return ctanh(x); }

/// max(x, 0) + log(1 + e) with e = exp(-|x|) <= 1, where log(1 + e) = 2 atanh(s) with s = e / (2 + e) <= 1/3, by its
/// series.
INLINE f64 softplus_real(f64 x) {
  double e = exp_f64(-fabs(x)), s = e / (2 + e), square = s * s, sum = 1. / 35;
  UNROLL(16) for (int i = 33; i >= 3; i -= 2) sum = fused_f64(sum, square, 1. / i);
  return (x < 0 ? 0 : x) + fused_f64(2 * s * square, sum, 2 * s);
}

// A function that the C library has for complex numbers too, and one of reals alone.
#define COMPLEX_FUNCTION(name)                           \
  INLINE f32 name##_f32(f32 x) { return name##f(x); }    \
  INLINE f64 name##_f64(f64 x) { return name(x); }       \
  INLINE c64 name##_c64(c64 x) { return c##name##f(x); } \
  INLINE c128 name##_c128(c128 x) { return c##name(x); }
#define REAL_FUNCTION(name, of_f32, of_f64)                      \
  INLINE f32 name##_f32(f32 x) { return of_f32; }                \
  INLINE f64 name##_f64(f64 x) { return of_f64; }                \
  INLINE c64 name##_c64(c64 x) { return name##_f32(crealf(x)); } \
  INLINE c128 name##_c128(c128 x) { return name##_f64(creal(x)); }

COMPLEX_FUNCTION(log)
COMPLEX_FUNCTION(sqrt)
COMPLEX_FUNCTION(sin)
COMPLEX_FUNCTION(cos)
REAL_FUNCTION(expm1, expm1f(x), expm1(x))
REAL_FUNCTION(log1p, log1pf(x), log1p(x))
REAL_FUNCTION(softplus, (f32)softplus_real(x), softplus_real(x))
REAL_FUNCTION(relu, x <= 0 ? 0 : x, x <= 0 ? 0 : x)  // NaN stays
REAL_FUNCTION(heaviside, x > 0, x > 0)

/// 1 / (1 + exp(-x)), with an exponential that never exceeds 1
INLINE f32 sigmoid_f32(f32 x) {
  f32 e = exp_f32(-fabsf(x));
  return (x < 0 ? e : 1) / (1 + e);
}
INLINE f64 sigmoid_f64(f64 x) {
  f64 e = exp_f64(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
static inline c64 sigmoid_c64(c64 x) {
  c64 e = cexpf(crealf(x) < 0 ? x : -x);
  return div_c64(crealf(x) < 0 ? e : 1, 1 + e);
}
static inline c128 sigmoid_c128(c128 x) {
  c128 e = cexp(creal(x) < 0 ? x : -x);
  return div_c128(creal(x) < 0 ? e : 1, 1 + e);
}

/// x^y; of complex numbers exp(y log x), with 0^0 = 1 and 0^y = 0 where the real part of y is positive
INLINE f32 pow_f32(f32 x, f32 y) { return powf(x, y); }
INLINE f64 pow_f64(f64 x, f64 y) { return pow(x, y); }
static inline c128 pow_c128(c128 x, c128 y) {
  if (is_zero_c128(y)) return 1;
  if (is_zero_c128(x) && creal(y) > 0) return 0;
  return cexp(mul_c128(y, clog(x)));
}
INLINE c64 pow_c64(c64 x, c64 y) { return (c64)pow_c128(x, y); }

/// x^n for an integer n by squaring: of a complex number exact where exp(n log x) would not be.
static inline c128 power_integer(c128 x, int64_t n) {
  c128 result = 1;
  if (n < 0) x = div_c128(1, x);
  for (uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n; left; left >>= 1) {
    if (left & 1) result = mul_c128(result, x);
    x = mul_c128(x, x);
  }
  return result;
}

/// x^p for a frozen p; complex numbers need no logarithm where it is a small integer
enum { POWER_INTEGER = 64 };
INLINE f32 power_f32(f32 x, f64 p) { return powf(x, (f32)p); }
INLINE f64 power_f64(f64 x, f64 p) { return pow(x, p); }
static inline c128 power_c128(c128 x, f64 p) {
  return fabs(p) <= POWER_INTEGER && p == rint(p) ? power_integer(x, (int64_t)p) : pow_c128(x, p);
}
INLINE c64 power_c64(c64 x, f64 p) { return (c64)power_c128(x, p); }

#endif
