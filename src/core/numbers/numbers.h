// SPDX-License-Identifier: Apache-2.0
/// @file numbers.h
/// The numbers of all CPU kernels, under names that kernel texts paste together (instantiate.h): name_<T> for T = f32,
/// f64, c64 or c128.

#ifndef LACUNA_CORE_NUMBERS_H
#define LACUNA_CORE_NUMBERS_H

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#undef I  // of complex.h

typedef float f32;
typedef double f64;
typedef float _Complex c64;
typedef double _Complex c128;

// The real numbers inside, and the numbers in which sums are taken.
typedef float real_f32;
typedef double real_f64;
typedef float real_c64;
typedef double real_c128;
typedef double acc_f32;
typedef double acc_f64;
typedef double _Complex acc_c64;
typedef double _Complex acc_c128;

#define INLINE static inline __attribute__((always_inline))

// A function with one body. Compilers fuse products and sums as they like in each copy they inline, so that copies for
// one and for many threads may round differently.
#define APART static __attribute__((noinline))

// CMPLX of complex.h, which not every compiler's library has.
#define PAIR(re, im) __builtin_complex(re, im)

INLINE f32 re_f32(f32 x) { return x; }
INLINE f64 re_f64(f64 x) { return x; }
INLINE f32 re_c64(c64 x) { return crealf(x); }
INLINE f64 re_c128(c128 x) { return creal(x); }
INLINE f32 im_f32(f32 x) { return (void)x, 0; }
INLINE f64 im_f64(f64 x) { return (void)x, 0; }
INLINE f32 im_c64(c64 x) { return cimagf(x); }
INLINE f64 im_c128(c128 x) { return cimag(x); }

INLINE f32 conj_f32(f32 x) { return x; }
INLINE f64 conj_f64(f64 x) { return x; }
INLINE c64 conj_c64(c64 x) { return PAIR(crealf(x), -cimagf(x)); }
INLINE c128 conj_c128(c128 x) { return PAIR(creal(x), -cimag(x)); }

/// |re| + |im|: within sqrt(2) of the modulus, never overflows where it does not, and costs no root.
INLINE f64 size_f32(f32 x) { return fabsf(x); }
INLINE f64 size_f64(f64 x) { return fabs(x); }
INLINE f64 size_c64(c64 x) { return fabs((f64)crealf(x)) + fabs((f64)cimagf(x)); }
INLINE f64 size_c128(c128 x) { return fabs(creal(x)) + fabs(cimag(x)); }

INLINE bool finite_f32(f32 x) { return isfinite(x); }
INLINE bool finite_f64(f64 x) { return isfinite(x); }
INLINE bool finite_c64(c64 x) { return isfinite(crealf(x)) && isfinite(cimagf(x)); }
INLINE bool finite_c128(c128 x) { return isfinite(creal(x)) && isfinite(cimag(x)); }

// The distance from 1 to the next number.
static const f64 epsilon_f32 = FLT_EPSILON, epsilon_f64 = DBL_EPSILON, epsilon_c64 = FLT_EPSILON,
                 epsilon_c128 = DBL_EPSILON;

// x y + s in one rounding where the machine has it: a call of fma() elsewhere would be a hundred times slower.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
INLINE f32 fused_f32(f32 x, f32 y, f32 s) { return __builtin_fmaf(x, y, s); }
INLINE f64 fused_f64(f64 x, f64 y, f64 s) { return __builtin_fma(x, y, s); }
#else
INLINE f32 fused_f32(f32 x, f32 y, f32 s) { return x * y + s; }
INLINE f64 fused_f64(f64 x, f64 y, f64 s) { return x * y + s; }
#endif

/// x / y. Doubles hold every square of a float. Of doubles the products of parts between 2^-500 and 2^500 stay in
/// range; the others are left to a function that no size disturbs. A number over an infinite one is 0.
INLINE f32 div_f32(f32 x, f32 y) { return x / y; }
INLINE f64 div_f64(f64 x, f64 y) { return x / y; }
static inline c64 div_c64(c64 x, c64 y) {
  double a = crealf(x), b = cimagf(x), c = crealf(y), d = cimagf(y), square = fused_f64(c, c, d * d);
  bool is_finite = square < (double)INFINITY;
  double re = is_finite ? fused_f64(a, c, b * d) : 0 * a, im = is_finite ? fused_f64(b, c, -(a * d)) : 0 * b;
  return PAIR((f32)(re / square), (f32)(im / square));
}
/// Neither 0 nor between 2^-500 and 2^500: the sign is shifted out, and what is left compares as an integer. An int:
/// four of them make one branch.
INLINE int is_extreme(f64 x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits <<= 1;
  return (bits != 0) & (bits - ((uint64_t)(1023 - 500) << 53) > (uint64_t)1000 << 53);
}
c128 lac_div_scaled(c128 x, c128 y);
static inline c128 div_c128(c128 x, c128 y) {
  double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y), square = fused_f64(c, c, d * d);
  if (__builtin_expect(is_extreme(a) | is_extreme(b) | is_extreme(c) | is_extreme(d), 0)) return lac_div_scaled(x, y);
  return PAIR(fused_f64(a, c, b * d) / square, fused_f64(b, c, -(a * d)) / square);
}

#endif
