// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_hierarchy.c
/// From a matrix to its hierarchy: match, merge, add up; and again with the result, until it is small.

#include "solvers/precondition/multigrid/pairwise/hierarchy.h"

enum { COARSE_GOAL = 100 };  // rows of a dense inverse that is cheap to make and to apply

static const double OMEGA = 0.8;  // of Jacobi sweeps: the spectrum of D^-1 A ends at 2

// -- structure -------------------------------------------------------------------------------------------------------

static void levels_free(lac_object *object) {
  lac_levels *levels = (lac_levels *)object;
  for (int l = 0; l < levels->count; ++l) {
    lac_object_release(levels->patterns[l]);
    lac_aggregation_clear(&levels->aggregates[l]);
    lac_slices_destroy(levels->slices[l]);
  }
  lac_free(levels);
}

/// Whether lengths change at every eighth row or more, of the 2048 in the middle: a device does not ask.
static lac_status look_ragged(lac_context *ctx, const lac_pattern *p, bool *is_ragged) {
  lac_status status = LAC_OK;
  int64_t begin = p->rows > 2048 ? p->rows / 2 - 1024 : 0, end = p->rows > 2048 ? begin + 2048 : p->rows, changes = 0;

  if (!lac_context_is_host(ctx)) return LAC_OK;
  LAC_TRY(lac_buffer_host(ctx, p->offsets));
  for (int64_t i = begin + 1; i < end; ++i) {
    int64_t here = lac_buffer_get(p->offsets, i);
    changes += lac_buffer_get(p->offsets, i + 1) - here != here - lac_buffer_get(p->offsets, i - 1);
  }
  *is_ragged = 8 * changes >= end - begin;
done:
  return status;
}

static const lac_kind levels_kind = {"levels", levels_free};

static lac_status levels_create(lac_context *ctx, const lac_pattern *pattern, lac_levels **out) {
  lac_status status = LAC_OK;
  LAC_ALLOC(*out, 1);
  lac_object_init(&(*out)->object, &levels_kind);
  (*out)->patterns[0] = lac_pattern_retain(pattern);
  (*out)->count = 1;
  LAC_TRY(look_ragged(ctx, pattern, &(*out)->is_ragged[0]));
done:
  return status;
}

/// Aggregates of the last level and the pattern of a next one, if there is to be one. Slices serve matrices whose
/// adjoint needs no other walk.
static lac_status levels_grow(lac_context *ctx, lac_levels *levels, const lac_precondition *options, bool is_hermitian,
                              const lac_array *values) {
  lac_status status = LAC_OK;
  const lac_pairwise_kernels *kernels = ctx->kernels->pairwise;
  int last = levels->count - 1;
  int64_t rows = levels->patterns[last]->rows, limit = lac_coarse_rows(options);
  lac_aggregation *made = &levels->aggregates[last];

  if (rows <= (limit < COARSE_GOAL ? limit : COARSE_GOAL)) return LAC_OK;
  if (levels->count == lac_coarse_levels(options) || values->meta.shape[0] == 0) {  // no matrix: nothing to go by
    levels->is_smoothed_last = rows > limit;
    return LAC_OK;
  }
  LAC_TRY(kernels->matched(ctx, levels->patterns[last], values, last == 0, made));
  if (made->coarse == 0) {
    lac_aggregation_clear(made);
    levels->is_smoothed_last = true;
    return LAC_OK;
  }
  if (kernels->shaped) LAC_TRY(kernels->shaped(ctx, levels->patterns[last], made));
  LAC_TRY(kernels->coarse_pattern(ctx, levels->patterns[last], made, &levels->patterns[last + 1]));
  ++levels->count;
  LAC_TRY(look_ragged(ctx, levels->patterns[last + 1], &levels->is_ragged[last + 1]));
  if (is_hermitian && kernels->slices)
    LAC_TRY(kernels->slices(ctx, levels->patterns[last + 1], &levels->slices[last + 1]));
done:
  return status;
}

// -- values ----------------------------------------------------------------------------------------------------------

