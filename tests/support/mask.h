// SPDX-License-Identifier: Apache-2.0
/// @file mask.h
/// The plainest picture of a structure: a table that has the slot of each entry, and -1 where there is none.

#ifndef LACUNA_TESTS_MASK_H
#define LACUNA_TESTS_MASK_H

#include <stdint.h>

#include "lacuna/pattern.h"

/// Kept in scratch memory.
typedef struct mask {
  int64_t rows, cols, nnz;
  int64_t *slot;  // rows x cols, row-major
} mask;

/// No entries; those of a list, which may repeat; those of a pattern.
mask mask_empty(int64_t rows, int64_t cols);
mask mask_of(int64_t rows, int64_t cols, int64_t count, const int64_t *row, const int64_t *col);
mask mask_read(const lac_pattern *pattern);

static inline int64_t *mask_at(const mask *m, int64_t row, int64_t col) { return &m->slot[row * m->cols + col]; }

/// Number the entries (all that are not -1) in canonical order.
void mask_number(mask *m);

/// The pattern has exactly these entries in these slots, and says so in all its ways.
void mask_check(const mask *m, const lac_pattern *pattern);

/// The map takes the slot of each entry of `from` to that of the entry (row - row0, col - col0) of `to`, or drops it.
void mask_check_map(const mask *from, const mask *to, int64_t row0, int64_t col0, const lac_map *map);

#endif
