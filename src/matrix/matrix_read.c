// SPDX-License-Identifier: Apache-2.0
/// @file matrix_read.c
/// Matrices out again: host copies in other layouts.

#include "lacuna/plain.h"
#include "matrix/matrix_impl.h"

static lac_status read_check(lac_context *ctx, const char *function, const lac_matrix *m) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT_OF(function);
  LAC_CHECK(m, LAC_ERR_ARG, "%s: the matrix is NULL", function);
  LAC_TRY(lac_pattern_require_here(ctx, m->pattern, function));
done:
  return status;
}

/// The values of blocks, one number behind the other.
static lac_status read_flat(lac_context *ctx, const lac_matrix *m, lac_array **out) {
  const lac_meta *meta = &m->values->meta;
  int64_t shape[LAC_MAX_DIMS];
  int batch = meta->ndim - 3;

  for (int d = 0; d < batch; d++) shape[d] = meta->shape[d];
  shape[batch] = lac_matrix_nnz(m);
  return lac_array_reshape(ctx, m->values, batch + 1, shape, out);
}

/// The pattern of single entries, and the values by its slots.
static lac_status read_scalar(lac_context *ctx, const lac_matrix *m, lac_pattern **pattern, lac_array **values) {
  lac_status status = LAC_OK;
  lac_map *map = NULL;
  lac_array *flat = NULL;

  if (!lac_pattern_has_blocks(m->pattern)) {
    *pattern = lac_pattern_retain(m->pattern);
    *values = lac_array_retain(m->values);
    goto done;
  }
  LAC_TRY(read_flat(ctx, m, &flat));
  LAC_TRY(lac_pattern_scalar(ctx, m->pattern, pattern, &map));
  LAC_TRY(lac_run_remap(ctx, map, flat, LAC_PLAIN, values));
done:
  lac_map_destroy(&map);
  lac_array_destroy(&flat);
  return status;
}

/// By rows, for the two layouts that are.
static lac_status read_rows(lac_context *ctx, const char *function, const lac_matrix *m, int64_t *offsets,
                            int64_t *columns, int64_t *rows_of, void *numbers) {
  lac_status status = LAC_OK;
  lac_pattern *pattern = NULL;
  lac_array *values = NULL;

  LAC_TRY(read_check(ctx, function, m));
  LAC_TRY(read_scalar(ctx, m, &pattern, &values));
  LAC_TRY(lac_pattern_read(pattern, offsets, columns, rows_of));
  if (numbers) LAC_TRY(lac_array_read(ctx, values, numbers));
done:
  lac_pattern_destroy(&pattern);
  lac_array_destroy(&values);
  return status;
}

lac_status lac_matrix_read_coo(lac_context *ctx, const lac_matrix *matrix, int64_t *row, int64_t *col, void *values) {
  return read_rows(ctx, __func__, matrix, NULL, col, row, values);
}

lac_status lac_matrix_read_csr(lac_context *ctx, const lac_matrix *matrix, int64_t *offsets, int64_t *columns,
                               void *values) {
  return read_rows(ctx, __func__, matrix, offsets, columns, NULL, values);
}

lac_status lac_matrix_read_csc(lac_context *ctx, const lac_matrix *matrix, int64_t *offsets, int64_t *rows_of,
                               void *values) {
  lac_status status = LAC_OK;
  lac_pattern *pattern = NULL, *transpose = NULL;
  lac_map *map = NULL;
  lac_array *by_rows = NULL, *by_cols = NULL;

  LAC_TRY(read_check(ctx, __func__, matrix));
  LAC_TRY(read_scalar(ctx, matrix, &pattern, &by_rows));
  LAC_TRY(lac_pattern_transpose(ctx, pattern, &transpose, &map));
  LAC_TRY(lac_pattern_read(transpose, offsets, rows_of, NULL));
  if (values) {
    LAC_TRY(lac_run_remap(ctx, map, by_rows, LAC_PLAIN, &by_cols));
    LAC_TRY(lac_array_read(ctx, by_cols, values));
  }
done:
  lac_pattern_destroy(&pattern);
  lac_pattern_destroy(&transpose);
  lac_map_destroy(&map);
  lac_array_destroy(&by_rows);
  lac_array_destroy(&by_cols);
  return status;
}

lac_status lac_matrix_read_dense(lac_context *ctx, const lac_matrix *matrix, void *numbers) {
  lac_status status = LAC_OK;
  lac_pattern *pattern = NULL;
  lac_map *map = NULL;
  lac_array *values = NULL, *dense = NULL;

  LAC_TRY(read_check(ctx, __func__, matrix));
  if (!numbers) goto done;
  LAC_TRY(read_scalar(ctx, matrix, &pattern, &values));
  LAC_TRY(lac_pattern_dense(ctx, pattern, &map));
  LAC_TRY(lac_run_remap(ctx, map, values, LAC_PLAIN, &dense));
  LAC_TRY(lac_array_read(ctx, dense, numbers));
done:
  lac_pattern_destroy(&pattern);
  lac_map_destroy(&map);
  lac_array_destroy(&values);
  lac_array_destroy(&dense);
  return status;
}

lac_status lac_matrix_read_given(lac_context *ctx, const lac_matrix *matrix, void *values) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(matrix, LAC_ERR_ARG, "lac_matrix_read_given: the matrix is NULL");
  if (values) LAC_TRY(lac_array_read(ctx, matrix->given, values));
done:
  return status;
}