static lac_status make(lac_context *ctx, lac_dtype dtype, int ndim, int64_t a, int64_t b, int64_t c, lac_array **out) {
  return lac_array_create(ctx, dtype, ndim, (const int64_t[]){a, b, c}, out);
}

static lac_level_view view_of(const lac_hierarchy *h, int level, const lac_array *values) {
  const lac_pattern *p = h->levels->patterns[level];
  return (lac_level_view){.rows = {p->rows, p->cols, p->offsets, p->columns, NULL},
                          .values = values,
                          .weights = h->weights[level],
                          .unit = level == 0 ? h->unit : NULL};
}

/// The values of level + 1: in full, *wide, and as they are kept.
static lac_status hierarchy_coarsen(lac_context *ctx, lac_hierarchy *h, int level, const lac_array *values,
                                    lac_array **wide) {
  lac_status status = LAC_OK;
  const lac_pattern *coarse = h->levels->patterns[level + 1];
  lac_dtype full = lac_dtype_is_complex(h->dtype) ? LAC_C128 : LAC_F64;
  lac_level_view view = view_of(h, level, values);
  const lac_slices *slices = h->levels->slices[level + 1];
  lac_array *made = NULL;

  h->is_sliced[level + 1] = slices && h->is_hermitian;
  LAC_TRY(make(ctx, full, 2, h->items, coarse->nnz, 0, &made));
  LAC_TRY(ctx->kernels->pairwise->coarsened(ctx, &view, &h->levels->aggregates[level], coarse, made));
  if (h->is_sliced[level + 1]) {
    LAC_TRY(make(ctx, h->narrow, 2, h->items, slices->room, 0, &h->values[level + 1]));
    LAC_TRY(ctx->kernels->pairwise->sliced(ctx, coarse, slices, made, h->values[level + 1]));
  } else if (h->narrow == full) {
    h->values[level + 1] = lac_array_retain(made);
  } else {
    LAC_TRY(make(ctx, h->narrow, 2, h->items, coarse->nnz, 0, &h->values[level + 1]));
    LAC_TRY(ctx->kernels->cast(ctx, made, h->values[level + 1]));
  }
  lac_array_destroy(wide);
  *wide = made, made = NULL;
done:
  lac_array_destroy(&made);
  return status;
}

static lac_status hierarchy_weights(lac_context *ctx, lac_hierarchy *h, int level, const lac_array *values) {
  lac_status status = LAC_OK;
  lac_level_view view = view_of(h, level, values);
  LAC_TRY(make(ctx, h->narrow, 2, h->items, h->levels->patterns[level]->rows, 0, &h->weights[level]));
  LAC_TRY(ctx->kernels->pairwise->weights(ctx, &view, OMEGA, h->weights[level]));
done:
  return status;
}

/// The inverse of the last level, whose values are those of the caller or `wide`.
static lac_status hierarchy_invert(lac_context *ctx, lac_hierarchy *h, const lac_array *wide) {
  lac_status status = LAC_OK;
  int last = h->levels->count - 1;
  const lac_pattern *pattern = h->levels->patterns[last];
  lac_dtype full = lac_dtype_is_complex(h->dtype) ? LAC_C128 : LAC_F64;
  double rounding = lac_coarse_rounding(h->dtype, pattern->rows);
  lac_array *inverse = NULL, *values = NULL, *column = NULL, *scaled = NULL;
  lac_coarse *coarse = NULL;

  if (h->levels->is_smoothed_last) return LAC_OK;
  if (wide) {
    values = lac_array_retain(wide);
  } else {  // the caller's matrix, scaled
    LAC_TRY(lac_array_reshape(ctx, h->values[0], 3, (const int64_t[]){h->items, pattern->nnz, 1}, &column));
    LAC_TRY(make(ctx, full, 3, h->items, pattern->nnz, 1, &scaled));
    LAC_TRY(ctx->kernels->pairwise->scaled(ctx, NULL, false, h->unit, 0, column, scaled));
    LAC_TRY(lac_array_reshape(ctx, scaled, 2, (const int64_t[]){h->items, pattern->nnz}, &values));
  }
  LAC_TRY(make(ctx, full, 3, h->items, pattern->rows, pattern->rows, &inverse));
  LAC_TRY(lac_pattern_host(ctx, pattern));
  LAC_TRY(lac_coarse_create(ctx, pattern, values, h->is_hermitian, rounding, &coarse));
  LAC_TRY(lac_coarse_inverse(ctx, coarse, inverse));
  if (h->narrow == full) {
    h->inverse = inverse, inverse = NULL;
  } else {
    LAC_TRY(make(ctx, h->narrow, 3, h->items, pattern->rows, pattern->rows, &h->inverse));
    LAC_TRY(ctx->kernels->cast(ctx, inverse, h->inverse));
  }
done:
  lac_coarse_destroy(coarse);
  lac_array_destroy(&inverse);
  lac_array_destroy(&values);
  lac_array_destroy(&column);
  lac_array_destroy(&scaled);
  return status;
}

