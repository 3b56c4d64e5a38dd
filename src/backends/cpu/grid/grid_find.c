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

// Whether `count` numbers grow by `step` to the one that is `apart` numbers behind.
#define GROWS(type)                                                                    \
  static bool grows_##type(const type *x, int64_t count, int64_t apart, type step) {   \
    type differs = 0;                                                                  \
    for (int64_t i = 0; i < count; ++i) differs |= (type)(x[i + apart] - x[i] - step); \
    return differs == 0;                                                               \
  }
GROWS(i32)
GROWS(i64)

static bool grows(const lac_buffer *b, int64_t first, int64_t count, int64_t apart, int64_t step) {
  if (b->type == LAC_I32) return grows_i32((const i32 *)b->host + first, count, apart, (i32)step);
  return grows_i64((const i64 *)b->host + first, count, apart, step);
}

/// Whether each of `count` rows behind row i has the entries of the one before it, one column further.
static bool rows_repeat(const lac_pattern *p, int64_t i, int64_t count) {
  int64_t first = lac_buffer_get(p->offsets, i), entries = lac_buffer_get(p->offsets, i + 1) - first;
  return grows(p->offsets, i, count + 1, 1, entries) && grows(p->columns, first, entries * count, entries, 1);
}

/// Whether all entries of a point's row lead to neighbours.
static bool look_row(const lac_pattern *p, int64_t width, int64_t y, int64_t x, bool *has_corners) {
  const int64_t i = y * width + x;
  for (int64_t q = lac_buffer_get(p->offsets, i), last = lac_buffer_get(p->offsets, i + 1); q < last; ++q) {
    int direction = grid_direction(width, lac_buffer_get(p->columns, q) - i);
    int64_t to = x + direction % 3 - 1;
    if (direction < 0 || to < 0 || to >= width) return false;
    *has_corners = *has_corners || grid_is_corner(direction);
  }
  return true;
}

/// Rows [begin, end) of the grid. The points between the ends of most rows repeat the second one.
static void look_lines(const void *shared, int64_t begin, int64_t end) {
  const find_job *job = shared;
  bool has_corners = false;
  for (int64_t y = begin; y < end; ++y) {
    for (int64_t x = 0; x < job->width; ++x) {
      if (x == 2 && rows_repeat(job->pattern, y * job->width + 1, job->width - 3)) x = job->width - 1;
      if (look_row(job->pattern, job->width, y, x, &has_corners)) continue;
      int64_t i = y * job->width + x, before = atomic_load(job->stray);
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
  cpu_split(cpu_threads(ctx, pattern->nnz), pattern->rows / width, 1, look_lines, &job);
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
