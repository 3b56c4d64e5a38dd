// SPDX-License-Identifier: Apache-2.0
/// @file pattern_augmented.c
/// The pattern of [[I, A], [A^T, I]]. Its slots are known in closed form: row i has its diagonal, then row i of A; row
/// m + j has row j of A^T, then its diagonal.

#include "core/pattern/pattern_impl.h"

typedef struct augmented_plan {
  lac_object object;
  lac_pattern *pattern;
  lac_map *map;
} augmented_plan;

static void augmented_free(lac_object *object) {
  augmented_plan *plan = (augmented_plan *)object;
  lac_pattern_destroy(&plan->pattern);
  lac_map_destroy(&plan->map);
  lac_free(plan);
}

static const lac_kind augmented_kind = {"augmented pattern", augmented_free};

static void augmented_above(const lac_pattern *a, lac_buffer *offsets, lac_buffer *columns, lac_buffer *target) {
  for (int64_t i = 0; i < a->rows; ++i) {
    int64_t begin = lac_buffer_get(a->offsets, i), end = lac_buffer_get(a->offsets, i + 1);
    lac_buffer_set(offsets, i, begin + i);
    lac_buffer_set(columns, begin + i, i);
    lac_buffer_set(target, i, begin + i);
    for (int64_t p = begin; p < end; ++p) {
      lac_buffer_set(columns, p + i + 1, a->rows + lac_buffer_get(a->columns, p));
      lac_buffer_set(target, a->rows + p, p + i + 1);
    }
  }
}

static void augmented_below(const lac_pattern *a, const lac_rows *t, lac_buffer *offsets, lac_buffer *columns,
                            lac_buffer *target) {
  int64_t first = a->rows + a->nnz;  // slots above
  for (int64_t j = 0; j < a->cols; ++j) {
    int64_t begin = lac_buffer_get(t->offsets, j), end = lac_buffer_get(t->offsets, j + 1), last = first + end + j;
    lac_buffer_set(offsets, a->rows + j, first + begin + j);
    for (int64_t q = begin; q < end; ++q) {
      lac_buffer_set(columns, first + q + j, lac_buffer_get(t->columns, q));
      lac_buffer_set(target, first + lac_buffer_get(t->slots, q), first + q + j);
    }
    lac_buffer_set(columns, last, a->rows + j);
    lac_buffer_set(target, first + a->nnz + j, last);
  }
}

static lac_status augmented_make(lac_context *ctx, const lac_pattern *a, augmented_plan *plan) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *columns = NULL, *target = NULL;
  int64_t n = a->rows + a->cols, nnz = n + 2 * a->nnz;
  lac_width width = LAC_WIDTH_AUTO;
  lac_rows t;

  LAC_TRY(lac_pattern_walk(ctx, a, true, &t));
  LAC_TRY(lac_rows_host(ctx, &t));
  LAC_TRY(lac_width_choose(ctx, "lac_pattern_augmented", LAC_WIDTH_AUTO, n, n, nnz, &width));
  if (a->width > width) width = a->width;
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), n + 1, &offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), nnz, &columns));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), nnz, &target));
  augmented_above(a, offsets, columns, target);
  augmented_below(a, &t, offsets, columns, target);
  lac_buffer_set(offsets, n, nnz);
  LAC_TRY(lac_pattern_adopt(ctx, n, n, width, &offsets, &columns, &plan->pattern));
  LAC_TRY(lac_map_adopt_injective(ctx, nnz, &target, &plan->map));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  lac_object_release(target);
  return status;
}

lac_status lac_pattern_augmented(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  augmented_plan *plan = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_augmented: out is NULL");
  LAC_TRY(lac_pattern_require_host(ctx, pattern, "lac_pattern_augmented"));
  plan = (augmented_plan *)lac_pattern_find_cached(pattern, &augmented_kind, NULL, NULL);
  if (!plan) {
    LAC_ALLOC(plan, 1);
    lac_object_init(&plan->object, &augmented_kind);
    LAC_TRY(augmented_make(ctx, pattern, plan));
    LAC_TRY(lac_pattern_add_cached(ctx, pattern, &plan->object, 16 * pattern->nnz + 12 * plan->pattern->rows));
  }
  if (map) *map = lac_map_retain(plan->map);
  *out = lac_pattern_retain(plan->pattern);
done:
  lac_object_release(plan);
  return status;
}
