// SPDX-License-Identifier: Apache-2.0
// One kernel source for the pairs of numbers of pairwise_pairs.h: includes KERNEL_FILE six times for each width of indices (O and C as
// in instantiate_indexed.h), with
//
//     MN(name)                name_<T>_<H>_<O>_<C>: for functions of the text
//     TABLE_PAIRWISE(name)   afterwards: by lac_dtype of T, whether H is narrower, and lac_width

#include "backends/cpu/base/types.h"

#ifndef MN
#define MN(name) PASTE(PASTE(PASTE(PASTE(name, T), H), O), C)
#define TABLE_WIDTHS(name) \
  { NULL, name##_i32_i32, name##_i64_i32, name##_i64_i64 }
#define TABLE_PAIRWISE(name)                                             \
  {                                                                      \
    {TABLE_WIDTHS(name##_f32_f32), TABLE_WIDTHS(name##_f32_f32)},        \
        {TABLE_WIDTHS(name##_f64_f64), TABLE_WIDTHS(name##_f64_f32)},    \
        {TABLE_WIDTHS(name##_c64_c64), TABLE_WIDTHS(name##_c64_c64)},    \
        {TABLE_WIDTHS(name##_c128_c128), TABLE_WIDTHS(name##_c128_c64)}, \
  }
#endif

#define O i32
#define C i32
#include "backends/cpu/pairwise/pairwise_pairs.h"
#undef O
#define O i64
#include "backends/cpu/pairwise/pairwise_pairs.h"
#undef C
#define C i64
#include "backends/cpu/pairwise/pairwise_pairs.h"
#undef O
#undef C
