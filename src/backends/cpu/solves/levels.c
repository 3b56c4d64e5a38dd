// SPDX-License-Identifier: Apache-2.0
/// @file levels.c
/// Level sets: the levels of rows (kernels/triangle.h), and a counting sort.

#include "backends/cpu/solves/levels.h"

#include "kernels/triangle.h"

static void levels_free(lac_object *object) {
  cpu_levels *levels = (cpu_levels *)object;
  lac_free(levels->offsets);
  lac_object_release(levels->order);
  lac_free(levels);
}

static const lac_kind levels_kind = {"levels", levels_free};

static int levels_match(const lac_object *object, const void *key) {
  const cpu_levels *kept = (const cpu_levels *)object, *wanted = key;
  return kept->transposed == wanted->transposed && kept->is_lower == wanted->is_lower;
}

/// The rows sorted by level.
static lac_status levels_sort(lac_context *ctx, const lac_rows *rows, const int64_t *level, cpu_levels *levels) {
  lac_status status = LAC_OK;

  LAC_ALLOC(levels->offsets, levels->count + 2);
  LAC_TRY(lac_buffer_create(ctx, rows->columns->type, rows->rows, &levels->order));
  for (int64_t i = 0; i < rows->rows; ++i) ++levels->offsets[level[i] + 2];
  for (int64_t l = 2; l < levels->count + 2; ++l) levels->offsets[l] += levels->offsets[l - 1];
  for (int64_t i = 0; i < rows->rows; ++i) lac_buffer_set(levels->order, levels->offsets[level[i] + 1]++, i);
done:
  return status;
}

static lac_status levels_make(lac_context *ctx, const lac_rows *rows, int64_t work, cpu_levels *levels) {
  lac_status status = LAC_OK;
  int64_t *level = NULL, total = rows->rows + rows->columns->count;

  LAC_ALLOC(level, rows->rows);
  levels->count = lac_triangle_levels(rows, levels->is_lower, level);
  if (levels->count * work > total) levels->count = 0;
  if (levels->count) LAC_TRY(levels_sort(ctx, rows, level, levels));
done:
  lac_free(level);
  return status;
}

lac_status cpu_levels_get(lac_context *ctx, const lac_pattern *p, const lac_rows *rows, bool is_lower, int64_t work,
                          cpu_levels **out) {
  lac_status status = LAC_OK;
  cpu_levels key = {.transposed = rows->slots != NULL, .is_lower = is_lower}, *made = NULL;
  cpu_levels *levels = (cpu_levels *)lac_pattern_find_cached(p, &levels_kind, levels_match, &key);

  if (!levels) {
    LAC_ALLOC(made, 1);
    lac_object_init(&made->object, &levels_kind);
    made->transposed = key.transposed;
    made->is_lower = is_lower;
    LAC_TRY(levels_make(ctx, rows, work, made));
    LAC_TRY(lac_pattern_add_cached(ctx, p, &made->object, made->count ? 8 * made->count + 8 * rows->rows : 0));
    levels = made, made = NULL;
  }
  *out = levels;
done:
  lac_object_release(made);
  return status;
}
