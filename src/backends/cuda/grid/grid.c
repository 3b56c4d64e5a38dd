// SPDX-License-Identifier: Apache-2.0
/// @file grid.c
/// The table of multigrid on a grid (kernels/grid.h): operands of its launchers, and the few words that they report.

#include "backends/cuda/grid/grid.h"

#include <string.h>

#include "backends/cuda/backend.h"
#include "kernels/grid.h"

/// Narrower grids have neighbours in the next row that are neighbours in their own row too.
enum { GRID_NARROWEST = 3 };
enum { FIND_SAMPLES = 512 };  // rows that the width is looked for in
enum { MOST_ITEMS = 65535 };  // matrices that a launch may have
enum { FEW_CELLS = 60000 };   // of all vectors: they are done sooner in small tiles

static cuda_grid grid_of(const lac_grid *g) {
  return (cuda_grid){g->width, g->height, g->across, g->down, g->stride, g->has_corners};
}

// -- the grid of a pattern -------------------------------------------------------------------------------------------

/// A few words on the device, and on the host after a launch.
static lac_status find_read(lac_context *ctx, cuda_scope scope, cudaError_t error, const cuda_scratch *words,
                            void *to) {
  lac_status status = LAC_OK;
  LAC_TRY(cuda_end(ctx, scope, error, "grid"));
  LAC_TRY(ctx->backend->download(ctx, to, words->data, words->bytes));
done:
  return status;
}

static lac_status find_away(lac_context *ctx, const cuda_rows *rows, int64_t *away) {
  lac_status status = LAC_OK;
  cuda_scratch word = {NULL, 0};
  cuda_scope scope;

  LAC_TRY(cuda_scratch_take(ctx, "grid", sizeof(unsigned long long), &word));
  scope = cuda_begin(ctx);
  LAC_TRY(find_read(ctx, scope, cuda_launch_grid_away(ctx->stream, rows, rows->rows / FIND_SAMPLES + 1, word.data),
                    &word, away));
done:
  cuda_scratch_release(ctx, &word);
  return status;
}

static lac_status find_try(lac_context *ctx, const cuda_rows *rows, int64_t width, lac_grid *grid, int64_t *stray) {
  lac_status status = LAC_OK;
  cuda_grid_look look = {0, 0};
  cuda_scratch words = {NULL, 0};
  cuda_scope scope;

  if (width < GRID_NARROWEST || rows->rows % width != 0) goto done;
  LAC_TRY(cuda_scratch_take(ctx, "grid", sizeof look, &words));
  scope = cuda_begin(ctx);
  LAC_TRY(find_read(ctx, scope, cuda_launch_grid_look(ctx->stream, rows, width, words.data), &words, &look));
  if (look.stray == UINT64_MAX) {
    *grid = lac_grid_make(width, rows->rows / width, look.has_corners != 0);
  } else if ((int64_t)look.stray > *stray) {
    *stray = (int64_t)look.stray;
  }
done:
  cuda_scratch_release(ctx, &words);
  return status;
}

static lac_status cuda_grid_found(lac_context *ctx, const lac_pattern *pattern, lac_grid *grid, int64_t *stray) {
  lac_status status = LAC_OK;
  cuda_rows rows;
  int64_t away = 0;

  *grid = (lac_grid){0};
  *stray = -1;
  if (pattern->nnz == 0 || pattern->rows != pattern->cols) goto done;
  LAC_TRY(cuda_rows_of(ctx, pattern, false, &rows));
  LAC_TRY(find_away(ctx, &rows, &away));
  LAC_TRY(find_try(ctx, &rows, away, grid, stray));
  if (grid->width == 0) LAC_TRY(find_try(ctx, &rows, away - 1, grid, stray));
done:
  return status;
}

// -- set-up ----------------------------------------------------------------------------------------------------------

static lac_status grid_check_items(lac_context *ctx, int64_t items) {
  lac_status status = LAC_OK;
  LAC_CHECK(items <= MOST_ITEMS, LAC_ERR_UNSUPPORTED,
            "multigrid: %lld matrices on grids are more than the %d that the backend cuda sets up at once; solve them "
            "in parts",
            (long long)items, MOST_ITEMS);
done:
  return status;
}

