// SPDX-License-Identifier: Apache-2.0
/// @file grid_cycle.c
/// One V-cycle: a sweep over the four colours on the way down, and one in the opposite order on the way up.
///
/// With the orders reversed, a cycle of op(A) is op of the cycle.

#include "solvers/precondition/multigrid/coarse/rooms.h"
#include "solvers/precondition/multigrid/grid/grid.h"

/// What a level works in: its right-hand side, what the way down leaves, the result.
typedef struct room {
  lac_array *b, *x, *z;
} room;

typedef struct cycle {
  const grid_hierarchy *h;
  lac_form form;  // with A^H written as A where they are the same
  lac_array *scale;
  lac_rooms all;
  room rooms[LAC_LEVELS];
} cycle;

static lac_status open_level(lac_context *ctx, cycle *s, int level, int64_t k) {
  lac_status status = LAC_OK;
  const grid_hierarchy *h = s->h;
  room *r = &s->rooms[level];
  bool is_last = level + 1 == h->count;
  int64_t cells[] = {h->items, k, is_last ? 0 : lac_grid_room(&h->levels[level].grid)};
  int64_t rows[] = {h->items, h->last.width * h->last.height, k};

  if (!is_last) LAC_TRY(lac_rooms_take(ctx, &s->all, h->narrow, cells, &r->x));
  if (level == 0) goto done;
  LAC_TRY(lac_rooms_take(ctx, &s->all, h->narrow, is_last ? rows : cells, &r->b));
  LAC_TRY(lac_rooms_take(ctx, &s->all, h->narrow, is_last ? rows : cells, &r->z));
done:
  return status;
}

static lac_status open_all(lac_context *ctx, cycle *s, int64_t k) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_rooms_take(ctx, &s->all, LAC_F64, (const int64_t[]){s->h->items, 2, k}, &s->scale));
  for (int level = 0; level < s->h->count; ++level) LAC_TRY(open_level(ctx, s, level, k));
done:
  return status;
}

static void close_level(room *r) {
  lac_array_destroy(&r->b);
  lac_array_destroy(&r->x);
  lac_array_destroy(&r->z);
}

static lac_status descend(lac_context *ctx, cycle *s, int level, const lac_array *b, lac_array *z) {
  lac_status status = LAC_OK;
  const grid_hierarchy *h = s->h;
  const lac_grid_kernels *kernels = ctx->kernels->grid;
  if (level + 1 == h->count) return ctx->kernels->matmul(ctx, s->form, h->inverse, LAC_PLAIN, b, z);

  room *here = &s->rooms[level], *next = &s->rooms[level + 1];
  const lac_grid *grid = level + 2 == h->count ? NULL : &h->levels[level + 1].grid;
  const lac_array *scale = level == 0 ? s->scale : NULL;
  lac_grid_op op = {lac_form_transposes(s->form), lac_form_conjugates(s->form)};
  LAC_TRY(kernels->descended(ctx, &h->levels[level], op, scale, b, here->x, grid, next->b));
  LAC_TRY(descend(ctx, s, level + 1, next->b, next->z));
  LAC_TRY(kernels->ascended(ctx, &h->levels[level], op, scale, b, here->x, grid, next->z, z));
done:
  return status;
}

lac_status grid_hierarchy_cycle(lac_context *ctx, const grid_hierarchy *h, lac_form form, const lac_array *b,
                                lac_array *x) {
  lac_status status = LAC_OK;
  int64_t k = b->meta.shape[b->meta.ndim - 1];
  cycle s = {.h = h, .form = lac_coarse_form(form, h->dtype, h->is_hermitian)};

  if (x->count == 0) return LAC_OK;
  LAC_TRY(open_all(ctx, &s, k));
  LAC_TRY(lac_rooms_open(ctx, &s.all));
  LAC_TRY(open_all(ctx, &s, k));
  LAC_TRY(ctx->kernels->magnitudes(ctx, b, h->unit, s.scale));
  LAC_TRY(descend(ctx, &s, 0, b, x));
done:
  for (int level = 0; level < h->count; ++level) close_level(&s.rooms[level]);
  lac_array_destroy(&s.scale);
  lac_rooms_close(&s.all);
  return status;
}
