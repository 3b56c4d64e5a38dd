// SPDX-License-Identifier: Apache-2.0
/// @file number_at.h
/// One number of a block of any dtype on the host, for loops that are short or seldom run. Hot ones have a text for
/// each dtype (numbers/instantiate.h). It asks what a dtype is, which arrays know: numbers/ is below arrays and cannot
/// hold it.

#ifndef LACUNA_CORE_NUMBER_AT_H
#define LACUNA_CORE_NUMBER_AT_H

#include "core/array_impl.h"
#include "core/numbers/numbers.h"

/// Room for one number of any dtype, on its way from or to a device.
typedef union lac_number {
  f32 f32;
  f64 f64;
  c64 c64;
  c128 c128;
} lac_number;

static inline c128 lac_number_get(lac_dtype dtype, const void *data, int64_t i) {
  switch (dtype) {
    case LAC_F32:
      return ((const f32 *)data)[i];
    case LAC_F64:
      return ((const f64 *)data)[i];
    case LAC_C64:
      return ((const c64 *)data)[i];
    default:
      return ((const c128 *)data)[i];
  }
}

/// Real dtypes take the real part.
static inline void lac_number_put(lac_dtype dtype, void *data, int64_t i, c128 x) {
  switch (dtype) {
    case LAC_F32:
      ((f32 *)data)[i] = (f32)creal(x);
      break;
    case LAC_F64:
      ((f64 *)data)[i] = creal(x);
      break;
    case LAC_C64:
      ((c64 *)data)[i] = PAIR((f32)creal(x), (f32)cimag(x));
      break;
    default:
      ((c128 *)data)[i] = x;
  }
}

/// The i-th real of a block: a complex number has two, its real and its imaginary part.
static inline f64 lac_real_get(lac_dtype dtype, const void *data, int64_t i) {
  return lac_dtype_is_single(dtype) ? (f64)((const f32 *)data)[i] : ((const f64 *)data)[i];
}

static inline void lac_real_put(lac_dtype dtype, void *data, int64_t i, f64 x) {
  if (lac_dtype_is_single(dtype)) {
    ((f32 *)data)[i] = (f32)x;
  } else {
    ((f64 *)data)[i] = x;
  }
}

#endif
