// SPDX-License-Identifier: Apache-2.0
/// @file grid_hierarchy.c
/// From a matrix on a grid to those on coarser ones, until one is small enough for a dense inverse.

#include "solvers/precondition/multigrid/grid/grid.h"

#include <math.h>
#include <string.h>

enum { COARSE_GOAL = 100 };      // points of a grid whose inverse is cheap to make and to apply
static const double ZERO = 100;  // roundings: all levels above have left theirs in a pivot that should be zero
// Diagonal entries, the largest near 1, that f32 holds together with all that is computed with them.
static const double NARROW_LEAST = 1e-5;

static lac_status make(lac_context *ctx, lac_dtype dtype, int64_t a, int64_t b, int64_t c, lac_array **out) {
  return lac_array_create(ctx, dtype, 3, (const int64_t[]){a, b, c}, out);
}

static lac_dtype full_of(lac_dtype dtype) { return lac_dtype_is_complex(dtype) ? LAC_C128 : LAC_F64; }

/// The pattern of all neighbours on a grid.
static lac_status neighbours(lac_context *ctx, const lac_grid *grid, lac_pattern **out) {
  lac_status status = LAC_OK;
  int64_t n = grid->width * grid->height, nnz = 0, *offsets = NULL, *columns = NULL;

  LAC_ALLOC(offsets, n + 1);
  LAC_ALLOC(columns, LAC_GRID_DIRECTIONS * n);
  for (int64_t i = 0; i < n; ++i) {
    offsets[i] = nnz;
    for (int d = 0; d < LAC_GRID_DIRECTIONS; ++d) {
      int64_t y = i / grid->width + d / 3 - 1, x = i % grid->width + d % 3 - 1;
      if (y >= 0 && y < grid->height && x >= 0 && x < grid->width) columns[nnz++] = y * grid->width + x;
    }
  }
  offsets[n] = nnz;
  LAC_TRY(lac_pattern_from_csr(ctx, n, n, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, out, NULL));
done:
  lac_free(offsets);
  lac_free(columns);
  return status;
}

/// The entries of a matrix of numbers with so many bytes, in the order of that pattern.
static void list(const lac_grid *grid, const lac_pattern *pattern, size_t number, const char *planes, char *to) {
  int64_t room = lac_grid_room(grid);
  for (int64_t i = 0; i < pattern->rows; ++i) {
    int64_t y = i / grid->width, x = i % grid->width;
    int64_t at = ((y / 2 + 1) * LAC_GRID_COLOURS + 2 * (y % 2) + x % 2) * grid->stride + 1 + x / 2;
    for (int64_t q = lac_buffer_get(pattern->offsets, i); q < lac_buffer_get(pattern->offsets, i + 1); ++q) {
      int64_t column = lac_buffer_get(pattern->columns, q), dy = column / grid->width - y;
      int64_t direction = (dy + 1) * 3 + column % grid->width - x + 1;  // of narrow grids too
      memcpy(to, planes + (size_t)(direction * room + at) * number, number);
      to += number;
    }
  }
}

/// Factors of the last level, whose entries are `planes`: a few numbers, which travel to the host.
static lac_status factorise(lac_context *ctx, const grid_hierarchy *h, const lac_array *planes, lac_coarse **out) {
  lac_status status = LAC_OK;
  lac_pattern *pattern = NULL;
  lac_dtype full = full_of(h->dtype);
  size_t number = lac_dtype_size(full);
  char *entries = NULL, *values = NULL;

  LAC_TRY(neighbours(ctx, &h->last, &pattern));
  LAC_ALLOC(entries, lac_array_bytes(planes));
  LAC_ALLOC(values, (size_t)(h->items * pattern->nnz) * number);
  LAC_TRY(lac_array_fetch(ctx, planes, entries));
  for (int64_t item = 0; item < h->items; ++item) {
    list(&h->last, pattern, number, entries + (size_t)(item * LAC_GRID_DIRECTIONS * lac_grid_room(&h->last)) * number,
         values + (size_t)(item * pattern->nnz) * number);
  }
  LAC_TRY(lac_coarse_create_of(ctx, pattern, full, h->items, values, h->is_hermitian,
                               ZERO * lac_coarse_rounding(h->dtype, pattern->rows), out));
done:
  lac_free(entries);
  lac_free(values);
  lac_object_release(pattern);
  return status;
}

/// The inverse of the last level.
static lac_status invert(lac_context *ctx, grid_hierarchy *h, const lac_array *planes) {
  lac_status status = LAC_OK;
  lac_array *inverse = NULL;
  lac_coarse *coarse = NULL;
  int64_t n = h->last.width * h->last.height;
  lac_dtype full = full_of(h->dtype);

  LAC_TRY(factorise(ctx, h, planes, &coarse));
  LAC_TRY(make(ctx, full, h->items, n, n, &inverse));
  LAC_TRY(lac_coarse_inverse(ctx, coarse, inverse));
  if (h->narrow == full) {
    h->inverse = inverse, inverse = NULL;
  } else {
    LAC_TRY(make(ctx, h->narrow, h->items, n, n, &h->inverse));
    LAC_TRY(ctx->kernels->cast(ctx, inverse, h->inverse));
  }
done:
  lac_coarse_destroy(coarse);
  lac_array_destroy(&inverse);
  return status;
}

