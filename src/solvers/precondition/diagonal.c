// SPDX-License-Identifier: Apache-2.0
/// @file diagonal.c
/// The diagonal of a matrix and its reciprocal, where the values lie.

#include "solvers/precondition/relax.h"

lac_status lac_relax_array(lac_context *ctx, lac_dtype dtype, int64_t items, int64_t rows, int64_t width,
                           lac_array **out) {
  return lac_array_create(ctx, dtype, 3, (const int64_t[]){items, rows, width}, out);
}

lac_status lac_relax_like(lac_context *ctx, const lac_array *like, lac_array **out) {
  return lac_array_make(ctx, &like->meta, out);
}

int64_t lac_relax_bytes(const lac_array *array) {
  return array ? array->count * (int64_t)lac_dtype_size(array->meta.dtype) : 0;
}

lac_status lac_relax_require_diagonal(lac_context *ctx, const char *who, const lac_pattern *pattern) {
  lac_status status = LAC_OK;
  const lac_buffer *offsets = NULL, *slots = NULL;
  lac_map *map = NULL;
  int64_t row = 0;

  LAC_TRY(lac_pattern_diagonal(ctx, pattern, &map));
  LAC_TRY(lac_map_groups(ctx, map, &offsets, &slots));
  if (slots->count == pattern->rows) goto done;
  LAC_TRY(lac_buffer_host(ctx, offsets));
  while (lac_buffer_get(offsets, row + 1) > lac_buffer_get(offsets, row)) row++;
  LAC_FAIL(LAC_ERR_SINGULAR,
           "%s: row %lld has no entry on the diagonal; order the rows so that it has one, or choose another "
           "preconditioner (identity, block_jacobi) or a direct method",
           who, (long long)row);
done:
  lac_map_destroy(&map);
  return status;
}

/// [items, n, 1] of values [items, nnz].
static lac_status diagonal_take(lac_context *ctx, const lac_setup *setup, lac_array **out) {
  lac_status status = LAC_OK;
  const lac_array *values = setup->values;
  int64_t items = values->meta.shape[0], n = setup->pattern->rows;
  lac_map *map = NULL;
  lac_array *made = NULL, *flat = NULL;

  LAC_TRY(lac_pattern_diagonal(ctx, setup->pattern, &map));
  LAC_TRY(lac_relax_array(ctx, values->meta.dtype, items, n, 1, &made));
  LAC_TRY(lac_array_reshape(ctx, made, 2, (const int64_t[]){items, n}, &flat));
  LAC_TRY(ctx->kernels->remap(ctx, map, LAC_PLAIN, 0, values, flat));
  *out = made, made = NULL;
done:
  lac_map_destroy(&map);
  lac_array_destroy(&flat);
  lac_array_destroy(&made);
  return status;
}

/// conj(x), which is x itself where it is real.
static lac_status diagonal_mirror(lac_context *ctx, lac_array *x, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *made = NULL;

  if (lac_dtype_is_complex(x->meta.dtype)) {
    LAC_TRY(lac_relax_like(ctx, x, &made));
    LAC_TRY(ctx->kernels->conj(ctx, x, made));
  } else {
    made = lac_array_retain(x);
  }
  *out = made, made = NULL;
done:
  lac_array_destroy(&made);
  return status;
}

lac_status lac_relax_diagonal(lac_context *ctx, const char *who, const lac_setup *setup, lac_array **diagonal,
                              lac_array **inverse, lac_array **mirrored) {
  lac_status status = LAC_OK;
  lac_array *d = NULL, *r = NULL, *m = NULL;
  int64_t n = setup->pattern->rows, fault = -1;

  LAC_TRY(diagonal_take(ctx, setup, &d));
  LAC_TRY(lac_relax_like(ctx, d, &r));
  LAC_TRY(ctx->kernels->reciprocal(ctx, d, r, &fault));
  LAC_CHECK(
      fault < 0, LAC_ERR_SINGULAR,
      "%s: the diagonal of row %lld in matrix %lld is zero or missing; order the rows so that it is not, or choose "
      "another preconditioner (identity, block_jacobi) or a direct method",
      who, (long long)(fault % n), (long long)(fault / n));
  if (mirrored) LAC_TRY(diagonal_mirror(ctx, r, &m));
  if (diagonal) *diagonal = d, d = NULL;
  if (inverse) *inverse = r, r = NULL;
  if (mirrored) *mirrored = m, m = NULL;
done:
  lac_array_destroy(&d);
  lac_array_destroy(&r);
  lac_array_destroy(&m);
  return status;
}
