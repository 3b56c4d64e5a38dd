// SPDX-License-Identifier: Apache-2.0
/// @file search.h
/// Binary search among numbers that ascend: columns of a row, offsets of rows.

#ifndef LACUNA_CORE_SEARCH_H
#define LACUNA_CORE_SEARCH_H

#include <stdint.h>

/// Moves `low` to the first `i` of low .. high - 1 that is not before what is looked for, and to `high` where all are.
/// The condition `is_before` is of `i`: it holds up to some place, and no longer from there on.
#define LAC_SEARCH(low, high, i, is_before)   \
  while ((low) < (high)) {                    \
    int64_t i = (low) + ((high) - (low)) / 2; \
    if (is_before) {                          \
      (low) = i + 1;                          \
    } else {                                  \
      (high) = i;                             \
    }                                         \
  }

/// The first of low .. high - 1 whose number is at least `least`; `high` where there is none.
static inline int64_t lac_search_i32(const int32_t *x, int64_t low, int64_t high, int32_t least) {
  LAC_SEARCH(low, high, i, x[i] < least)
  return low;
}

static inline int64_t lac_search_i64(const int64_t *x, int64_t low, int64_t high, int64_t least) {
  LAC_SEARCH(low, high, i, x[i] < least)
  return low;
}

/// The last row that begins at or before `slot`, of `rows` whose offsets begin with 0: the one that has the slot.
static inline int64_t lac_search_row(const int64_t *offsets, int64_t rows, int64_t slot) {
  return rows > 0 ? lac_search_i64(offsets, 1, rows, slot + 1) - 1 : 0;
}

#endif
