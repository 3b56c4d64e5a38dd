// SPDX-License-Identifier: Apache-2.0
/// @file setup_blocks.c
/// The unknowns of a point, seen in the structure alone: rows that have the same columns, in whole runs. What a pattern
/// of blocks was before lac_pattern_scalar took it apart.

#include "core/pattern/pattern_impl.h"
#include "solvers/precondition/preconditioner.h"

/// Whether rows i .. i + size of a pattern have the same columns, in whole runs of `size`.
static bool setup_rows_are_block(const lac_pattern *p, int64_t i, int64_t size) {
  int64_t begin = lac_buffer_get(p->offsets, i), length = lac_buffer_get(p->offsets, i + 1) - begin;
  for (int64_t r = 0; r < size; ++r) {
    int64_t from = lac_buffer_get(p->offsets, i + r);
    if (lac_buffer_get(p->offsets, i + r + 1) - from != length) return false;
    for (int64_t q = 0; q < length; ++q) {
      int64_t column = lac_buffer_get(p->columns, from + q),
              first = lac_buffer_get(p->columns, begin + q / size * size);
      if (first % size || column != first + q % size) return false;
    }
  }
  return length % size == 0;
}

int64_t lac_setup_blocks(const lac_pattern *pattern, int most) {
  for (int64_t size = most; size > 1; --size) {
    int64_t i = 0;
    if (pattern->rows % size) continue;
    while (i < pattern->rows && setup_rows_are_block(pattern, i, size)) i += size;
    if (i == pattern->rows) return size;
  }
  return 1;
}
