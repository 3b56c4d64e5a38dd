// SPDX-License-Identifier: Apache-2.0
/// @file gather_mm.c
/// Rows times the matrix that each of them names, and the sums of outer products that are its adjoint:
///
///     gather_mm      y[i] = a[i] op(b[target i])
///     gather_outer   w[j] = sum of conj(u[i])^T v[i] over the sources i of j
///
/// Rows that name the same matrix are taken four at a time, so that a matrix is read once for four rows.

#include "backends/cpu/products/grouped.h"
#include "backends/cpu/base/types.h"
#include "core/numbers/search.h"

enum { GATHER_ROWS = 4, GATHER_LANES = 8 };

#define KERNEL_FILE "backends/cpu/products/gather_mm_kernel.h"
#define C i32
#include "backends/cpu/base/instantiate.h"
#undef C
#define C i64
#include "backends/cpu/base/instantiate.h"
#undef C

static const cpu_grouped_kernel plain[2][4] = TABLE_TYPES(gather_mm_plain);
static const cpu_grouped_kernel transposed[2][4] = TABLE_TYPES(gather_mm_transposed);
static const cpu_grouped_kernel outer_groups[2][4] = TABLE_TYPES(gather_outer_groups);
static const cpu_grouped_kernel outer_panels[2][4] = TABLE_TYPES(gather_outer_panels);

/// The sizes of the matrices: the last two axes of b.
static void set_sizes(cpu_grouping *g, const lac_array *b) {
  g->shared.d = b->meta.shape[b->meta.ndim - 2];
  g->shared.e = b->meta.shape[b->meta.ndim - 1];
  g->work *= g->shared.d * g->shared.e;
}

lac_status cpu_gather_mm(lac_context *ctx, const lac_map *map, lac_form form, const lac_array *a, const lac_array *b,
                         lac_array *y) {
  lac_status status = LAC_OK;
  cpu_grouping g = {.shared.sign = lac_form_conjugates(form) ? -1 : 1};

  if (y->count == 0) return LAC_OK;
  if (a->count == 0 || b->count == 0) return cpu_fill(ctx, y, 0, 0);
  LAC_TRY(cpu_grouping_init(ctx, &g, map, (const lac_array *const[]){a, b}, y, (const int[]){2, 3, 2}));
  set_sizes(&g, b);
  g.range = lac_buffer_get(g.offsets, map->outputs);  // places in the order of the groups
  if (g.range < map->inputs) LAC_TRY(cpu_fill(ctx, y, 0, 0));
  g.offsets = NULL;
  g.kernel = (lac_form_transposes(form) ? transposed : plain)[map->target->type][y->meta.dtype];
  cpu_grouping_run(ctx, &g);
done:
  return status;
}

lac_status cpu_gather_outer(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v,
                            lac_array *w) {
  lac_status status = LAC_OK;
  cpu_grouping g = {0};
  lac_index_type type = map->target->type;

  if (w->count == 0) return LAC_OK;
  if (u->count == 0 || v->count == 0) return cpu_fill(ctx, w, 0, 0);
  LAC_TRY(cpu_grouping_init(ctx, &g, map, (const lac_array *const[]){u, v}, w, (const int[]){2, 2, 3}));
  set_sizes(&g, w);
  g.kernel = outer_groups[type][w->meta.dtype];
  if (map->outputs < 4 * ctx->threads) {
    g.offsets = NULL;
    g.range *= (g.shared.d + GATHER_ROWS - 1) / GATHER_ROWS;
    g.kernel = outer_panels[type][w->meta.dtype];
  }
  cpu_grouping_run(ctx, &g);
done:
  return status;
}