static lac_status hierarchy_fill(lac_context *ctx, lac_hierarchy *h, const lac_precondition *options, bool grows) {
  lac_status status = LAC_OK;
  lac_array *wide = NULL;
  for (int level = 0;; ++level) {
    const lac_array *values = level == 0 ? h->values[0] : wide;
    LAC_TRY(lac_context_look(ctx, "the set-up of multigrid"));
    if (grows) LAC_TRY(levels_grow(ctx, h->levels, options, h->is_hermitian, values));
    bool is_last = level + 1 == h->levels->count;
    if (!is_last || h->levels->is_smoothed_last) LAC_TRY(hierarchy_weights(ctx, h, level, values));
    if (is_last) break;
    LAC_TRY(hierarchy_coarsen(ctx, h, level, values, &wide));
  }
  LAC_TRY(hierarchy_invert(ctx, h, wide));
done:
  lac_array_destroy(&wide);
  return status;
}

lac_status lac_hierarchy_create(lac_context *ctx, const lac_setup *setup, const lac_levels *like, lac_hierarchy **out) {
  lac_status status = LAC_OK;
  lac_hierarchy *h = NULL;
  const lac_precondition *options = &setup->options->preconditioner;
  const lac_pattern *pattern = setup->pattern;

  LAC_CHECK(ctx->kernels->pairwise && ctx->kernels->matmul && ctx->kernels->cast, LAC_ERR_UNSUPPORTED,
            "multigrid: the backend \"%s\" does not have its kernels; use a CPU context", ctx->backend->name);
  LAC_TRY(lac_pattern_require_scalar(ctx, pattern, "multigrid"));
  if (lac_context_is_host(ctx)) LAC_TRY(lac_pattern_host(ctx, pattern));
  LAC_CHECK(pattern->rows <= INT32_MAX, LAC_ERR_OVERFLOW,
            "multigrid: aggregates are numbered by 32-bit integers and the matrix has %lld rows; at most %d",
            (long long)pattern->rows, INT32_MAX);
  LAC_ALLOC(h, 1);
  if (like) {
    h->levels = lac_object_retain(like);
  } else {
    LAC_TRY(levels_create(ctx, pattern, &h->levels));
  }
  h->dtype = setup->values->meta.dtype;
  h->narrow = options->full_precision ? h->dtype : lac_coarse_narrow(h->dtype);
  h->is_hermitian = setup->is_hermitian;
  h->items = setup->values->meta.shape[0];
  h->values[0] = lac_array_retain(setup->values);
  LAC_TRY(lac_coarse_units(ctx, setup, &h->unit));
  LAC_TRY(hierarchy_fill(ctx, h, options, !like));
  *out = h, h = NULL;
done:
  lac_hierarchy_destroy(h);
  return status;
}

void lac_hierarchy_destroy(lac_hierarchy *h) {
  if (!h) return;
  for (int l = 0; l < LAC_LEVELS; ++l) {
    lac_array_destroy(&h->values[l]);
    lac_array_destroy(&h->weights[l]);
  }
  lac_array_destroy(&h->unit);
  lac_array_destroy(&h->inverse);
  lac_object_release(h->levels);
  lac_free(h);
}
