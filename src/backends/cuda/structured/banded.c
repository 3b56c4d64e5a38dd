// SPDX-License-Identifier: Apache-2.0
/// @file banded.c
/// Products of banded matrices on the device.

#include "backends/cuda/backend.h"
#include "backends/cuda/structured/structured.h"

static int64_t last_size(const lac_array *x) { return x->meta.shape[x->meta.ndim - 1]; }
static int64_t core_size(const lac_array *x) { return x->meta.shape[x->meta.ndim - 2] * last_size(x); }

static cuda_band band_of(const lac_banded *band, lac_form form) {
  return (cuda_band){.lower = band->lower,
                     .upper = band->upper,
                     .rows = band->rows,
                     .cols = band->cols,
                     .transposed = lac_form_transposes(form),
                     .conj = lac_form_conjugates(form)};
}

static const int CORE[] = {2, 2, 2};

lac_status cuda_banded_mm(lac_context *ctx, const lac_banded *band, lac_form form, const lac_array *ab,
                          const lac_array *x, lac_array *y) {
  cuda_band a = band_of(band, form);
  cuda_batch batch = cuda_batch_of(ab, x, y, CORE, core_size(ab), core_size(x));
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cuda_launch_banded_mm(ctx->stream, y->meta.dtype, &a, last_size(y), &batch, ab->storage->data,
                                            x->storage->data, y->storage->data);
  return cuda_end(ctx, scope, error, "banded_mm");
}

lac_status cuda_banded_outer(lac_context *ctx, const lac_banded *band, const lac_array *u, const lac_array *v,
                             lac_array *s) {
  cuda_band a = band_of(band, LAC_PLAIN);
  cuda_batch batch = cuda_batch_of(u, v, s, CORE, core_size(u), core_size(v));
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cuda_launch_banded_outer(ctx->stream, s->meta.dtype, &a, last_size(u), &batch, u->storage->data,
                                               v->storage->data, s->storage->data);
  return cuda_end(ctx, scope, error, "banded_outer");
}

lac_status cuda_banded_gemm(lac_context *ctx, const lac_banded *band, const lac_banded *bx, lac_form sx,
                            const lac_banded *by, lac_form sy, const lac_array *x, const lac_array *y, lac_array *t) {
  cuda_band a = band_of(band, LAC_PLAIN), left = band_of(bx, sx), right = band_of(by, sy);
  cuda_batch batch = cuda_batch_of(x, y, t, CORE, core_size(x), core_size(y));
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cuda_launch_banded_gemm(ctx->stream, t->meta.dtype, &a, &left, &right, &batch, x->storage->data,
                                              y->storage->data, t->storage->data);
  return cuda_end(ctx, scope, error, "banded_gemm");
}
