// SPDX-License-Identifier: Apache-2.0
/// @file numbers.c
/// The quotient of complex numbers of any size.

#include "core/numbers/numbers.h"

#define LAC_FUSED(x, y, s) fused_f64(x, y, s)
#include "core/numbers/quotient.h"

c128 lac_div_scaled(c128 x, c128 y) {
  f64 re, im;
  lac_quotient(creal(x), cimag(x), creal(y), cimag(y), &re, &im);
  return PAIR(re, im);
}
