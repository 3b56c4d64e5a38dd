// SPDX-License-Identifier: Apache-2.0
/// @file pattern_select.c
/// Parts of a pattern, each with the map that takes values along: triangle, submatrix, diagonal, dense.
///
/// Triangles and submatrices keep one window of columns in each row of a range. Columns ascend, so a window is a run of
/// slots, and the kept slots stay in order (on a device each entry says whether it stays):
///
///     triangle    lower: [0, i + k + 1)      upper: [i + k, cols)
///     submatrix   [col0, col1) in rows [row0, row1)

#include "core/pattern/structure.h"

/// The slots [*begin, *end) of row i that remain.
static void select_run(const lac_pattern *a, const lac_window *w, int64_t i, int64_t *begin, int64_t *end) {
  int64_t low = w->col0, high = w->col1;
  if (w->cuts_above && i + w->k + 1 < high) high = i + w->k + 1;
  if (w->cuts_below && i + w->k > low) low = i + w->k;
  *begin = lac_pattern_reaches(a, i, low);
  *end = high > low ? lac_pattern_reaches(a, i, high) : *begin;
}

static void select_count(const lac_pattern *a, const lac_window *w, lac_buffer *offsets, int threads) {
  int64_t rows = w->row1 - w->row0, sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static) if (a->nnz > 1 << 16)
  for (int64_t i = 0; i < rows; ++i) {
    int64_t begin, end;
    select_run(a, w, w->row0 + i, &begin, &end);
    lac_buffer_set(offsets, i, end - begin);
  }
  for (int64_t i = 0; i <= rows; ++i) {
    int64_t count = i < rows ? lac_buffer_get(offsets, i) : 0;
    lac_buffer_set(offsets, i, sum);
    sum += count;
  }
}

static void select_fill(const lac_pattern *a, const lac_window *w, const lac_buffer *offsets, lac_buffer *columns,
                        lac_buffer *target, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static) if (a->nnz > 1 << 16)
  for (int64_t i = 0; i < a->rows; ++i) {
    int64_t p = lac_buffer_get(a->offsets, i), row_end = lac_buffer_get(a->offsets, i + 1);
    int64_t begin = row_end, end = row_end;
    int64_t slot = 0;
    if (i >= w->row0 && i < w->row1) {
      select_run(a, w, i, &begin, &end);
      slot = lac_buffer_get(offsets, i - w->row0);
    }
    for (; p < row_end; ++p) {
      bool kept = p >= begin && p < end;
      if (kept) lac_buffer_set(columns, slot, lac_buffer_get(a->columns, p) - w->col0);
      if (target) lac_buffer_set(target, p, kept ? slot : -1);
      slot += kept;
    }
  }
}

/// The whole pattern and its identity.
static lac_status select_all(lac_context *ctx, const lac_pattern *a, lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  if (map) LAC_TRY(lac_pattern_identity(ctx, a, map));
  *out = lac_pattern_retain(a);
done:
  return status;
}

/// The parts of what stays, in the width of the pattern; nothing where that is all of it.
static lac_status select_here(lac_context *ctx, const lac_pattern *a, const lac_window *w, bool with_map,
                              lac_buffer **offsets, lac_buffer **columns, lac_buffer **target) {
  lac_status status = LAC_OK;
  int64_t rows = w->row1 - w->row0, nnz;
  int threads = lac_structure_threads(ctx);

  LAC_TRY(lac_pattern_host(ctx, a));
  LAC_TRY(lac_buffer_create(ctx, a->offsets->type, rows + 1, offsets));
  select_count(a, w, *offsets, threads);
  nnz = lac_buffer_get(*offsets, rows);
  if (nnz == a->nnz && rows == a->rows && w->col1 - w->col0 == a->cols) goto done;
  LAC_TRY(lac_buffer_create(ctx, a->columns->type, nnz, columns));
  if (with_map) LAC_TRY(lac_buffer_create(ctx, a->offsets->type, a->nnz, target));
  select_fill(a, w, *offsets, *columns, *target, threads);
done:
  return status;
}

static lac_status select_make(lac_context *ctx, const lac_pattern *a, const lac_window *w, lac_pattern **out,
                              lac_map **map) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *there = lac_structure_there(ctx, a);
  lac_buffer *offsets = NULL, *columns = NULL, *target = NULL;
  lac_pattern *part = NULL;
  int64_t rows = w->row1 - w->row0, cols = w->col1 - w->col0, nnz;

  if (there) {
    LAC_TRY(there->select(ctx, a, w, a->width, &offsets, &columns, &target));
  } else {
    LAC_TRY(select_here(ctx, a, w, map != NULL, &offsets, &columns, &target));
  }
  nnz = columns ? columns->count : a->nnz;
  if (nnz == a->nnz && rows == a->rows && cols == a->cols) {
    LAC_TRY(select_all(ctx, a, out, map));
    goto done;
  }
  LAC_TRY(lac_pattern_adopt(ctx, rows, cols, a->width, &offsets, &columns, &part));
  if (map) LAC_TRY(lac_map_adopt_injective(ctx, nnz, &target, map));
  *out = part, part = NULL;
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  lac_object_release(target);
  lac_pattern_destroy(&part);
  return status;
}

