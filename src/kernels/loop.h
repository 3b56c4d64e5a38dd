// SPDX-License-Identifier: Apache-2.0
/// @file loop.h
/// A loop over the dimensions of an array with up to three operands that are spread along some of them.
///
/// Dimensions of size 1 are dropped and neighbours through which every operand runs on are joined, so that the
/// innermost dimension is as long as can be; its stride is 0 or 1 for each operand.

#ifndef LACUNA_KERNELS_LOOP_H
#define LACUNA_KERNELS_LOOP_H

#include "lacuna/array.h"

enum { LAC_LOOP_OPERANDS = 3 };

typedef struct lac_loop {
  int ndim;  // at least 1
  int64_t shape[LAC_MAX_DIMS];
  int64_t stride[LAC_LOOP_OPERANDS][LAC_MAX_DIMS];  // in numbers
} lac_loop;

/// The strides of an operand whose dimensions are aligned at the right with a shape and have its size or 1.
void lac_loop_spread(const lac_meta *whole, const lac_meta *operand, int64_t stride[LAC_MAX_DIMS]);

/// The strides of an operand that has all dimensions of a shape but those of `mask` (bit i: the i-th from the end).
void lac_loop_masked(const lac_meta *whole, uint32_t mask, int64_t stride[LAC_MAX_DIMS]);

/// Make the loop over `whole` from the strides that loop->stride holds, one for each of its dimensions.
void lac_loop_join(lac_loop *loop, const lac_meta *whole);

/// A place in all dimensions but the innermost, and where the operands stand there.
typedef struct lac_cursor {
  int64_t at[LAC_MAX_DIMS];
  int64_t offset[LAC_LOOP_OPERANDS];
} lac_cursor;

static inline int64_t lac_loop_inner(const lac_loop *loop) { return loop->shape[loop->ndim - 1]; }

/// The place with number `outer` in row-major order.
lac_cursor lac_cursor_at(const lac_loop *loop, int64_t outer);

/// The next place; after the last one comes the first.
void lac_cursor_next(const lac_loop *loop, lac_cursor *cursor);

#endif
