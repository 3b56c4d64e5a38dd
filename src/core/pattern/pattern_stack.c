// SPDX-License-Identifier: Apache-2.0
/// @file pattern_stack.c
/// Patterns next to each other, above each other and along the diagonal:
///
///     hstack       [A B ...]             col0 grows
///     vstack       [A; B; ...]           row0 grows
///     block_diag   A, B, ... on the diagonal; both grow
///
/// Block b stands at (row0, col0). Where blocks share rows they come with ascending columns, so that going over the
/// blocks in order fills every row in order. Linear in entries and rows. The slots of a vstack and of a block_diag are
/// those of the blocks one after the other: their values are a concatenation.

#include "core/pattern/structure.h"

typedef struct stack_task {
  const char *function;
  int64_t count;
  const lac_pattern *const *blocks;
  bool down, right;  // what grows: row0, col0
} stack_task;

typedef struct stack_size {
  int64_t rows, cols, nnz;
  lac_width width;
} stack_size;

/// The size behind one more block; fails where blocks do not fit or counts leave what can be addressed.
static lac_status stack_grow(lac_context *ctx, const stack_task *t, int64_t b, stack_size *size) {
  lac_status status = LAC_OK;
  const lac_pattern *p = t->blocks[b];

  LAC_TRY(lac_pattern_require_scalar(ctx, p, t->function));
  LAC_CHECK(t->down || b == 0 || p->rows == size->rows, LAC_ERR_SHAPE,
            "%s: pattern %lld has %lld rows and those before it %lld; all must have the same", t->function,
            (long long)b, (long long)p->rows, (long long)size->rows);
  LAC_CHECK(t->right || b == 0 || p->cols == size->cols, LAC_ERR_SHAPE,
            "%s: pattern %lld has %lld columns and those before it %lld; all must have the same", t->function,
            (long long)b, (long long)p->cols, (long long)size->cols);
  size->rows = t->down ? size->rows + p->rows : p->rows;
  size->cols = t->right ? size->cols + p->cols : p->cols;
  size->nnz += p->nnz;
  if (p->width > size->width) size->width = p->width;
  LAC_CHECK(size->rows <= LAC_MAX_COUNT && size->cols <= LAC_MAX_COUNT && size->nnz <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
            "%s: the result would be %lld x %lld with %lld entries, beyond what can be addressed", t->function,
            (long long)size->rows, (long long)size->cols, (long long)size->nnz);
done:
  return status;
}

static lac_status stack_measure(lac_context *ctx, const stack_task *t, stack_size *size) {
  lac_status status = LAC_OK;
  lac_width narrowest = LAC_WIDTH_AUTO;

  LAC_CHECK(t->count > 0 && t->blocks, LAC_ERR_ARG, "%s: %lld patterns came; give at least one", t->function,
            (long long)t->count);
  for (int64_t b = 0; b < t->count; ++b) LAC_TRY(stack_grow(ctx, t, b, size));
  LAC_TRY(lac_width_choose(ctx, t->function, LAC_WIDTH_AUTO, size->rows, size->cols, size->nnz, &narrowest));
  if (narrowest > size->width) size->width = narrowest;
done:
  return status;
}

/// Where each row begins: begin[i], rows + 1 of them.
static void stack_count(const stack_task *t, int64_t rows, int64_t *begin, int threads) {
  for (int64_t b = 0, row0 = 0; b < t->count; row0 += t->down ? t->blocks[b]->rows : 0, ++b) {
    const lac_buffer *offsets = t->blocks[b]->offsets;
    int64_t *length = begin + row0 + 1, n = t->blocks[b]->rows;
#pragma omp parallel for num_threads(threads) schedule(static) if (n > 1 << 16)
    for (int64_t i = 0; i < n; ++i) length[i] += lac_buffer_get(offsets, i + 1) - lac_buffer_get(offsets, i);
  }
  for (int64_t i = 0; i < rows; ++i) begin[i + 1] += begin[i];
}

/// Copy a block to the next places of its rows, which move on.
static void stack_fill(const lac_pattern *p, int64_t col0, int64_t *next, lac_buffer *columns, lac_buffer *target,
                       int threads) {
#pragma omp parallel for num_threads(threads) schedule(static) if (p->nnz + p->rows > 1 << 16)
  for (int64_t i = 0; i < p->rows; ++i) {
    int64_t end = lac_buffer_get(p->offsets, i + 1), slot = next[i];
    for (int64_t z = lac_buffer_get(p->offsets, i); z < end; ++z, ++slot) {
      lac_buffer_set(columns, slot, col0 + lac_buffer_get(p->columns, z));
      if (target) lac_buffer_set(target, z, slot);
    }
    next[i] = slot;
  }
}

