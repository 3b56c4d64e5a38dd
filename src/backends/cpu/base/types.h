// SPDX-License-Identifier: Apache-2.0
/// @file types.h
/// What the CPU kernels do with the numbers of core/numbers/numbers.h, under names that kernel texts paste together
/// (instantiate.h).
///
/// x y + s is written as one fused operation wherever threads cut a range within a loop: a compiler that contracted it
/// in the vectorised loop and not in the remainder would give other bits where the cut is elsewhere. The plain products
/// of the blocks in spmm_kernel.h may be contracted or not: threads cut between rows, and a column meets the same
/// instructions in every row. Complex products are the plain four products.

#ifndef LACUNA_BACKENDS_CPU_BASE_TYPES_H
#define LACUNA_BACKENDS_CPU_BASE_TYPES_H

#include "core/numbers/numbers.h"

typedef int32_t i32;
typedef int64_t i64;

// Blocks of 64 bytes of reals.
typedef float block_f32 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double block_f64 __attribute__((vector_size(64), aligned(4), may_alias));
typedef block_f32 block_c64;
typedef block_f64 block_c128;

enum { has_imag_f32 = 0, has_imag_f64 = 0, has_imag_c64 = 1, has_imag_c128 = 1 };

enum { DOT_LANES = 16 };  // of dot_kernel.h

// For short loops whose length is a constant at most places where they are inlined. Clang unrolls those by itself, and
// warns of the others when told to.
#define PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define UNROLL(n)
#else
#define UNROLL(n) PRAGMA(GCC unroll n)
#endif

// Before loops that write no number which they read of another point.
#if defined(__clang__)
#define VECTOR_LOOP PRAGMA(clang loop vectorize(assume_safety))
#else
#define VECTOR_LOOP PRAGMA(GCC ivdep)
#endif

INLINE f32 make_f32(double re, double im) { return (void)im, (f32)re; }
INLINE f64 make_f64(double re, double im) { return (void)im, re; }
INLINE c64 make_c64(double re, double im) { return PAIR((f32)re, (f32)im); }
INLINE c128 make_c128(double re, double im) { return PAIR(re, im); }

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

#endif
