// SPDX-License-Identifier: Apache-2.0
/// @file numbers.h
/// The numbers of the direct solvers, under names that kernel texts paste together (instantiate.h).

#ifndef LACUNA_SOLVERS_DIRECT_NUMBERS_H
#define LACUNA_SOLVERS_DIRECT_NUMBERS_H

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

// The real numbers inside, and the numbers in which residuals are summed.
typedef float real_f32;
typedef double real_f64;
typedef float real_c64;
typedef double real_c128;
typedef double wide_f32;
typedef double wide_f64;
typedef double _Complex wide_c64;
typedef double _Complex wide_c128;

static inline f32 conj_f32(f32 x) { return x; }
static inline f64 conj_f64(f64 x) { return x; }
static inline c64 conj_c64(c64 x) { return conjf(x); }
static inline c128 conj_c128(c128 x) { return conj(x); }

static inline f32 re_f32(f32 x) { return x; }
static inline f64 re_f64(f64 x) { return x; }
static inline f32 re_c64(c64 x) { return crealf(x); }
static inline f64 re_c128(c128 x) { return creal(x); }

/// |re| + |im|: within sqrt(2) of the modulus, never overflows where it does not, and costs no root.
static inline f64 size_f32(f32 x) { return fabsf(x); }
static inline f64 size_f64(f64 x) { return fabs(x); }
static inline f64 size_c64(c64 x) { return fabs((f64)crealf(x)) + fabs((f64)cimagf(x)); }
static inline f64 size_c128(c128 x) { return fabs(creal(x)) + fabs(cimag(x)); }

static inline bool finite_f32(f32 x) { return isfinite(x); }
static inline bool finite_f64(f64 x) { return isfinite(x); }
static inline bool finite_c64(c64 x) { return isfinite(crealf(x)) && isfinite(cimagf(x)); }
static inline bool finite_c128(c128 x) { return isfinite(creal(x)) && isfinite(cimag(x)); }

// x / y, by Smith's method in the complex numbers: no square that could leave the range.
static inline f32 divide_f32(f32 x, f32 y) { return x / y; }
static inline f64 divide_f64(f64 x, f64 y) { return x / y; }
static inline c128 divide_c128(c128 x, c128 y) {
  f64 a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
  if (fabs(c) >= fabs(d)) {
    f64 r = d / c, s = c + d * r;
    return __builtin_complex((a + b * r) / s, (b - a * r) / s);
  }
  f64 r = c / d, s = d + c * r;
  return __builtin_complex((a * r + b) / s, (b * r - a) / s);
}
static inline c64 divide_c64(c64 x, c64 y) { return (c64)divide_c128((c128)x, (c128)y); }

// The distance from 1 to the next number, and how far a scaling by a power of two may go.
static const f64 epsilon_f32 = FLT_EPSILON, epsilon_f64 = DBL_EPSILON, epsilon_c64 = FLT_EPSILON,
                 epsilon_c128 = DBL_EPSILON;
enum { range_f32 = 120, range_f64 = 1000, range_c64 = 120, range_c128 = 1000 };

#endif
