// SPDX-License-Identifier: Apache-2.0
// One kernel source for the pairs of numbers of pairwise_pairs.h: includes KERNEL_FILE six times for each width of
// indices (O and C as in instantiate_widths.h), with
//
//     MN(name)                name_<T>_<H>_<O>_<C>: for functions of the text
//     TABLE_PAIRWISE(name)   afterwards: by lac_dtype of T, whether H is narrower, and lac_width

#include "backends/cpu/base/types.h"

#ifndef MN
#define MN(name) PASTE(PASTE(PASTE(PASTE(name, T), H), O), C)
#define TABLE_PAIRWISE(name)                                             \
  {                                                                      \
    {TABLE_WIDTHS(name##_f32_f32), TABLE_WIDTHS(name##_f32_f32)},        \
        {TABLE_WIDTHS(name##_f64_f64), TABLE_WIDTHS(name##_f64_f32)},    \
        {TABLE_WIDTHS(name##_c64_c64), TABLE_WIDTHS(name##_c64_c64)},    \
        {TABLE_WIDTHS(name##_c128_c128), TABLE_WIDTHS(name##_c128_c64)}, \
  }
#endif

#define WIDTHS_FILE "backends/cpu/pairwise/pairwise_pairs.h"
#include "backends/cpu/base/instantiate_widths.h"
