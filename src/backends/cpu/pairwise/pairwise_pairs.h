// SPDX-License-Identifier: Apache-2.0
// Includes KERNEL_FILE for the six pairs of numbers of a matrix, T, and of a hierarchy, H, which are as wide or half as
// wide, with
//
//     FN(name), HN(name), VN(name)   name_<T>, name_<H>, name_<T>_<H>
//     TABLE_PAIRS(name)              afterwards: name_<T>_<H> by lac_dtype of T and whether H is narrower
//
// No guard, on purpose.

#ifndef VN
#ifndef PASTE
#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#endif
#ifndef FN
#define FN(name) PASTE(name, T)
#define TABLE(name) \
  { name##_f32, name##_f64, name##_c64, name##_c128 }
#endif
#define HN(name) PASTE(name, H)
#define VN(name) PASTE(PASTE(name, T), H)
#define TABLE_PAIRS(name)                                                                                   \
  {                                                                                                         \
    {name##_f32_f32, name##_f32_f32}, {name##_f64_f64, name##_f64_f32}, {name##_c64_c64, name##_c64_c64}, { \
      name##_c128_c128, name##_c128_c64                                                                     \
    }                                                                                                       \
  }
#endif

#define T f32
#define H f32
#include KERNEL_FILE
#undef T
#define T f64
#include KERNEL_FILE
#undef H
#define H f64
#include KERNEL_FILE
#undef T
#undef H
#define T c64
#define H c64
#include KERNEL_FILE
#undef T
#define T c128
#include KERNEL_FILE
#undef H
#define H c128
#include KERNEL_FILE
#undef T
#undef H
