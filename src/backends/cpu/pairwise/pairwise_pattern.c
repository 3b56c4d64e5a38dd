// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_pattern.c
/// The pattern of P^T A P: count, sum up, fill. A coarse row has the aggregates that the rows of its own have entries
/// in.

#include <omp.h>
#include <stdlib.h>

#include "backends/cpu/pairwise/pairwise.h"

typedef struct merge {
  const lac_pattern *pattern;
  const lac_aggregation *aggregation;
  const int32_t *aggregates, *starts, *members;
  int32_t *marks;  // of each thread: the last coarse row that has this column
  int64_t coarse;
  bool is_regular;
  lac_buffer *offsets;
  int32_t *columns;  // NULL: only count
} merge;

/// Insertion: rows are short and nearly in order.
static void sort_short(int32_t *x, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    int32_t value = x[i];
    int64_t at = i;
    for (; at > 0 && x[at - 1] > value; --at) x[at] = x[at - 1];
    x[at] = value;
  }
}

static int by_value(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/// The columns of coarse row i, into `columns` unless it is NULL; returns how many there are.
static inline int64_t merge_row(const merge *m, int64_t i, int32_t *mark, int32_t *columns, const bool wide_offsets,
                                const bool wide_columns) {
  const void *offsets = m->pattern->offsets->host, *fine = m->pattern->columns->host;
  int64_t count = 0;
  for (int32_t q = m->starts[i]; q < m->starts[i + 1]; ++q) {
    int64_t row = m->members[q];
    if (!m->is_regular && q + 16 < m->starts[m->coarse]) {  // rows lie anywhere
      const size_t integers = wide_offsets ? 8 : 4;
      __builtin_prefetch((const char *)offsets + (size_t)m->members[q + 16] * integers);
      int64_t soon = lac_buffer_get(m->pattern->offsets, m->members[q + 8]);
      __builtin_prefetch((const char *)fine + (size_t)soon * (wide_columns ? 8 : 4));
    }
    int64_t p = wide_offsets ? ((const int64_t *)offsets)[row] : ((const int32_t *)offsets)[row];
    int64_t end = wide_offsets ? ((const int64_t *)offsets)[row + 1] : ((const int32_t *)offsets)[row + 1];
    for (; p < end; ++p) {
      int32_t j = m->aggregates[wide_columns ? ((const int64_t *)fine)[p] : ((const int32_t *)fine)[p]];
      if (j < 0 || mark[j] == (int32_t)i) continue;
      mark[j] = (int32_t)i;
      if (columns) columns[count] = j;
      ++count;
    }
  }
  return count;
}

static void merge_rows(const merge *m, int64_t begin, int64_t end, int32_t *mark) {
  bool wide_offsets = m->pattern->offsets->type == LAC_I64, wide_columns = m->pattern->columns->type == LAC_I64;
  for (int64_t j = 0; j < m->coarse; ++j) mark[j] = -1;
  for (int64_t i = begin; i < end; ++i) {
    int32_t *columns = m->columns ? m->columns + lac_buffer_get(m->offsets, i) : NULL;
    const int32_t *shape = lac_aggregation_shape(m->aggregation, i);
    if (shape) {
      for (int32_t q = 0; columns && q < shape[1]; ++q) columns[q] = (int32_t)i + shape[2 + q];
      if (!columns) lac_buffer_set(m->offsets, i + 1, shape[1]);
      continue;
    }
    int64_t count = !wide_offsets ? merge_row(m, i, mark, columns, false, false)
                                  : merge_row(m, i, mark, columns, true, wide_columns);
    if (!columns) {
      lac_buffer_set(m->offsets, i + 1, count);
    } else if (count <= 64) {
      sort_short(columns, count);
    } else {
      qsort(columns, (size_t)count, sizeof *columns, by_value);
    }
  }
}

static void merge_all(const merge *m, int threads) {
#pragma omp parallel num_threads(threads)
  {
    int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
    merge_rows(m, m->coarse * me / all, m->coarse * (me + 1) / all, m->marks + me * m->coarse);
  }
}

lac_status cpu_pairwise_coarse_pattern(lac_context *ctx, const lac_pattern *pattern, const lac_aggregation *aggregation,
                                       lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_buffer *columns = NULL;
  int threads = lac_threads_worth(ctx->threads, ctx->threads, (double)pattern->nnz);
  lac_width width = pattern->nnz > INT32_MAX ? LAC_WIDTH_64_32 : LAC_WIDTH_32_32;
  merge m = {.pattern = pattern,
             .aggregation = aggregation,
             .aggregates = aggregation->aggregates->host,
             .starts = aggregation->starts->host,
             .members = aggregation->members->host,
             .coarse = aggregation->coarse,
             .is_regular = aggregation->is_regular};
  LAC_ALLOC(m.marks, threads * m.coarse);
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), m.coarse + 1, &m.offsets));
  lac_buffer_set(m.offsets, 0, 0);
  merge_all(&m, threads);
  for (int64_t i = 0; i < m.coarse; ++i)
    lac_buffer_set(m.offsets, i + 1, lac_buffer_get(m.offsets, i) + lac_buffer_get(m.offsets, i + 1));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, lac_buffer_get(m.offsets, m.coarse), &columns));
  m.columns = columns->host;
  merge_all(&m, threads);
  LAC_TRY(lac_pattern_adopt(ctx, m.coarse, m.coarse, width, &m.offsets, &columns, out));
done:
  lac_free(m.marks);
  lac_object_release(m.offsets);
  lac_object_release(columns);
  return status;
}
