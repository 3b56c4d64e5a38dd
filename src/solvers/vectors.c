// SPDX-License-Identifier: Apache-2.0
/// @file vectors.c
/// Items of batches; norms of columns that stay in range, on the host: by the backend's own reduction, or from a copy
/// where it has none or where a norm is beyond single precision.

#include <math.h>

#include "core/number_at.h"
#include "solvers/vectors.h"

static lac_status norms_reduced(lac_context *ctx, const lac_array *x, double *norms) {
  lac_status status = LAC_OK;
  lac_dtype real = lac_dtype_real(x->meta.dtype);
  lac_array *sums = NULL;
  double *host = NULL;

  LAC_TRY(lac_array_create(ctx, real, 2, (int64_t[]){x->meta.shape[0], x->meta.shape[2]}, &sums));
  LAC_ALLOC(host, sums->count);
  LAC_TRY(ctx->kernels->reduce(ctx, LAC_REDUCE_NORM, x, 1u << 1, sums));
  LAC_TRY(lac_array_fetch(ctx, sums, host));
  for (int64_t i = 0; i < sums->count; ++i) norms[i] = creal(lac_number_get(real, host, i));
done:
  lac_free(host);
  lac_array_destroy(&sums);
  return status;
}

static lac_status norms_copied(lac_context *ctx, const lac_array *x, double *norms) {
  lac_status status = LAC_OK;
  int64_t items = x->meta.shape[0], n = x->meta.shape[1], k = x->meta.shape[2];
  lac_dtype dtype = x->meta.dtype;
  char *host = NULL;

  LAC_ALLOC(host, x->count * (int64_t)lac_dtype_size(dtype));
  LAC_TRY(lac_array_fetch(ctx, x, host));
  for (int64_t i = 0; i < items * k; ++i) norms[i] = 0;
  for (int64_t i = 0; i < x->count; ++i) {
    c128 number = lac_number_get(dtype, host, i);
    double *norm = &norms[i / (n * k) * k + i % k];
    *norm = hypot(*norm, hypot(creal(number), cimag(number)));
  }
done:
  lac_free(host);
  return status;
}

lac_status lac_column_norms(lac_context *ctx, const lac_array *x, int64_t items, int64_t n, int64_t k, double *norms) {
  lac_status status = LAC_OK;
  lac_array *view = NULL;
  bool is_done = ctx->kernels->reduce != NULL;
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)x, 3, (int64_t[]){items, n, k}, &view));  // which is only read
  if (ctx->kernels->reduce) LAC_TRY(norms_reduced(ctx, view, norms));
  for (int64_t i = 0; i < items * k && is_done; ++i)
    is_done = isfinite(norms[i]) || lac_dtype_real(x->meta.dtype) == LAC_F64;
  if (!is_done) LAC_TRY(norms_copied(ctx, view, norms));
done:
  lac_array_destroy(&view);
  return status;
}

lac_status lac_batch_items(lac_context *ctx, const lac_array *array, int64_t first, int64_t count, lac_array **out) {
  lac_meta meta = array->meta;
  size_t bytes = array->meta.shape[0] ? (size_t)(array->count / array->meta.shape[0]) * lac_dtype_size(meta.dtype) : 0;
  meta.shape[0] = count;
  return lac_array_wrap(ctx, &meta, (char *)array->storage->data + (size_t)first * bytes, out);
}

lac_status lac_batch_move(lac_context *ctx, const lac_array *from, int64_t i, const lac_array *to, int64_t j) {
  lac_status status = LAC_OK;
  lac_array *one = NULL, *other = NULL;

  LAC_TRY(lac_batch_items(ctx, from, i, 1, &one));
  LAC_TRY(lac_batch_items(ctx, to, j, 1, &other));
  LAC_TRY(ctx->backend->copy(ctx, one, other));
done:
  lac_array_destroy(&one);
  lac_array_destroy(&other);
  return status;
}

lac_status lac_batch_spread(lac_context *ctx, const lac_batch *batch, int operand, const lac_array *b,
                            lac_array **out) {
  lac_status status = LAC_OK;
  int64_t rows = b->meta.shape[b->meta.ndim - 2], k = b->meta.shape[b->meta.ndim - 1], items = 1;
  lac_array *flat = NULL, *spread = NULL;

  for (int d = 0; d < b->meta.ndim - 2; d++) items *= b->meta.shape[d];
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)b, 3, (int64_t[]){items, rows, k}, &flat));
  if (items == batch->count) {
    *out = flat, flat = NULL;
    goto done;
  }
  LAC_TRY(lac_array_create(ctx, b->meta.dtype, 3, (int64_t[]){batch->count, rows, k}, &spread));
  for (int64_t i = 0; i < batch->count; i++) {
    LAC_TRY(lac_batch_move(ctx, flat, lac_batch_item(batch, operand, i), spread, i));
  }
  *out = spread, spread = NULL;
done:
  lac_array_destroy(&flat);
  lac_array_destroy(&spread);
  return status;
}
