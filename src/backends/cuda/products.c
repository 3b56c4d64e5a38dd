// SPDX-License-Identifier: Apache-2.0
/// @file products.c
/// Products on the device: op(A) x, u v^H on a pattern, op(X) op(Y) on a pattern.

#include "backends/cuda/backend.h"

static int64_t last_size(const lac_array *x) { return x->meta.shape[x->meta.ndim - 1]; }

/// Numbers in the last two axes.
static int64_t core_size(const lac_array *x) { return x->meta.shape[x->meta.ndim - 2] * last_size(x); }

static lac_status blocks_refuse(lac_context *ctx, const char *kernel, const lac_pattern *p) {
  if (!lac_pattern_has_blocks(p)) return LAC_OK;
  return lac_context_fail(ctx, LAC_ERR_UNSUPPORTED, kernel,
                          "%s: the backend cuda has no kernel for blocks; lac_pattern_scalar gives a pattern without",
                          kernel);
}

lac_status cuda_spmm(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a, const lac_array *x,
                     lac_array *y) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {1, 2, 2};
  cuda_batch batch;
  cuda_rows rows;
  cuda_scope scope;

  LAC_TRY(blocks_refuse(ctx, "spmm", p));
  if (y->count == 0) return LAC_OK;
  LAC_TRY(cuda_rows_of(ctx, p, lac_form_transposes(form), &rows));
  batch = cuda_batch_of(a, x, y, core, p->nnz, core_size(x));
  scope = cuda_begin(ctx);
  error = cuda_launch_spmm(ctx->stream, y->meta.dtype, &rows, lac_form_conjugates(form), &batch, last_size(y),
                           a->storage->data, x->storage->data, y->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "spmm"));
done:
  return status;
}

lac_status cuda_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v, lac_array *s) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {2, 2, 1};
  const lac_buffer *rows_of = NULL;
  cuda_index on_rows, on_columns;
  cuda_batch batch;
  cuda_scope scope;

  LAC_TRY(blocks_refuse(ctx, "sddmm", p));
  if (s->count == 0) return LAC_OK;
  LAC_TRY(lac_pattern_rows_of(ctx, p, &rows_of));
  LAC_TRY(cuda_index_of(ctx, rows_of, &on_rows));
  LAC_TRY(cuda_index_of(ctx, p->columns, &on_columns));
  batch = cuda_batch_of(u, v, s, core, core_size(u), core_size(v));
  scope = cuda_begin(ctx);
  error = cuda_launch_sddmm(ctx->stream, s->meta.dtype, p->nnz, on_rows, on_columns, &batch, last_size(u),
                            u->storage->data, v->storage->data, s->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "sddmm"));
done:
  return status;
}

lac_status cuda_sampled_spgemm(lac_context *ctx, const lac_pattern *target, const lac_pattern *px, lac_form sx,
                               const lac_pattern *py, lac_form sy, const lac_array *x, const lac_array *y,
                               lac_array *t) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {1, 1, 1};
  int conj = (lac_form_conjugates(sx) ? 1 : 0) | (lac_form_conjugates(sy) ? 2 : 0);
  const lac_buffer *rows_of = NULL;
  cuda_index on_rows, on_columns;
  cuda_rows left, right_t;
  cuda_batch batch;
  cuda_scope scope;

  if (t->count == 0) return LAC_OK;
  LAC_TRY(lac_pattern_rows_of(ctx, target, &rows_of));
  LAC_TRY(cuda_index_of(ctx, rows_of, &on_rows));
  LAC_TRY(cuda_index_of(ctx, target->columns, &on_columns));
  LAC_TRY(cuda_rows_of(ctx, px, lac_form_transposes(sx), &left));
  LAC_TRY(cuda_rows_of(ctx, py, !lac_form_transposes(sy), &right_t));
  batch = cuda_batch_of(x, y, t, core, px->nnz, py->nnz);
  scope = cuda_begin(ctx);
  error = cuda_launch_sampled(ctx->stream, t->meta.dtype, target->nnz, on_rows, on_columns, &left, &right_t, conj,
                              &batch, x->storage->data, y->storage->data, t->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "sampled_spgemm"));
done:
  return status;
}
