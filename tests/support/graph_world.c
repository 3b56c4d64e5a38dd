// SPDX-License-Identifier: Apache-2.0
/// @file graph_world.c
/// What random graphs are made over.

#include <stdlib.h>

#include "lacuna/extend.h"
#include "support/check.h"
#include "support/graph_impl.h"

/// Constants of both dtypes from real numbers.
static void world_constant(lac_context *ctx, lac_array *out[2], int ndim, const int64_t *shape, const double *numbers) {
  int64_t count = 1;
  double complex both[64];

  for (int d = 0; d < ndim; d++) count *= shape[d];
  for (int64_t i = 0; i < count; i++) both[i] = numbers[i];
  CHECK_OK(lac_array_from(ctx, LAC_F64, ndim, shape, (void *)numbers, LAC_OWNERSHIP_COPY, &out[0]));
  CHECK_OK(lac_array_from(ctx, LAC_C128, ndim, shape, both, LAC_OWNERSHIP_COPY, &out[1]));
}

static void world_constants(lac_context *ctx, graph_world *w, const sketch *s) {
  double mask[N * K], ramp[N * K], diagonal[N * N], values[N * N];

  for (int i = 0; i < N * K; i++) mask[i] = i % 3 != 1, ramp[i] = 3.0 * ((i * 5) % (N * K)) + 2;
  for (int64_t z = 0; z < s->nnz; z++)
    diagonal[z] = s->row[z] == s->col[z] ? 3 : 0, values[z] = 3.0 * (double)((z * 7) % s->nnz) + 2;
  world_constant(ctx, w->mask, 2, (int64_t[]){N, K}, mask);
  world_constant(ctx, w->ramp, 2, (int64_t[]){N, K}, ramp);
  world_constant(ctx, w->diagonal, 1, &s->nnz, diagonal);
  world_constant(ctx, w->ramp_values, 1, &s->nnz, values);
}

graph_world *graph_world_open(lac_context *ctx) {
  graph_world *w = calloc(1, sizeof *w);
  const sketch *s = sketch_square(N, 0.4, 5);

  CHECK(w);
  w->is_covered = calloc((size_t)lac_op_count(), sizeof *w->is_covered);
  CHECK(w->is_covered);
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &w->p));
  CHECK_OK(lac_pattern_transpose(ctx, w->p, &w->q, &w->transposed));
  CHECK_OK(lac_pattern_product(ctx, w->p, w->p, &w->product));
  CHECK_OK(lac_pattern_union(ctx, w->p, w->q, &w->both, NULL, NULL));
  CHECK_OK(lac_pattern_intersection(ctx, w->p, w->q, &w->common, NULL, NULL));
  CHECK_OK(lac_pattern_triangle(ctx, w->p, LAC_TRIANGLE_LOWER, 0, &w->lower, &w->triangle));
  CHECK_OK(lac_pattern_blocked(ctx, w->p, BLOCK, BLOCK, &w->blocked, &w->blocks));
  CHECK_OK(lac_pattern_dense(ctx, w->p, &w->dense));
  CHECK_OK(lac_pattern_row_map(ctx, w->p, &w->lines));
  CHECK_OK(lac_map_create(ctx, N, N, (int64_t[N]){2, 0, 2, -1}, &w->rows));
  CHECK_OK(lac_map_create(ctx, N, GROUPS, (int64_t[N]){1, 0, 1, 1}, &w->groups));
  CHECK_OK(lac_solver_create(ctx, w->p, NULL, &w->solver));
  world_constants(ctx, w, s);
  return w;
}

void graph_world_close(graph_world *w) {
  lac_pattern **patterns[] = {&w->p, &w->q, &w->product, &w->both, &w->common, &w->lower, &w->blocked};
  lac_map **maps[] = {&w->transposed, &w->triangle, &w->dense, &w->rows, &w->lines, &w->groups, &w->blocks};

  lac_solver_destroy(&w->solver);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) lac_map_destroy(maps[i]);
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) lac_pattern_destroy(patterns[i]);
  for (int i = 0; i < 2; i++) {
    lac_array_destroy(&w->mask[i]);
    lac_array_destroy(&w->diagonal[i]);
    lac_array_destroy(&w->ramp[i]);
    lac_array_destroy(&w->ramp_values[i]);
  }
  free(w->is_covered);
  free(w);
}

int graph_world_covered(const graph_world *w) {
  int covered = 0;

  for (int i = 0; i < lac_op_count(); i++) covered += w->is_covered[i];
  return covered;
}
