// SPDX-License-Identifier: Apache-2.0
/// @file levels.c
/// Level sets: the levels of rows, and the rows sorted by them: on the device where the host lacks the indices, but for
/// narrow bands, in which every row would wait for the row before it; else on the host (kernels/triangle.h).

#include "backends/cuda/solves/levels.h"

#include "backends/cuda/solves/solves.h"
#include "kernels/triangle.h"

static void levels_free(lac_object *object) {
  cuda_levels *levels = (cuda_levels *)object;
  lac_object_release(levels->order);
  lac_free(levels);
}

static const lac_kind levels_kind = {"cuda levels", levels_free};

static int levels_match(const lac_object *object, const void *key) {
  const cuda_levels *kept = (const cuda_levels *)object, *wanted = key;
  return kept->transposed == wanted->transposed && kept->is_lower == wanted->is_lower;
}

/// The rows sorted by level.
static lac_status levels_sort(lac_context *ctx, const lac_rows *rows, const int64_t *level, cuda_levels *levels) {
  lac_status status = LAC_OK;
  int64_t *begin = NULL;

  LAC_ALLOC(begin, levels->count + 1);
  LAC_TRY(lac_buffer_create(ctx, rows->columns->type, rows->rows, &levels->order));
  for (int64_t i = 0; i < rows->rows; ++i) ++begin[level[i] + 1];
  for (int64_t l = 1; l <= levels->count; ++l) begin[l] += begin[l - 1];
  for (int64_t i = 0; i < rows->rows; ++i) lac_buffer_set(levels->order, begin[level[i]]++, i);
done:
  lac_free(begin);
  return status;
}

static lac_status levels_make_here(lac_context *ctx, const lac_pattern *p, cuda_levels *levels) {
  lac_status status = LAC_OK;
  int64_t *level = NULL;
  lac_rows rows;

  LAC_TRY(lac_pattern_walk(ctx, p, levels->transposed, &rows));
  LAC_TRY(lac_rows_host(ctx, &rows));
  LAC_ALLOC(level, rows.rows);
  levels->count = lac_triangle_levels(&rows, levels->is_lower, level);
  LAC_TRY(levels_sort(ctx, &rows, level, levels));
done:
  lac_free(level);
  return status;
}

/// Whether the host lacks the indices, and rows do not wait one for the other.
static lac_status levels_are_there(lac_context *ctx, const lac_pattern *p, const lac_rows *rows, bool *out) {
  lac_status status = LAC_OK;
  const lac_band *band = NULL;

  *out = !(lac_buffer_is_host(rows->offsets) && lac_buffer_is_host(rows->columns)) && rows->rows <= INT32_MAX;
  if (!*out) goto done;
  LAC_TRY(lac_pattern_band(ctx, p, &band));
  *out = band->low < -CUDA_NARROW || band->high > CUDA_NARROW;
done:
  return status;
}

static lac_status levels_make_there(lac_context *ctx, const lac_pattern *p, cuda_levels *levels) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *structure = ctx->backend->structure;
  lac_buffer *level = NULL, *begin = NULL;
  cuda_scratch memory = {NULL, 0};
  cuda_level_words words;
  void *data = NULL;
  cuda_rows rows;
  cuda_scope scope;

  LAC_TRY(cuda_rows_of(ctx, p, levels->transposed, &rows));
  LAC_TRY(lac_buffer_create_on(ctx, LAC_I32, rows.rows, &level, &data));
  LAC_TRY(cuda_scratch_take(ctx, "levels", sizeof words, &memory));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_levels(ctx->stream, &rows, levels->is_lower, data, memory.data), "levels"));
  LAC_TRY(ctx->backend->download(ctx, &words, memory.data, sizeof words));
  levels->count = (int64_t)words.highest + 1;
  LAC_TRY(structure->group(ctx, level, levels->count, p->columns->type, &begin, &levels->order));
done:
  cuda_scratch_release(ctx, &memory);
  lac_object_release(level);
  lac_object_release(begin);
  return status;
}

static lac_status levels_make(lac_context *ctx, const lac_pattern *p, cuda_levels *levels) {
  lac_status status = LAC_OK;
  bool is_there = false;
  lac_rows rows;

  LAC_TRY(lac_pattern_walk(ctx, p, levels->transposed, &rows));
  LAC_TRY(levels_are_there(ctx, p, &rows, &is_there));
  LAC_TRY((is_there ? levels_make_there : levels_make_here)(ctx, p, levels));
done:
  return status;
}

lac_status cuda_levels_get(lac_context *ctx, const lac_pattern *p, bool transposed, bool is_lower, cuda_levels **out) {
  lac_status status = LAC_OK;
  cuda_levels key = {.transposed = transposed, .is_lower = is_lower}, *made = NULL;
  cuda_levels *levels = (cuda_levels *)lac_pattern_find_cached(p, &levels_kind, levels_match, &key);

  if (!levels) {
    LAC_ALLOC(made, 1);
    lac_object_init(&made->object, &levels_kind);
    made->transposed = transposed;
    made->is_lower = is_lower;
    LAC_TRY(levels_make(ctx, p, made));
    LAC_TRY(lac_pattern_add_cached(ctx, p, &made->object, p->rows * (int64_t)lac_index_size(made->order->type)));
    levels = made, made = NULL;
  }
  *out = levels;
done:
  lac_object_release(made);
  return status;
}