static lac_status stack_fill_all(lac_context *ctx, const stack_task *t, const stack_size *size, int64_t *next,
                                 lac_buffer *columns, lac_map **maps) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;
  int64_t row0 = 0, col0 = 0;

  for (int64_t b = 0; b < t->count; ++b) {
    const lac_pattern *p = t->blocks[b];
    if (maps) LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(size->width), p->nnz, &target));
    stack_fill(p, col0, next + row0, columns, target, lac_structure_threads(ctx));
    if (maps) LAC_TRY(lac_map_adopt_injective(ctx, size->nnz, &target, &maps[b]));
    if (t->down) row0 += p->rows;
    if (t->right) col0 += p->cols;
  }
done:
  lac_object_release(target);
  return status;
}

static lac_status stack_here(lac_context *ctx, const stack_task *t, const stack_size *size, lac_buffer **offsets,
                             lac_buffer **columns, lac_map **maps) {
  lac_status status = LAC_OK;
  int64_t *begin = NULL;

  for (int64_t b = 0; b < t->count; ++b) LAC_TRY(lac_pattern_host(ctx, t->blocks[b]));
  LAC_ALLOC(begin, size->rows + 1);
  stack_count(t, size->rows, begin, lac_structure_threads(ctx));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(size->width), size->rows + 1, offsets));
  for (int64_t i = 0; i <= size->rows; ++i) lac_buffer_set(*offsets, i, begin[i]);
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(size->width), size->nnz, columns));
  LAC_TRY(stack_fill_all(ctx, t, size, begin, *columns, maps));
done:
  lac_free(begin);
  return status;
}

static lac_status stack_there(lac_context *ctx, const stack_task *t, const stack_size *size, lac_buffer **offsets,
                              lac_buffer **columns, lac_map **maps) {
  lac_status status = LAC_OK;
  lac_stacking s = {.count = t->count, .blocks = t->blocks, .down = t->down, .right = t->right};
  lac_buffer **targets = NULL;

  s.rows = size->rows, s.nnz = size->nnz, s.width = size->width;
  if (maps) LAC_ALLOC(targets, t->count);
  LAC_TRY(lac_structure_of(ctx)->stack(ctx, &s, offsets, columns, targets));
  for (int64_t b = 0; maps && b < t->count; ++b)
    LAC_TRY(lac_map_adopt_injective(ctx, size->nnz, &targets[b], &maps[b]));
done:
  for (int64_t b = 0; targets && b < t->count; ++b) lac_object_release(targets[b]);
  lac_free(targets);
  return status;
}

/// Where the host lacks the indices of one of them they are stacked where these are.
static bool stack_is_there(const lac_context *ctx, const stack_task *t) {
  bool is_there = false;
  for (int64_t b = 0; b < t->count; ++b) is_there = is_there || lac_structure_there(ctx, t->blocks[b]);
  return is_there;
}

static lac_status stack_make(lac_context *ctx, const stack_task *t, lac_pattern **out, lac_map **maps) {
  lac_status status = LAC_OK;
  stack_size size = {0};
  lac_buffer *offsets = NULL, *columns = NULL;
  lac_map **made = NULL;
  lac_pattern *pattern = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "%s: out is NULL", t->function);
  LAC_TRY(stack_measure(ctx, t, &size));
  if (maps) LAC_ALLOC(made, t->count);
  LAC_TRY((stack_is_there(ctx, t) ? stack_there : stack_here)(ctx, t, &size, &offsets, &columns, made));
  LAC_TRY(lac_pattern_adopt(ctx, size.rows, size.cols, size.width, &offsets, &columns, &pattern));
  for (int64_t b = 0; maps && b < t->count; ++b) maps[b] = made[b], made[b] = NULL;
  *out = pattern;
done:
  for (int64_t b = 0; made && b < t->count; ++b) lac_map_destroy(&made[b]);
  lac_free(made);
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

lac_status lac_pattern_hstack(lac_context *ctx, int64_t count, const lac_pattern *const *patterns, lac_pattern **out,
                              lac_map **maps) {
  return stack_make(ctx, &(stack_task){"lac_pattern_hstack", count, patterns, false, true}, out, maps);
}

lac_status lac_pattern_vstack(lac_context *ctx, int64_t count, const lac_pattern *const *patterns, lac_pattern **out,
                              lac_map **maps) {
  return stack_make(ctx, &(stack_task){"lac_pattern_vstack", count, patterns, true, false}, out, maps);
}

lac_status lac_pattern_block_diag(lac_context *ctx, int64_t count, const lac_pattern *const *patterns,
                                  lac_pattern **out, lac_map **maps) {
  return stack_make(ctx, &(stack_task){"lac_pattern_block_diag", count, patterns, true, true}, out, maps);
}
