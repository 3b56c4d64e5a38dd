// SPDX-License-Identifier: Apache-2.0
/// @file matrix_from.c
/// Matrices from other layouts: a pattern, the map of the caller's entries, and numbers.

#include <inttypes.h>
#include <math.h>

#include "core/number_at.h"
#include "matrix/matrix_impl.h"

/// Refuse what no matrix can be made of, before a pattern is.
static lac_status from_check(lac_context *ctx, const char *function, lac_dtype dtype, lac_matrix **out) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT_OF(function);
  LAC_CHECK(out, LAC_ERR_ARG, "%s: out is NULL", function);
  LAC_CHECK(lac_dtype_size(dtype), LAC_ERR_DTYPE, "%s: dtype %d is none of LAC_F32, LAC_F64, LAC_C64, LAC_C128",
            function, (int)dtype);
done:
  return status;
}

/// Put numbers to a pattern that a constructor has just made, if it has, and let go of what it made.
static lac_status from_finish(lac_context *ctx, const char *function, lac_status status, lac_pattern *pattern,
                              lac_map *entries, lac_matrix_numbers numbers, lac_matrix **out) {
  LAC_TRY(status);
  LAC_TRY(lac_matrix_make(ctx, function, pattern, entries, numbers, out));
done:
  lac_pattern_destroy(&pattern);
  lac_map_destroy(&entries);
  return status;
}

lac_status lac_matrix_from_coo(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, lac_index_type type,
                               const void *row, const void *col, lac_dtype dtype, const void *values,
                               lac_ownership ownership, lac_matrix **out) {
  lac_pattern *pattern = NULL;
  lac_map *entries = NULL;
  lac_status status = from_check(ctx, __func__, dtype, out);

  if (status == LAC_OK) {
    status = lac_pattern_from_coo(ctx, rows, cols, count, type, row, col, LAC_WIDTH_AUTO, &pattern, &entries);
  }
  return from_finish(ctx, __func__, status, pattern, entries, (lac_matrix_numbers){dtype, values, ownership}, out);
}

lac_status lac_matrix_from_csr(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type, const void *offsets,
                               const void *columns, lac_dtype dtype, const void *values, lac_ownership ownership,
                               lac_matrix **out) {
  lac_pattern *pattern = NULL;
  lac_map *entries = NULL;
  lac_status status = from_check(ctx, __func__, dtype, out);

  if (status == LAC_OK) {
    status = lac_pattern_from_csr(ctx, rows, cols, type, offsets, columns, LAC_WIDTH_AUTO, &pattern, &entries);
  }
  return from_finish(ctx, __func__, status, pattern, entries, (lac_matrix_numbers){dtype, values, ownership}, out);
}

lac_status lac_matrix_from_csc(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type, const void *offsets,
                               const void *rows_of, lac_dtype dtype, const void *values, lac_ownership ownership,
                               lac_matrix **out) {
  lac_pattern *pattern = NULL;
  lac_map *entries = NULL;
  lac_status status = from_check(ctx, __func__, dtype, out);

  if (status == LAC_OK) {
    status = lac_pattern_from_csc(ctx, rows, cols, type, offsets, rows_of, LAC_WIDTH_AUTO, &pattern, &entries);
  }
  return from_finish(ctx, __func__, status, pattern, entries, (lac_matrix_numbers){dtype, values, ownership}, out);
}

lac_status lac_matrix_from_bsr(lac_context *ctx, int64_t rows, int64_t cols, int64_t br, int64_t bc,
                               lac_index_type type, const void *offsets, const void *columns, lac_dtype dtype,
                               const void *values, lac_ownership ownership, lac_matrix **out) {
  lac_pattern *pattern = NULL;
  lac_map *entries = NULL;
  lac_status status = from_check(ctx, __func__, dtype, out);

  if (status == LAC_OK) {
    status = lac_pattern_from_bsr(ctx, rows, cols, br, bc, type, offsets, columns, LAC_WIDTH_AUTO, &pattern, &entries);
  }
  return from_finish(ctx, __func__, status, pattern, entries, (lac_matrix_numbers){dtype, values, ownership}, out);
}

// -- dense numbers ---------------------------------------------------------------------------------------------------

/// Dense numbers, and what is kept of them as compressed rows.
typedef struct from_dense {
  int64_t rows, cols;
  lac_dtype dtype;
  const void *numbers;
  double threshold;
  int64_t *offsets, *columns;
  char *values;
} from_dense;

/// NaN is kept: it is no small number.
static bool dense_is_kept(const from_dense *d, int64_t at) {
  return !(cabs(lac_number_get(d->dtype, d->numbers, at)) <= d->threshold);
}

static lac_status dense_check(lac_context *ctx, const from_dense *d) {
  lac_status status = LAC_OK;
  lac_meta meta = {.dtype = d->dtype, .ndim = 2, .shape = {d->rows, d->cols}};

  LAC_TRY(lac_meta_check(ctx, "lac_matrix_from_dense", &meta));
  LAC_CHECK(d->numbers || lac_meta_count(&meta) == 0, LAC_ERR_ARG, "lac_matrix_from_dense: numbers is NULL");
  LAC_CHECK(!isnan(d->threshold), LAC_ERR_ARG,
            "lac_matrix_from_dense: the threshold is NaN; 0 drops exact zeros, -1 keeps every number");
done:
  return status;
}

static void dense_count(from_dense *d, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static) if (d->rows * d->cols > 1 << 16)
  for (int64_t i = 0; i < d->rows; ++i) {
    int64_t kept = 0;
    for (int64_t j = 0; j < d->cols; ++j) kept += dense_is_kept(d, i * d->cols + j);
    d->offsets[i + 1] = kept;
  }
  for (int64_t i = 0; i < d->rows; ++i) d->offsets[i + 1] += d->offsets[i];
}

static void dense_fill(from_dense *d, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static) if (d->rows * d->cols > 1 << 16)
  for (int64_t i = 0; i < d->rows; ++i) {
    int64_t place = d->offsets[i];
    for (int64_t j = 0; j < d->cols; ++j) {
      int64_t at = i * d->cols + j;
      if (!dense_is_kept(d, at)) continue;
      d->columns[place] = j;
      lac_number_put(d->dtype, d->values, place++, lac_number_get(d->dtype, d->numbers, at));
    }
  }
}

lac_status lac_matrix_from_dense(lac_context *ctx, int64_t rows, int64_t cols, lac_dtype dtype, const void *numbers,
                                 double threshold, lac_matrix **out) {
  lac_status status = LAC_OK;
  from_dense d = {rows, cols, dtype, numbers, threshold, NULL, NULL, NULL};

  LAC_TRY(from_check(ctx, __func__, dtype, out));
  LAC_TRY(dense_check(ctx, &d));
  LAC_ALLOC(d.offsets, rows + 1);
  dense_count(&d, lac_structure_threads(ctx));
  LAC_ALLOC(d.columns, d.offsets[rows]);
  LAC_ALLOC(d.values, (size_t)d.offsets[rows] * lac_dtype_size(dtype));
  dense_fill(&d, lac_structure_threads(ctx));
  LAC_TRY(
      lac_matrix_from_csr(ctx, rows, cols, LAC_I64, d.offsets, d.columns, dtype, d.values, LAC_OWNERSHIP_COPY, out));
done:
  lac_free(d.offsets);
  lac_free(d.columns);
  lac_free(d.values);
  return status;
}