static lac_status open_level(lac_context *ctx, const grid_hierarchy *h, const lac_grid *grid, lac_grid_level *level) {
  lac_status status = LAC_OK;
  bool is_half = h->is_hermitian && !lac_dtype_is_complex(h->dtype);

  *level = (lac_grid_level){.grid = *grid, .is_half = is_half};
  LAC_TRY(
      make(ctx, h->narrow, h->items, lac_grid_planes(grid->has_corners, is_half), lac_grid_room(grid), &level->planes));
  LAC_TRY(make(ctx, lac_dtype_real(h->narrow), h->items, LAC_GRID_WEIGHTS, lac_grid_cells(grid), &level->weights));
done:
  return status;
}

static void close_levels(grid_hierarchy *h) {
  for (int l = 0; l < LAC_LEVELS; ++l) {
    lac_array_destroy(&h->levels[l].planes);
    lac_array_destroy(&h->levels[l].weights);
  }
}

/// Whether h->narrow holds the range of the first `count` levels, by their largest reciprocals of diagonal entries.
static lac_status look_at_range(lac_context *ctx, grid_hierarchy *h, const lac_array *largest, int count, bool *holds) {
  lac_status status = LAC_OK;
  double found[LAC_LEVELS], most = 0;

  LAC_TRY(lac_array_fetch(ctx, largest, found));
  for (int l = 0; l < count; ++l) most = fmax(most, found[l]);
  h->least = 1 / found[0];
  *holds = h->narrow == h->dtype || NARROW_LEAST * most <= 1;
done:
  return status;
}

/// The level of a grid, and the matrix of the next one, *planes, which is that of the level before.
static lac_status fill_level(lac_context *ctx, grid_hierarchy *h, const lac_setup *setup, const lac_grid *grid,
                             lac_array *largest, lac_array **planes) {
  lac_status status = LAC_OK;
  lac_grid coarser = lac_grid_next(grid);
  int at = h->count - 1;
  lac_grid_level *level = &h->levels[at];
  lac_array *next = NULL;

  LAC_TRY(open_level(ctx, h, grid, level));
  LAC_TRY(make(ctx, full_of(h->dtype), h->items, LAC_GRID_DIRECTIONS, lac_grid_room(&coarser), &next));
  LAC_TRY(ctx->kernels->grid->coarsened(ctx, *planes ? NULL : setup->pattern, *planes ? *planes : setup->values,
                                        *planes ? NULL : h->unit, level, &coarser, next, largest, at));
  lac_array_destroy(planes);
  *planes = next, next = NULL;
  h->last = coarser;
done:
  lac_array_destroy(&next);
  return status;
}

/// Level by level; there are at least two. Where h->narrow does not hold the range of the matrix, it ends without the
/// inverse: on the host at once, and on a device, which is not waited for at each level, after the last.
static lac_status fill(lac_context *ctx, grid_hierarchy *h, const lac_setup *setup, lac_grid grid) {
  lac_status status = LAC_OK;
  lac_array *planes = NULL, *largest = NULL;
  const lac_precondition *options = &setup->options->preconditioner;
  int64_t goal = options->coarse_rows > 0 ? options->coarse_rows : COARSE_GOAL;
  int most = lac_coarse_levels(options);
  bool holds = true;

  LAC_CHECK(most > 1, LAC_ERR_ARG, "multigrid: on a grid it has at least two levels; max_levels is %d", most);
  LAC_TRY(lac_array_create(ctx, LAC_F64, 1, (const int64_t[]){LAC_LEVELS}, &largest));
  for (h->count = 1; h->count == 1 || grid.width * grid.height > goal; ++h->count) {
    LAC_TRY(lac_context_look(ctx, "the set-up of multigrid"));
    LAC_CHECK(h->count < most, LAC_ERR_ARG,
              "multigrid: a grid of %lld by %lld points is still too large to be solved directly after %d levels; "
              "raise max_levels or coarse_rows",
              (long long)grid.width, (long long)grid.height, most);
    LAC_TRY(fill_level(ctx, h, setup, &grid, largest, &planes));
    grid = h->last;
    if (lac_context_is_host(ctx)) LAC_TRY(look_at_range(ctx, h, largest, h->count, &holds));
    if (!holds) goto done;
  }
  LAC_TRY(look_at_range(ctx, h, largest, h->count - 1, &holds));
  if (holds) LAC_TRY(invert(ctx, h, planes));
done:
  lac_array_destroy(&planes);
  lac_array_destroy(&largest);
  return status;
}

lac_status grid_hierarchy_create(lac_context *ctx, const lac_setup *setup, const lac_grid *grid, grid_hierarchy **out) {
  lac_status status = LAC_OK;
  grid_hierarchy *h = NULL;

  LAC_ALLOC(h, 1);
  h->dtype = setup->values->meta.dtype;
  h->narrow = setup->options->preconditioner.full_precision ? h->dtype : lac_coarse_narrow(h->dtype);
  h->is_hermitian = setup->is_hermitian;
  h->items = setup->values->meta.shape[0];
  LAC_TRY(lac_coarse_units(ctx, setup, &h->unit));
  LAC_TRY(fill(ctx, h, setup, *grid));
  if (!h->inverse) {
    close_levels(h);
    h->narrow = h->dtype;
    LAC_TRY(fill(ctx, h, setup, *grid));
  }
  *out = h, h = NULL;
done:
  grid_hierarchy_destroy(h);
  return status;
}

void grid_hierarchy_destroy(grid_hierarchy *h) {
  if (!h) return;
  close_levels(h);
  lac_array_destroy(&h->unit);
  lac_array_destroy(&h->inverse);
  lac_free(h);
}