static lac_status triangle_part(lac_context *ctx, const lac_pattern *a, lac_part *part) {
  lac_status status = LAC_OK;
  bool is_lower = part->name == LAC_PART_LOWER;
  LAC_TRY(select_make(ctx, a, &(lac_window){0, a->rows, 0, a->cols, is_lower, !is_lower, part->k, NULL}, &part->pattern,
                      &part->map));
done:
  return status;
}

lac_status lac_pattern_triangle(lac_context *ctx, const lac_pattern *pattern, lac_triangle triangle, int64_t k,
                                lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_triangle: out is NULL");
  LAC_TRY(lac_pattern_require_scalar(ctx, pattern, "lac_pattern_triangle"));
  LAC_CHECK(triangle == LAC_TRIANGLE_LOWER || triangle == LAC_TRIANGLE_UPPER, LAC_ERR_ARG,
            "lac_pattern_triangle: triangle = %d; give LAC_TRIANGLE_LOWER or LAC_TRIANGLE_UPPER", (int)triangle);
  if (k < -pattern->rows) k = -pattern->rows;  // beyond the corners nothing changes
  if (k > pattern->cols) k = pattern->cols;
  LAC_TRY(lac_pattern_part(ctx, pattern, triangle == LAC_TRIANGLE_LOWER ? LAC_PART_LOWER : LAC_PART_UPPER, k,
                           triangle_part, out, map));
done:
  return status;
}

lac_status lac_pattern_submatrix(lac_context *ctx, const lac_pattern *pattern, int64_t row0, int64_t row1, int64_t col0,
                                 int64_t col1, lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  lac_window w = {row0, row1, col0, col1, false, false, 0, NULL};

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_submatrix: out is NULL");
  LAC_TRY(lac_pattern_require_scalar(ctx, pattern, "lac_pattern_submatrix"));
  LAC_CHECK(0 <= row0 && row0 <= row1 && row1 <= pattern->rows, LAC_ERR_ARG,
            "lac_pattern_submatrix: rows [%lld, %lld) are not a range within 0..%lld", (long long)row0, (long long)row1,
            (long long)pattern->rows);
  LAC_CHECK(0 <= col0 && col0 <= col1 && col1 <= pattern->cols, LAC_ERR_ARG,
            "lac_pattern_submatrix: columns [%lld, %lld) are not a range within 0..%lld", (long long)col0,
            (long long)col1, (long long)pattern->cols);
  LAC_TRY(select_make(ctx, pattern, &w, out, map));
done:
  return status;
}

/// target = row * row_stride + col, or for the diagonal (row_stride 0) the row itself where it is the column.
static lac_status places_here(lac_context *ctx, const lac_pattern *a, int64_t row_stride, lac_index_type type,
                              lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;
  int threads = lac_structure_threads(ctx);

  LAC_TRY(lac_pattern_host(ctx, a));
  LAC_TRY(lac_buffer_create(ctx, type, a->nnz, &target));
#pragma omp parallel for num_threads(threads) schedule(static) if (a->nnz > 1 << 16)
  for (int64_t i = 0; i < a->rows; ++i) {
    int64_t end = lac_buffer_get(a->offsets, i + 1);
    for (int64_t p = lac_buffer_get(a->offsets, i); p < end; ++p) {
      int64_t col = lac_buffer_get(a->columns, p);
      lac_buffer_set(target, p, row_stride ? i * row_stride + col : col == i ? i : -1);
    }
  }
  *out = target;
done:
  return status;
}

static lac_status select_places(lac_context *ctx, const lac_pattern *a, int64_t row_stride, int64_t outputs,
                                lac_index_type type, lac_map **map) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *there = lac_structure_there(ctx, a);
  lac_buffer *target = NULL;

  LAC_TRY((there ? there->places : places_here)(ctx, a, row_stride, type, &target));
  LAC_TRY(lac_map_adopt_injective(ctx, outputs, &target, map));
done:
  lac_object_release(target);
  return status;
}

static lac_status diagonal_part(lac_context *ctx, const lac_pattern *a, lac_part *part) {
  lac_status status = LAC_OK;
  LAC_TRY(select_places(ctx, a, 0, a->rows < a->cols ? a->rows : a->cols, a->offsets->type, &part->map));
done:
  return status;
}

lac_status lac_pattern_diagonal(lac_context *ctx, const lac_pattern *pattern, lac_map **map) {
  return lac_pattern_part_map(ctx, "lac_pattern_diagonal", pattern, LAC_PART_DIAGONAL, diagonal_part, map);
}

lac_status lac_pattern_dense(lac_context *ctx, const lac_pattern *pattern, lac_map **map) {
  lac_status status = LAC_OK;
  int64_t outputs = 0;
  lac_index_type type = LAC_I64;

  LAC_CHECK(map, LAC_ERR_ARG, "lac_pattern_dense: map is NULL");
  LAC_TRY(lac_pattern_require_scalar(ctx, pattern, "lac_pattern_dense"));
  LAC_CHECK(!__builtin_mul_overflow(pattern->rows, pattern->cols, &outputs) && outputs <= LAC_MAX_COUNT,
            LAC_ERR_OVERFLOW, "lac_pattern_dense: %lld x %lld numbers are beyond what can be addressed",
            (long long)pattern->rows, (long long)pattern->cols);
  if (lac_map_type(pattern->nnz, outputs) == LAC_I32) type = pattern->offsets->type;
  LAC_TRY(select_places(ctx, pattern, pattern->cols, outputs, type, map));
done:
  return status;
}
