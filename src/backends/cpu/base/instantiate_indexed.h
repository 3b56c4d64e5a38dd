// SPDX-License-Identifier: Apache-2.0
// One kernel source for all dtypes and index widths: includes KERNEL_FILE twelve times, with T and FN as in
// instantiate.h and
//
//     O, C                  as in instantiate_widths.h
//     XN(name)              name_<T>_<O>_<C>: for functions of the text
//     TABLE_INDEXED(name)   afterwards: these functions by lac_dtype and lac_width (there is none for LAC_WIDTH_AUTO)

#ifndef XN
#define XN(name) PASTE(PASTE(PASTE(name, T), O), C)
#define TABLE_INDEXED(name) \
  { TABLE_WIDTHS(name##_f32), TABLE_WIDTHS(name##_f64), TABLE_WIDTHS(name##_c64), TABLE_WIDTHS(name##_c128) }
#endif

#define WIDTHS_FILE "backends/cpu/base/instantiate.h"
#include "backends/cpu/base/instantiate_widths.h"
