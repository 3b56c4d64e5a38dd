// SPDX-License-Identifier: Apache-2.0
/// @file segment.c
/// Numbers of the groups of a map: products with one number for each group, inner products, and reductions of reals.

#include "backends/cpu/products/grouped.h"
#include "backends/cpu/base/functions.h"

#define KERNEL_FILE "backends/cpu/products/segment_kernel.h"
#define C i32
#include "backends/cpu/base/instantiate.h"
#undef C
#define C i64
#include "backends/cpu/base/instantiate.h"
#undef C

// Entries and groups whose exponentials are taken in one loop.
enum { SEGMENT_BUFFER = 512, SEGMENT_GROUPS = 128 };

#define T f32
#define C i32
#include "backends/cpu/products/segment_real_kernel.h"
#undef C
#define C i64
#include "backends/cpu/products/segment_real_kernel.h"
#undef C
#undef T
#define T f64
#define C i32
#include "backends/cpu/products/segment_real_kernel.h"
#undef C
#define C i64
#include "backends/cpu/products/segment_real_kernel.h"
#undef C
#undef T

static const cpu_grouped_kernel scales[2][4] = TABLE_TYPES(segment_scale);
static const cpu_grouped_kernel dots[2][4] = TABLE_TYPES(segment_dot);
static const cpu_grouped_kernel logsumexps[2][2] = TABLE_REALS(segment_logsumexp);
static const cpu_grouped_kernel softmaxs[2][2] = TABLE_REALS(segment_softmax);
static const cpu_grouped_kernel extremes[2][2] = TABLE_REALS(segment_extreme);
static const cpu_grouped_kernel ties[2][2] = TABLE_REALS(segment_ties);

lac_status cpu_segment_scale(lac_context *ctx, const lac_map *map, const lac_array *d, const lac_array *a,
                             lac_array *y) {
  lac_status status = LAC_OK;
  cpu_grouping g = {0};

  if (y->count == 0) return LAC_OK;
  if (a->count == 0 || d->count == 0) return cpu_fill(ctx, y, 0, 0);
  LAC_TRY(cpu_grouping_init(ctx, &g, map, (const lac_array *const[]){d, a}, y, (const int[]){1, 1, 1}));
  g.kernel = scales[map->target->type][y->meta.dtype];
  g.range = map->inputs;
  g.offsets = NULL;
  cpu_grouping_run(ctx, &g);
done:
  return status;
}

lac_status cpu_segment_dot(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v, lac_array *s) {
  lac_status status = LAC_OK;
  cpu_grouping g = {0};

  if (s->count == 0) return LAC_OK;
  if (u->count == 0 || v->count == 0) return cpu_fill(ctx, s, 0, 0);
  LAC_TRY(cpu_grouping_init(ctx, &g, map, (const lac_array *const[]){u, v}, s, (const int[]){1, 1, 1}));
  g.kernel = dots[map->target->type][s->meta.dtype];
  cpu_grouping_run(ctx, &g);
done:
  return status;
}

lac_status cpu_segment(lac_context *ctx, lac_segment what, const lac_map *map, int64_t full, const lac_array *x,
                       lac_array *y) {
  static const cpu_grouped_kernel(*const kernels[])[2] = {
      [LAC_SEGMENT_LOGSUMEXP] = logsumexps, [LAC_SEGMENT_SOFTMAX] = softmaxs, [LAC_SEGMENT_MAX] = extremes,
      [LAC_SEGMENT_MIN] = extremes,         [LAC_SEGMENT_MAX_TIES] = ties,    [LAC_SEGMENT_MIN_TIES] = ties};
  bool each = what == LAC_SEGMENT_SOFTMAX || what == LAC_SEGMENT_MAX_TIES || what == LAC_SEGMENT_MIN_TIES;
  lac_status status = LAC_OK;
  cpu_grouping g = {0};

  if (y->count == 0) return LAC_OK;
  LAC_TRY(cpu_grouping_init(ctx, &g, map, (const lac_array *const[]){x, x}, y, (const int[]){1, 1, 1}));
  if (each && lac_buffer_get(g.offsets, map->outputs) < map->inputs) LAC_TRY(cpu_fill(ctx, y, 0, 0));
  g.kernel = kernels[what][map->target->type][y->meta.dtype];
  g.shared.full = full;
  g.shared.sign = what == LAC_SEGMENT_MIN || what == LAC_SEGMENT_MIN_TIES ? -1 : 1;
  cpu_grouping_run(ctx, &g);
done:
  return status;
}
