// SPDX-License-Identifier: Apache-2.0
/// @file grid_find.c
/// Whether the entries of a pattern lead to neighbours on a rectangular grid, and on which one.

#include <stdatomic.h>

#include "backends/cpu/grid/grid.h"

/// Narrower grids have neighbours in the next row that are neighbours in their own row too.
enum { GRID_NARROWEST = 3 };
enum { FIND_SAMPLES = 512 };  // rows that the width is looked for in

typedef struct find_job {
  const lac_pattern *pattern;
  int64_t width;
  _Atomic int64_t *stray;  // the first row that has an entry which leads elsewhere
  _Atomic bool *has_corners;
} find_job;

/// The direction of an entry; -1: it leads elsewhere.
static int direction_of(int64_t width, int64_t row, int64_t column) {
  int direction = grid_direction(width, column - row);
  int64_t x = row % width + direction % 3 - 1;
  return direction >= 0 && x >= 0 && x < width ? direction : -1;
}

static void look_rows(const void *shared, int64_t begin, int64_t end) {
  const find_job *job = shared;
  const lac_pattern *p = job->pattern;
  bool has_corners = false;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t q = lac_buffer_get(p->offsets, i), last = lac_buffer_get(p->offsets, i + 1); q < last; ++q) {
      int direction = direction_of(job->width, i, lac_buffer_get(p->columns, q));
      has_corners = has_corners || grid_is_corner(direction);
      if (direction >= 0) continue;
      int64_t before = atomic_load(job->stray);
      while (i < before && !atomic_compare_exchange_weak(job->stray, &before, i)) continue;
      return;
    }
  }
  if (has_corners) atomic_store(job->has_corners, true);
}

static bool is_grid(lac_context *ctx, const lac_pattern *pattern, int64_t width, lac_grid *grid, int64_t *stray) {
  _Atomic int64_t first = pattern->rows;
  _Atomic bool has_corners = false;
  find_job job = {pattern, width, &first, &has_corners};

  if (width < GRID_NARROWEST || pattern->rows % width != 0) return false;
  cpu_split(cpu_threads(ctx, pattern->nnz), pattern->rows, 64, look_rows, &job);
  if (first > *stray) *stray = first;
  if (first < pattern->rows) return false;
  *grid = lac_grid_make(width, pattern->rows / width, has_corners);
  return true;
}

lac_status cpu_grid_found(lac_context *ctx, const lac_pattern *pattern, lac_grid *grid, int64_t *stray) {
  lac_status status = LAC_OK;
  int64_t step = pattern->rows / FIND_SAMPLES + 1, away = 0;

  *grid = (lac_grid){0};
  *stray = -1;
  LAC_TRY(lac_pattern_host(ctx, pattern));
  if (pattern->nnz == 0 || pattern->rows != pattern->cols) goto done;
  for (int64_t i = 0; i < pattern->rows; i += step) {
    int64_t first = lac_buffer_get(pattern->offsets, i), last = lac_buffer_get(pattern->offsets, i + 1) - 1;
    if (last < first) continue;
    int64_t ahead = lac_buffer_get(pattern->columns, last) - i, back = i - lac_buffer_get(pattern->columns, first);
    if (ahead > away) away = ahead;
    if (back > away) away = back;
  }
  if (!is_grid(ctx, pattern, away, grid, stray)) (void)is_grid(ctx, pattern, away - 1, grid, stray);
done:
  return status;
}
