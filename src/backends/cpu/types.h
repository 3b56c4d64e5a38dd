// SPDX-License-Identifier: Apache-2.0
/// @file types.h
/// The numbers of the CPU kernels, under names that kernel texts paste together (instantiate.h).
///
/// Sums of products are written as fused operations, so that nothing is left for a compiler to contract in one loop and not
/// in its remainder: the same number comes out wherever threads cut a range. Complex products are the plain four products.

#ifndef LACUNA_BACKENDS_CPU_TYPES_H
#define LACUNA_BACKENDS_CPU_TYPES_H

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#undef I  // of complex.h

typedef float f32;
typedef double f64;
typedef float _Complex c64;
typedef double _Complex c128;
typedef int32_t i32;
typedef int64_t i64;

// The real numbers inside, the numbers in which sums are taken, and blocks of 64 bytes of reals.
typedef float real_f32;
typedef double real_f64;
typedef float real_c64;
typedef double real_c128;
typedef double acc_f32;
typedef double acc_f64;
typedef double _Complex acc_c64;
typedef double _Complex acc_c128;
typedef float block_f32 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double block_f64 __attribute__((vector_size(64), aligned(4), may_alias));
typedef block_f32 block_c64;
typedef block_f64 block_c128;

enum { has_imag_f32 = 0, has_imag_f64 = 0, has_imag_c64 = 1, has_imag_c128 = 1 };

// CMPLX of complex.h, which not every compiler's library has.
#define PAIR(re, im) __builtin_complex(re, im)

enum { DOT_LANES = 16 };  // of dot_kernel.h

#define INLINE static inline __attribute__((always_inline))

// For short loops whose length is a constant at each place where they are inlined.
#define PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define UNROLL(n) PRAGMA(unroll)
#else
#define UNROLL(n) PRAGMA(GCC unroll n)
#endif

// x y + s in one rounding where the machine has it: a call of fma() elsewhere would be a hundred times slower.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
INLINE f32 fused_f32(f32 x, f32 y, f32 s) { return __builtin_fmaf(x, y, s); }
INLINE f64 fused_f64(f64 x, f64 y, f64 s) { return __builtin_fma(x, y, s); }
#else
INLINE f32 fused_f32(f32 x, f32 y, f32 s) { return x * y + s; }
INLINE f64 fused_f64(f64 x, f64 y, f64 s) { return x * y + s; }
#endif

INLINE f32 make_f32(double re, double im) { return (void)im, (f32)re; }
INLINE f64 make_f64(double re, double im) { return (void)im, re; }
INLINE c64 make_c64(double re, double im) { return PAIR((f32)re, (f32)im); }
INLINE c128 make_c128(double re, double im) { return PAIR(re, im); }

INLINE f32 re_f32(f32 x) { return x; }
INLINE f64 re_f64(f64 x) { return x; }
INLINE f32 re_c64(c64 x) { return crealf(x); }
INLINE f64 re_c128(c128 x) { return creal(x); }
INLINE f32 im_f32(f32 x) { return (void)x, 0; }
INLINE f64 im_f64(f64 x) { return (void)x, 0; }
INLINE f32 im_c64(c64 x) { return cimagf(x); }
INLINE f64 im_c128(c128 x) { return cimag(x); }

/// x with its imaginary part times `sign`: 1 leaves it, -1 conjugates, and no branch is needed.
INLINE f32 signed_f32(f32 x, f32 sign) { return (void)sign, x; }
INLINE f64 signed_f64(f64 x, f64 sign) { return (void)sign, x; }
INLINE c64 signed_c64(c64 x, f32 sign) { return PAIR(crealf(x), sign * cimagf(x)); }
INLINE c128 signed_c128(c128 x, f64 sign) { return PAIR(creal(x), sign * cimag(x)); }

