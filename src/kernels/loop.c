// SPDX-License-Identifier: Apache-2.0
/// @file loop.c
/// Loops over broadcast dimensions.

#include "kernels/loop.h"

#include <stdbool.h>

void lac_loop_spread(const lac_meta *whole, const lac_meta *operand, int64_t stride[LAC_MAX_DIMS]) {
  int64_t numbers = 1;
  for (int d = whole->ndim - 1, own = operand->ndim - 1; d >= 0; --d, --own) {
    int64_t size = own >= 0 ? operand->shape[own] : 1;
    stride[d] = size == 1 ? 0 : numbers;
    numbers *= size;
  }
}

void lac_loop_masked(const lac_meta *whole, uint32_t mask, int64_t stride[LAC_MAX_DIMS]) {
  int64_t numbers = 1;
  for (int d = whole->ndim - 1; d >= 0; --d) {
    bool is_masked = mask >> (whole->ndim - 1 - d) & 1;
    stride[d] = is_masked ? 0 : numbers;
    if (!is_masked) numbers *= whole->shape[d];
  }
}

/// Whether every operand runs on from the end of a dimension of the loop into the dimension d before it.
static bool runs_on(const lac_loop *loop, int last, int d) {
  for (int o = 0; o < LAC_LOOP_OPERANDS; ++o) {
    if (loop->stride[o][d] != loop->stride[o][last] * loop->shape[last]) return false;
  }
  return true;
}

void lac_loop_join(lac_loop *loop, const lac_meta *whole) {
  int last = LAC_MAX_DIMS;  // joined dimensions gather at the end of the arrays
  for (int d = whole->ndim - 1; d >= 0; --d) {
    if (whole->shape[d] == 1) continue;
    if (last < LAC_MAX_DIMS && runs_on(loop, last, d)) {
      loop->shape[last] *= whole->shape[d];
      continue;
    }
    loop->shape[--last] = whole->shape[d];  // never below d: what is still to be read stays
    for (int o = 0; o < LAC_LOOP_OPERANDS; ++o) loop->stride[o][last] = loop->stride[o][d];
  }
  if (last == LAC_MAX_DIMS) {  // a single number
    loop->shape[--last] = 1;
    for (int o = 0; o < LAC_LOOP_OPERANDS; ++o) loop->stride[o][last] = 1;
  }
  loop->ndim = LAC_MAX_DIMS - last;
  for (int d = 0; d < loop->ndim; ++d) {
    loop->shape[d] = loop->shape[last + d];
    for (int o = 0; o < LAC_LOOP_OPERANDS; ++o) loop->stride[o][d] = loop->stride[o][last + d];
  }
}

lac_cursor lac_cursor_at(const lac_loop *loop, int64_t outer) {
  lac_cursor cursor = {.offset = {0}};
  for (int d = loop->ndim - 2; d >= 0; --d) {
    cursor.at[d] = outer % loop->shape[d];
    outer /= loop->shape[d];
    for (int o = 0; o < LAC_LOOP_OPERANDS; ++o) cursor.offset[o] += cursor.at[d] * loop->stride[o][d];
  }
  return cursor;
}

void lac_cursor_next(const lac_loop *loop, lac_cursor *cursor) {
  for (int d = loop->ndim - 2; d >= 0; --d) {
    bool wraps = ++cursor->at[d] == loop->shape[d];
    int64_t steps = wraps ? 1 - loop->shape[d] : 1;
    for (int o = 0; o < LAC_LOOP_OPERANDS; ++o) cursor->offset[o] += steps * loop->stride[o][d];
    if (!wraps) return;
    cursor->at[d] = 0;
  }
}
