// SPDX-License-Identifier: Apache-2.0
/// @file grid.c
/// The table of multigrid on a grid, and how its loops are cut among threads.

#include "backends/cpu/grid/grid.h"

#include "core/test_hooks.h"

const grid_reach grid_none = {0, {0}}, grid_edges = {4, {1, 3, 5, 7}}, grid_corners = {4, {0, 2, 6, 8}},
                 grid_both = {8, {1, 3, 5, 7, 0, 2, 6, 8}};

static _Atomic int64_t parts_asked = 0;

void lac_grid_set_parts(int64_t parts) { parts_asked = parts; }

typedef struct grid_cut {
  int64_t parts, rows, columns, down;
  size_t bytes;
  char *work;
  grid_part part;
  const void *job;
} grid_cut;

static void run_parts(const void *shared, int64_t begin, int64_t end) {
  const grid_cut *cut = shared;
  for (int64_t part = begin; part < end; ++part) {
    int64_t row = cut->rows * part / cut->parts, last = cut->rows * (part + 1) / cut->parts;
    while (row < last) {
      int64_t vector = row / cut->down, first = row - vector * cut->down;
      int64_t rest = cut->down - first < last - row ? cut->down - first : last - row;
      grid_range range = {vector / cut->columns, vector % cut->columns, first, first + rest,
                          cut->work + (size_t)part * cut->bytes};
      memset(range.work, 0, cut->bytes);
      cut->part(cut->job, &range);
      row += rest;
    }
  }
}

lac_status grid_run(lac_context *ctx, int64_t items, int64_t columns, const lac_grid *grid, size_t bytes,
                    grid_part part, const void *job) {
  lac_status status = LAC_OK;
  int64_t rows = items * columns * grid->down, entries = grid->has_corners ? 9 : 5;
  int64_t work = items * columns * grid->width * grid->height * entries;
  grid_cut cut = {.rows = rows, .columns = columns, .down = grid->down, .bytes = bytes, .part = part, .job = job};

  if (rows == 0) goto done;
  cut.parts = parts_asked > 0 ? parts_asked : cpu_threads(ctx, work);
  if (cut.parts > rows) cut.parts = rows;
  cut.work = lac_alloc((size_t)cut.parts * bytes);
  LAC_CHECK(cut.work, LAC_ERR_MEMORY, "out of memory: %zu bytes for rows of a grid", (size_t)cut.parts * bytes);
  cpu_split((int)cut.parts, cut.parts, 1, run_parts, &cut);
done:
  lac_free(cut.work);
  return status;
}

const lac_grid_kernels cpu_grid_kernels = {
#define LAC_KERNEL(slot, parameters) .slot = cpu_grid_##slot,
#include "kernels/grid.def"
#undef LAC_KERNEL
};