static lac_status cuda_grid_coarsened(lac_context *ctx, const lac_pattern *pattern, const lac_array *values,
                                      const lac_array *unit, const lac_grid_level *level, const lac_grid *next,
                                      lac_array *out, lac_array *largest, int which) {
  lac_status status = LAC_OK;
  cuda_rows rows;
  cuda_scope scope;
  cuda_grid_setup job = {.grid = grid_of(&level->grid),
                         .next = grid_of(next),
                         .items = level->planes->meta.shape[0],
                         .is_half = level->is_half,
                         .values = values->storage->data,
                         .unit = unit ? unit->storage->data : NULL,
                         .planes = level->planes->storage->data,
                         .weights = level->weights->storage->data,
                         .out = out->storage->data,
                         .largest = (unsigned long long *)largest->storage->data + which};

  LAC_TRY(grid_check_items(ctx, job.items));
  if (pattern) {
    LAC_TRY(cuda_rows_of(ctx, pattern, false, &rows));
    job.rows = &rows;
    job.entries = rows.entries;
  }
  LAC_TRY(cuda_fill(ctx, level->planes, 0, 0));
  LAC_TRY(cuda_fill(ctx, level->weights, 0, 0));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_grid_setup(ctx->stream, values->meta.dtype, level->planes->meta.dtype, &job),
                   "multigrid"));
done:
  return status;
}

// -- the cycle -------------------------------------------------------------------------------------------------------

static cuda_grid_cycle cycle_of(const lac_grid_level *level, lac_grid_op op, const lac_array *scale, const lac_array *b,
                                const lac_array *x, const lac_grid *next, const lac_array *coarse) {
  return (cuda_grid_cycle){.grid = grid_of(&level->grid),
                           .next = next ? grid_of(next) : (cuda_grid){0},
                           .items = x->meta.shape[0],
                           .columns = x->meta.shape[1],
                           .is_half = level->is_half,
                           .transposes = op.transposes,
                           .conj = op.conjugates,
                           .has_next = next != NULL,
                           .scale = scale ? scale->storage->data : NULL,
                           .planes = level->planes->storage->data,
                           .weights = level->weights->storage->data,
                           .b = b->storage->data,
                           .x = x->storage->data,
                           .coarse = coarse->storage->data};
}

static bool cycle_is_small(const cuda_grid_cycle *job) {
  return job->grid.across * job->grid.down * job->items * job->columns <= FEW_CELLS;
}

static lac_status cuda_grid_descended(lac_context *ctx, const lac_grid_level *level, lac_grid_op op,
                                      const lac_array *scale, const lac_array *b, lac_array *x, const lac_grid *next,
                                      lac_array *rc) {
  cuda_grid_cycle job = cycle_of(level, op, scale, b, x, next, rc);
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cycle_is_small(&job)
                          ? cuda_launch_grid_descend_small(ctx->stream, b->meta.dtype, x->meta.dtype, &job)
                          : cuda_launch_grid_descend(ctx->stream, b->meta.dtype, x->meta.dtype, &job);
  return cuda_end(ctx, scope, error, "multigrid");
}

static lac_status cuda_grid_ascended(lac_context *ctx, const lac_grid_level *level, lac_grid_op op,
                                     const lac_array *scale, const lac_array *b, const lac_array *x,
                                     const lac_grid *next, const lac_array *xc, lac_array *z) {
  cuda_grid_cycle job = cycle_of(level, op, scale, b, x, next, xc);
  job.z = z->storage->data;
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cycle_is_small(&job)
                          ? cuda_launch_grid_ascend_small(ctx->stream, b->meta.dtype, x->meta.dtype, &job)
                          : cuda_launch_grid_ascend(ctx->stream, b->meta.dtype, x->meta.dtype, &job);
  return cuda_end(ctx, scope, error, "multigrid");
}

const lac_grid_kernels cuda_grid_kernels = {
#define LAC_KERNEL(slot, parameters) .slot = cuda_grid_##slot,
#include "kernels/grid.def"
#undef LAC_KERNEL
};
