// SPDX-License-Identifier: Apache-2.0
/// @file arrays.h
/// What the kernels of arrays compute, in words that a device compiler reads too.

#ifndef LACUNA_KERNELS_ARRAYS_H
#define LACUNA_KERNELS_ARRAYS_H

#include <stdint.h>

/// What `binary` computes. Comparisons give 1 or 0 in the operands' dtype, in the order of lac_relation (ops.h);
/// complex numbers are only equal or not.
typedef enum lac_binary {
  LAC_ADD,
  LAC_SUB,
  LAC_MUL,
  LAC_DIV,
  LAC_DIV_OR_ZERO,  // x / y, and 0 where y is 0
  LAC_POW,
  LAC_COMPARE_EQ,
  LAC_COMPARE_NE,
  LAC_COMPARE_LT,
  LAC_COMPARE_LE,
  LAC_COMPARE_GT,
  LAC_COMPARE_GE
} lac_binary;

/// What `unary` computes. The first four give reals also of complex numbers; those behind LAC_TANH take reals alone.
typedef enum lac_unary {
  LAC_ABS,
  LAC_REAL,
  LAC_IMAG,
  LAC_MAGNITUDE,  // the power of two at or below |x|, and 1 where x is 0
  LAC_SIGN,       // x / |x|, and 0 where x is 0
  LAC_EXP,
  LAC_LOG,
  LAC_SQRT,
  LAC_SIN,
  LAC_COS,
  LAC_SIGMOID,
  LAC_TANH,
  LAC_EXPM1,
  LAC_LOG1P,
  LAC_SOFTPLUS,
  LAC_RELU,
  LAC_HEAVISIDE
} lac_unary;

/// What `reduce` computes. Norms are real, also of complex numbers; the others take reals alone. A NaN is the largest
/// and the smallest. Over nothing the norm is 0 and log(sum(exp)) is -inf; max and min are not asked for.
typedef enum lac_reduction { LAC_REDUCE_MAX, LAC_REDUCE_MIN, LAC_REDUCE_NORM, LAC_REDUCE_LOGSUMEXP } lac_reduction;

/// What a reduction keeps of a part of its numbers (states.h).
typedef struct lac_state {
  double most, total;
} lac_state;

/// Places along an axis: begin, begin + step, ...
typedef struct lac_along {
  int64_t begin, step;
} lac_along;

/// The numbers of one step of Adam, as the kernel uses them.
typedef struct lac_adam {
  double beta1, beta2, epsilon;
  double step;    // the rate over 1 - beta1^t
  double root;    // 1 over the root of 1 - beta2^t
  double decay;   // times x, added to the gradient
  double shrink;  // factor of x
} lac_adam;

#endif
