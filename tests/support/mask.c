// SPDX-License-Identifier: Apache-2.0
/// @file mask.c
/// Dense structures, by brute force.

#include "support/mask.h"

#include "support/check.h"
#include "support/scratch.h"

mask mask_empty(int64_t rows, int64_t cols) {
  mask m = {rows, cols, 0, scratch((size_t)(rows * cols) * sizeof(int64_t))};
  for (int64_t z = 0; z < rows * cols; ++z) m.slot[z] = -1;
  return m;
}

void mask_number(mask *m) {
  m->nnz = 0;
  for (int64_t z = 0; z < m->rows * m->cols; ++z) {
    if (m->slot[z] >= 0) m->slot[z] = m->nnz++;
  }
}

mask mask_of(int64_t rows, int64_t cols, int64_t count, const int64_t *row, const int64_t *col) {
  mask m = mask_empty(rows, cols);
  for (int64_t i = 0; i < count; ++i) {
    if (row[i] >= 0 && col[i] >= 0) *mask_at(&m, row[i], col[i]) = 0;
  }
  mask_number(&m);
  return m;
}

mask mask_read(const lac_pattern *pattern) {
  int64_t rows = lac_pattern_rows(pattern), cols = lac_pattern_cols(pattern), nnz = lac_pattern_nnz(pattern);
  int64_t *row = scratch((size_t)nnz * sizeof *row), *col = scratch((size_t)nnz * sizeof *col);
  lac_pattern_read(pattern, NULL, col, row);
  return mask_of(rows, cols, nnz, row, col);
}

void mask_check(const mask *m, const lac_pattern *pattern) {
  CHECK_EQ(lac_pattern_rows(pattern), m->rows);
  CHECK_EQ(lac_pattern_cols(pattern), m->cols);
  CHECK_EQ(lac_pattern_nnz(pattern), m->nnz);
  int64_t *offsets = scratch((size_t)(m->rows + 1) * sizeof *offsets);
  int64_t *columns = scratch((size_t)m->nnz * sizeof *columns), *rows = scratch((size_t)m->nnz * sizeof *rows);
  lac_pattern_read(pattern, offsets, columns, rows);

  int64_t slot = 0;
  for (int64_t i = 0; i < m->rows; ++i) {
    CHECK_EQ(offsets[i], slot);
    for (int64_t j = 0; j < m->cols; ++j) {
      if (*mask_at(m, i, j) < 0) continue;
      CHECK_EQ(*mask_at(m, i, j), slot);
      CHECK_EQ(rows[slot], i);
      CHECK_EQ(columns[slot], j);
      ++slot;
    }
  }
  CHECK_EQ(offsets[m->rows], slot);
}

void mask_check_map(const mask *from, const mask *to, int64_t row0, int64_t col0, const lac_map *map) {
  CHECK_EQ(lac_map_inputs(map), from->nnz);
  CHECK_EQ(lac_map_outputs(map), to->nnz);
  int64_t *target = scratch((size_t)from->nnz * sizeof *target);
  int is_identity = from->nnz == to->nnz;
  lac_map_read(map, target);
  for (int64_t i = 0; i < from->rows; ++i) {
    for (int64_t j = 0; j < from->cols; ++j) {
      int64_t slot = *mask_at(from, i, j), row = i - row0, col = j - col0;
      if (slot < 0) continue;
      int inside = row >= 0 && row < to->rows && col >= 0 && col < to->cols;
      CHECK_EQ(target[slot], inside ? *mask_at(to, row, col) : -1);
      is_identity &= target[slot] == slot;
    }
  }
  CHECK_EQ(lac_map_is_identity(map), is_identity);
}
