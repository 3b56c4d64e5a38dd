// SPDX-License-Identifier: Apache-2.0
// One source for all index widths: includes WIDTHS_FILE three times, with
//
//     O, C                 the integers of offsets (and slots) and of columns: i32 or i64
//     TABLE_WIDTHS(name)   afterwards: name_<O>_<C> by lac_width (there is none for LAC_WIDTH_AUTO)
//
// No guard, on purpose.

#ifndef TABLE_WIDTHS
#define TABLE_WIDTHS(name) \
  { NULL, name##_i32_i32, name##_i64_i32, name##_i64_i64 }
#endif

#define O i32
#define C i32
#include WIDTHS_FILE
#undef O
#define O i64
#include WIDTHS_FILE
#undef C
#define C i64
#include WIDTHS_FILE
#undef O
#undef C
#undef WIDTHS_FILE
