// SPDX-License-Identifier: Apache-2.0
/// @file scaling.h
/// Scalings R A C by powers of two, which are exact. Scales are arrays of n real numbers of the dtype's precision.

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_SCALING_H
#define LACUNA_SOLVERS_DIRECT_ORDER_SCALING_H

#include "lacuna/array.h"
#include "solvers/direct/order/structure.h"

/// The largest number of every row, then of every column, is brought to [1/2, 1). Returns a row of zeros, or -1.
int32_t lac_scaling_equilibrate(const lac_structure *structure, lac_dtype dtype, const void *values, void *row_scale,
                                void *col_scale);

/// Of a Hermitian matrix, which stays one: R and C differ by one factor, and the largest number of every row comes near
/// 1. Returns a row of zeros, or -1.
int32_t lac_scaling_symmetric(const lac_structure *structure, lac_dtype dtype, const void *values, void *row_scale,
                              void *col_scale);

/// The sentence for such a row.
void lac_scaling_zero_text(const lac_structure *structure, int32_t row, char *text, size_t size);

/// e with 2^(e - 1) <= largest number of all < 2^e; 0 for a matrix of zeros.
int lac_scaling_exponent(const lac_structure *structure, lac_dtype dtype, const void *values);

void lac_scaling_apply(const lac_structure *structure, lac_dtype dtype, const void *values, const void *row_scale,
                       const void *col_scale, void *scaled);

/// Of a scaled matrix: the smallest |a_ij| with j = match[i] (NULL: the diagonal), 0 where one is no entry; and the
/// largest of all.
typedef struct lac_scaling_range {
  double weakest, largest;
} lac_scaling_range;

lac_scaling_range lac_scaling_measure(const lac_structure *structure, lac_dtype dtype, const void *scaled,
                                      const int32_t *match);

#endif
