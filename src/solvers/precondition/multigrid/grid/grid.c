// SPDX-License-Identifier: Apache-2.0
/// @file grid.c
/// Multigrid on a rectangular grid: M^-1 b is one V-cycle over the hierarchy of grid.h.
///
/// The structure is known from the numbers of rows alone, so that neither aggregates nor patterns are kept, and
/// interpolation that follows the entries needs less than half the iterations of aggregation.

#include "solvers/precondition/multigrid/grid/grid.h"

#include <stdio.h>

typedef struct grid_part {
  lac_grid grid;
  grid_hierarchy *hierarchy;
} grid_part;

// -- the grid of a pattern -------------------------------------------------------------------------------------------

typedef struct grid_found {
  lac_object object;
  lac_grid grid;
  int64_t stray;
} grid_found;

static void found_destroy(lac_object *object) { lac_free(object); }

static const lac_kind found_kind = {"grid", found_destroy};

lac_status grid_of_pattern(lac_context *ctx, const lac_pattern *pattern, lac_grid *grid, int64_t *stray) {
  lac_status status = LAC_OK;
  grid_found *found = (grid_found *)lac_pattern_find_cached(pattern, &found_kind, NULL, NULL);

  if (!found) {
    LAC_ALLOC(found, 1);
    lac_object_init(&found->object, &found_kind);
    LAC_TRY(ctx->kernels->grid->found(ctx, pattern, &found->grid, &found->stray));
    LAC_TRY(lac_pattern_add_cached(ctx, pattern, &found->object, (int64_t)sizeof *found));
  }
  *grid = found->grid;
  *stray = found->stray;
done:
  lac_object_release(found);
  return status;
}

// -- the table -------------------------------------------------------------------------------------------------------

static void grid_destroy(void *self) {
  grid_part *part = self;
  if (!part) return;
  grid_hierarchy_destroy(part->hierarchy);
  lac_free(part);
}

static lac_status grid_make(lac_context *ctx, const lac_setup *setup, lac_grid grid, void **out) {
  lac_status status = LAC_OK;
  grid_part *part = NULL;

  LAC_ALLOC(part, 1);
  part->grid = grid;
  LAC_TRY(grid_hierarchy_create(ctx, setup, &grid, &part->hierarchy));
  *out = part, part = NULL;
done:
  grid_destroy(part);
  return status;
}

static lac_status grid_create(lac_context *ctx, const lac_setup *setup, void **out) {
  lac_status status = LAC_OK;
  lac_grid grid = {0};
  int64_t stray = 0;

  LAC_CHECK(ctx->kernels->grid && ctx->kernels->magnitudes && ctx->kernels->matmul && ctx->kernels->cast,
            LAC_ERR_UNSUPPORTED, "multigrid: the backend \"%s\" has no kernels for grids; use a CPU context",
            ctx->backend->name);
  LAC_TRY(grid_of_pattern(ctx, setup->pattern, &grid, &stray));
  LAC_CHECK(grid.width > 0 || stray >= 0, LAC_ERR_ARG,
            "multigrid: the %lld rows are not the points of a rectangular grid: entries show no width of at least 3 "
            "columns that divides them; use another kind",
            (long long)setup->pattern->rows);
  LAC_CHECK(grid.width > 0, LAC_ERR_ARG,
            "multigrid: rows are not the points of a rectangular grid, numbered row by row: row %lld has an entry that "
            "does not lead to a neighbour, as far as other rows show the width; use another kind",
            (long long)stray);
  LAC_TRY(grid_make(ctx, setup, grid, out));
done:
  return status;
}

static lac_status grid_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **out) {
  return grid_make(ctx, setup, ((const grid_part *)like)->grid, out);
}

static lac_status grid_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *b, lac_array *x) {
  return grid_hierarchy_cycle(ctx, ((const grid_part *)self)->hierarchy, form, b, x);
}

static int64_t array_bytes(const lac_array *x) { return x ? (int64_t)lac_array_bytes(x) : 0; }

static void grid_report(const void *self, lac_setup_figures *finding) {
  const grid_hierarchy *h = ((const grid_part *)self)->hierarchy;
  int64_t entries = lac_grid_entries(&h->last);

  *finding =
      (lac_setup_figures){.levels = h->count, .is_grid = true, .least = h->least, .bytes = array_bytes(h->inverse)};
  for (int l = 0; l + 1 < h->count; ++l) {
    finding->bytes += array_bytes(h->levels[l].planes) + array_bytes(h->levels[l].weights);
    entries += lac_grid_entries(&h->levels[l].grid);
  }
  finding->complexity = (double)entries / (double)lac_grid_entries(&h->levels[0].grid);
}

static lac_status grid_describe(lac_context *ctx, const void *self, char **text) {
  enum { LINE = 100 };
  lac_status status = LAC_OK;
  const grid_hierarchy *h = ((const grid_part *)self)->hierarchy;
  size_t room = (size_t)(h->count + 1) * LINE, at = 0;
  char *made = NULL;

  LAC_ALLOC(made, room);
  at += (size_t)snprintf(made, room, "%5s %12s %12s %14s  %s\n", "level", "columns", "rows", "bytes", "solved by");
  for (int l = 0; l < h->count; ++l) {
    bool is_last = l + 1 == h->count;
    const lac_grid *g = is_last ? &h->last : &h->levels[l].grid;
    int64_t bytes =
        is_last ? array_bytes(h->inverse) : array_bytes(h->levels[l].planes) + array_bytes(h->levels[l].weights);
    at += (size_t)snprintf(made + at, room - at, "%5d %12lld %12lld %14lld  %s\n", l, (long long)g->width,
                           (long long)g->height, (long long)bytes,
                           is_last ? "dense inverse" : "Gauss-Seidel in four colours");
  }
  *text = made;
done:
  return status;
}

const lac_preconditioner_table lac_preconditioner_grid = {
    .name = "grid",
    .create = grid_create,
    .refresh = grid_refresh,
    .apply = grid_apply,
    .report = grid_report,
    .describe = grid_describe,
    .destroy = grid_destroy,
};
