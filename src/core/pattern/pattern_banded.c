// SPDX-License-Identifier: Apache-2.0
/// @file pattern_banded.c
/// The pattern of a band, and the map from the band's storage, ab[upper + i - j, j] = A[i, j], to its slots.

#include "core/pattern/pattern_impl.h"

typedef struct row_span {
  int64_t begin, end;  // columns
} row_span;

static row_span banded_row(int64_t i, int64_t cols, int64_t lower, int64_t upper) {
  int64_t begin = i > lower ? i - lower : 0, end = i + upper + 1 < cols ? i + upper + 1 : cols;
  return (row_span){begin, begin < end ? end : begin};
}

/// How many entries (i, j) of rows x cols have j - i >= first, modulo 2^64.
static uint64_t banded_beyond(int64_t rows, int64_t cols, int64_t first) {
  uint64_t longest = cols > first ? (uint64_t)(cols - first) : 0;
  uint64_t count = longest < (uint64_t)rows ? longest : (uint64_t)rows;
  uint64_t shorter = count % 2 ? (count - 1) / 2 * count : count / 2 * (count - 1);
  return count * longest - shorter;
}

/// All entries without those above the band and those below it: a count that takes no time, however large the matrix.
/// The terms may overflow; the count, which fits, is right.
static int64_t banded_nnz(int64_t rows, int64_t cols, int64_t lower, int64_t upper) {
  return (int64_t)((uint64_t)rows * (uint64_t)cols - banded_beyond(rows, cols, upper + 1) -
                   banded_beyond(cols, rows, lower + 1));
}

static lac_status banded_map(lac_context *ctx, const lac_pattern *p, int64_t lower, int64_t upper, lac_map **out) {
  lac_status status = LAC_OK;
  int64_t inputs = (lower + upper + 1) * p->cols, slot = 0;
  lac_buffer *target = NULL;

  LAC_TRY(lac_buffer_create(ctx, lac_map_type(inputs, p->nnz), inputs, &target));
  for (int64_t e = 0; e < inputs; ++e) lac_buffer_set(target, e, -1);
  for (int64_t i = 0; i < p->rows; ++i) {
    row_span span = banded_row(i, p->cols, lower, upper);
    for (int64_t j = span.begin; j < span.end; ++j) lac_buffer_set(target, (upper + i - j) * p->cols + j, slot++);
  }
  LAC_TRY(lac_map_adopt_injective(ctx, p->nnz, &target, out));
done:
  lac_object_release(target);
  return status;
}

static lac_status banded_make(lac_context *ctx, int64_t rows, int64_t cols, int64_t lower, int64_t upper,
                              lac_width width, lac_pattern **out) {
  lac_status status = LAC_OK;
  int64_t nnz = banded_nnz(rows, cols, lower, upper), p = 0;
  lac_buffer *offsets = NULL, *columns = NULL;

  LAC_TRY(lac_width_choose(ctx, "lac_pattern_banded", width, rows, cols, nnz, &width));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), rows + 1, &offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), nnz, &columns));
  for (int64_t i = 0; i < rows; ++i) {
    row_span span = banded_row(i, cols, lower, upper);
    lac_buffer_set(offsets, i, p);
    for (int64_t j = span.begin; j < span.end; ++j) lac_buffer_set(columns, p++, j);
  }
  lac_buffer_set(offsets, rows, p);
  LAC_TRY(lac_pattern_adopt(ctx, rows, cols, width, &offsets, &columns, out));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

lac_status lac_pattern_banded(lac_context *ctx, int64_t rows, int64_t cols, int64_t lower, int64_t upper,
                              lac_width width, lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  lac_pattern *p = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_banded: out is NULL");
  LAC_CHECK(rows >= 0 && cols >= 0 && lower >= 0 && upper >= 0, LAC_ERR_ARG,
            "lac_pattern_banded: rows = %lld, cols = %lld, lower = %lld, upper = %lld; none may be negative",
            (long long)rows, (long long)cols, (long long)lower, (long long)upper);
  LAC_CHECK(rows <= LAC_MAX_COUNT && cols <= LAC_MAX_COUNT && lower < LAC_MAX_COUNT && upper < LAC_MAX_COUNT &&
                (cols == 0 || lower + upper + 1 <= LAC_MAX_COUNT / cols),
            LAC_ERR_OVERFLOW,
            "lac_pattern_banded: a band of %lld + %lld + 1 diagonals of %lld numbers cannot be addressed",
            (long long)lower, (long long)upper, (long long)cols);
  LAC_TRY(banded_make(ctx, rows, cols, lower, upper, width, &p));
  if (map) LAC_TRY(banded_map(ctx, p, lower, upper, map));
  *out = p, p = NULL;
done:
  lac_pattern_destroy(&p);
  return status;
}