INLINE f32 add_f32(f32 x, f32 y) { return x + y; }
INLINE f64 add_f64(f64 x, f64 y) { return x + y; }
INLINE c64 add_c64(c64 x, c64 y) { return x + y; }
INLINE c128 add_c128(c128 x, c128 y) { return x + y; }
INLINE f32 sub_f32(f32 x, f32 y) { return x - y; }
INLINE f64 sub_f64(f64 x, f64 y) { return x - y; }
INLINE c64 sub_c64(c64 x, c64 y) { return x - y; }
INLINE c128 sub_c128(c128 x, c128 y) { return x - y; }

INLINE f32 mul_f32(f32 x, f32 y) { return x * y; }
INLINE f64 mul_f64(f64 x, f64 y) { return x * y; }
INLINE c64 mul_c64(c64 x, c64 y) {
  return PAIR(fused_f32(crealf(x), crealf(y), -(cimagf(x) * cimagf(y))),
              fused_f32(crealf(x), cimagf(y), cimagf(x) * crealf(y)));
}
INLINE c128 mul_c128(c128 x, c128 y) {
  return PAIR(fused_f64(creal(x), creal(y), -(cimag(x) * cimag(y))),
              fused_f64(creal(x), cimag(y), cimag(x) * creal(y)));
}

/// s + x y
INLINE f32 mac_f32(f32 s, f32 x, f32 y) { return fused_f32(x, y, s); }
INLINE f64 mac_f64(f64 s, f64 x, f64 y) { return fused_f64(x, y, s); }
INLINE c64 mac_c64(c64 s, c64 x, c64 y) {
  return PAIR(fused_f32(-cimagf(x), cimagf(y), fused_f32(crealf(x), crealf(y), crealf(s))),
              fused_f32(cimagf(x), crealf(y), fused_f32(crealf(x), cimagf(y), cimagf(s))));
}
INLINE c128 mac_c128(c128 s, c128 x, c128 y) {
  return PAIR(fused_f64(-cimag(x), cimag(y), fused_f64(creal(x), creal(y), creal(s))),
              fused_f64(cimag(x), creal(y), fused_f64(creal(x), cimag(y), cimag(s))));
}

/// s + x y where s is an accumulator
INLINE acc_f32 mac_acc_f32(acc_f32 s, f32 x, f32 y) { return fused_f64(x, y, s); }
INLINE acc_f64 mac_acc_f64(acc_f64 s, f64 x, f64 y) { return fused_f64(x, y, s); }
INLINE acc_c64 mac_acc_c64(acc_c64 s, c64 x, c64 y) { return mac_c128(s, x, y); }
INLINE acc_c128 mac_acc_c128(acc_c128 s, c128 x, c128 y) { return mac_c128(s, x, y); }

/// x / y. Doubles hold every square of a float; doubles themselves are divided by Smith's method, whose quotients stay in range.
INLINE f32 div_f32(f32 x, f32 y) { return x / y; }
INLINE f64 div_f64(f64 x, f64 y) { return x / y; }
static inline c64 div_c64(c64 x, c64 y) {
  double a = crealf(x), b = cimagf(x), c = crealf(y), d = cimagf(y), square = fused_f64(c, c, d * d);
  return make_c64(fused_f64(a, c, b * d) / square, fused_f64(b, c, -(a * d)) / square);
}
/// (a + ib) / (c + id) for |c| >= |d|; where d / c underflows, d (b / c) may not.
static inline c128 div_smith(double a, double b, double c, double d) {
  double r = d / c, square = fused_f64(d, r, c);
  if (r != 0) return PAIR(fused_f64(b, r, a) / square, fused_f64(-a, r, b) / square);
  return PAIR(fused_f64(d, b / c, a) / square, fused_f64(-d, a / c, b) / square);
}
static inline c128 div_c128(c128 x, c128 y) {
  double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
  if (fabs(c) >= fabs(d)) return div_smith(a, b, c, d);
  return div_smith(b, -a, d, -c);  // numerator and denominator times -i
}

#endif
