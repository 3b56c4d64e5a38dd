// SPDX-License-Identifier: Apache-2.0
// One kernel source for all dtypes: includes KERNEL_FILE once for each, with
//
//     T             the number: f32, f64, c64 or c128
//     FN(name)      name_<T>: a function or type of numbers.h, or of the text itself
//     TABLE(name)   afterwards: the four functions name_<T>, by lac_dtype
//
// A text is included several times on purpose: neither it nor this file has a guard.

#include "core/numbers/numbers.h"

#ifndef FN
#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define FN(name) PASTE(name, T)
#define TABLE(name) \
  { name##_f32, name##_f64, name##_c64, name##_c128 }
#endif

#define T f32
#include KERNEL_FILE
#undef T
#define T f64
#include KERNEL_FILE
#undef T
#define T c64
#include KERNEL_FILE
#undef T
#define T c128
#include KERNEL_FILE
#undef T
