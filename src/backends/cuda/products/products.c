// SPDX-License-Identifier: Apache-2.0
/// @file products.c
/// Products on the device: op(A) x, u v^H on a pattern, both with blocks too, op(X) op(Y) on a pattern.

#include "backends/cuda/backend.h"
#include "backends/cuda/products/products.h"

static int64_t last_size(const lac_array *x) { return x->meta.shape[x->meta.ndim - 1]; }

/// Numbers in the last two axes.
static int64_t core_size(const lac_array *x) { return x->meta.shape[x->meta.ndim - 2] * last_size(x); }

// -- op(A) x ---------------------------------------------------------------------------------------------------------

/// Rows from which on the order in which they are taken up is worth a look at the pattern.
enum { MANY_ROWS = 1 << 16 };

/// How far the rows of a pattern reach (stride.cu): looked for once and kept with the pattern.
typedef struct kept_stride {
  lac_object object;
  int64_t stride;
} kept_stride;

static void stride_free(lac_object *object) { lac_free(object); }

static const lac_kind stride_kind = {"cuda stride", stride_free};

static lac_status stride_find(lac_context *ctx, const lac_pattern *p, int64_t *stride) {
  lac_status status = LAC_OK;
  cuda_scratch word = {NULL, 0};
  cuda_rows rows;
  cuda_scope scope;

  LAC_TRY(cuda_rows_of(ctx, p, false, &rows));
  LAC_TRY(cuda_scratch_take(ctx, "spmm", sizeof *stride, &word));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_stride(ctx->stream, &rows, word.data), "spmm"));
  LAC_TRY(ctx->backend->download(ctx, stride, word.data, sizeof *stride));
done:
  cuda_scratch_release(ctx, &word);
  return status;
}

/// For what gathers much for an entry: products of several columns, and A^T x. A^T reaches as far as A. 0 where a look
/// would not pay, or cannot be had while the stream is captured.
static lac_status stride_of(lac_context *ctx, const lac_pattern *p, int64_t *out) {
  lac_status status = LAC_OK;
  kept_stride *kept = NULL;

  *out = 0;
  if (p->rows < MANY_ROWS || p->rows != p->cols) goto done;
  kept = (kept_stride *)lac_pattern_find_cached(p, &stride_kind, NULL, NULL);
  if (!kept) {
    if (cuda_is_captured(ctx)) goto done;
    LAC_ALLOC(kept, 1);
    lac_object_init(&kept->object, &stride_kind);
    LAC_TRY(stride_find(ctx, p, &kept->stride));
    LAC_TRY(lac_pattern_add_cached(ctx, p, &kept->object, (int64_t)sizeof *kept));
  }
  *out = kept->stride;
done:
  lac_object_release(kept);
  return status;
}

static lac_status matrix_of(lac_context *ctx, const lac_pattern *p, lac_form form, cuda_matrix *out) {
  lac_status status = LAC_OK;
  bool transposed = lac_form_transposes(form);
  cuda_matrix m = {.conj = lac_form_conjugates(form)};

  LAC_TRY(cuda_rows_of(ctx, p, transposed, &m.rows));
  LAC_TRY(cuda_lengths_of(ctx, transposed ? p->t_offsets : p->offsets, p->nnz, &m.lengths));
  *out = m;
done:
  return status;
}

/// Where the pieces of the rows of A or A^T begin: looked for once and kept with the pattern.
typedef struct kept_starts {
  lac_object object;
  bool transposed;
  int64_t piece;
  lac_buffer *starts;
} kept_starts;

static void starts_free(lac_object *object) {
  lac_object_release(((kept_starts *)object)->starts);
  lac_free(object);
}

static const lac_kind starts_kind = {"cuda starts", starts_free};

static int starts_match(const lac_object *object, const void *key) {
  const kept_starts *kept = (const kept_starts *)object, *wanted = key;
  return kept->transposed == wanted->transposed && kept->piece == wanted->piece;
}

static lac_status starts_find(lac_context *ctx, const cuda_matrix *m, kept_starts *out) {
  lac_status status = LAC_OK;
  void *data = NULL;
  cuda_scope scope;

  LAC_TRY(lac_buffer_create_on(ctx, LAC_I64, cuda_pieces(&m->lengths, out->piece) + 1, &out->starts, &data));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_piece_starts(ctx->stream, &m->lengths, m->rows.offsets, out->piece, data),
                   "spmm"));
  LAC_TRY(ctx->backend->synchronize(ctx));
done:
  return status;
}

/// The starts of uneven rows for a product with one column. NULL where they cannot be had while the stream is captured.
static lac_status starts_of(lac_context *ctx, const lac_pattern *p, bool transposed, int64_t piece, cuda_matrix *m) {
  lac_status status = LAC_OK;
  kept_starts key = {.transposed = transposed, .piece = piece}, *kept = NULL;
  cuda_index starts;

  kept = (kept_starts *)lac_pattern_find_cached(p, &starts_kind, starts_match, &key);
  if (!kept) {
    if (cuda_is_captured(ctx)) goto done;
    LAC_ALLOC(kept, 1);
    lac_object_init(&kept->object, &starts_kind);
    kept->transposed = transposed, kept->piece = piece;
    LAC_TRY(starts_find(ctx, m, kept));
    LAC_TRY(lac_pattern_add_cached(ctx, p, &kept->object, kept->starts->count * (int64_t)sizeof(int64_t)));
  }
  LAC_TRY(cuda_index_of(ctx, kept->starts, &starts));
  m->lengths.starts = starts.data;
done:
  lac_object_release(kept);
  return status;
}

static lac_status spmm_blocks(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a,
                              const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {3, 2, 2};
  bool transposed = lac_form_transposes(form);
  cuda_block block = {transposed ? p->bc : p->br, transposed ? p->br : p->bc, transposed};
  cuda_matrix m = {.conj = lac_form_conjugates(form)};
  cuda_batch batch = cuda_batch_of(a, x, y, core, p->nnz * p->br * p->bc, core_size(x));
  cuda_scope scope;

  LAC_TRY(cuda_rows_of(ctx, p, transposed, &m.rows));
  scope = cuda_begin(ctx);
  error = cuda_launch_block_spmm(ctx->stream, y->meta.dtype, &m, block, &batch, last_size(y), a->storage->data,
                                 x->storage->data, y->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "spmm"));
done:
  return status;
}

static lac_status spmm_numbers(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a,
                               const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {1, 2, 2};
  int64_t k = last_size(y);
  lac_dtype dtype = y->meta.dtype;
  cuda_batch batch = cuda_batch_of(a, x, y, core, p->nnz, core_size(x));
  cuda_scratch scratch = {NULL, 0};
  cuda_matrix m;
  size_t bytes;
  cuda_scope scope;

  LAC_TRY(matrix_of(ctx, p, form, &m));
  if (k > 1 || m.rows.slots.data) LAC_TRY(stride_of(ctx, p, &m.lengths.stride));
  if (k == 1 && cuda_lengths_are_uneven(&m.lengths, batch.kept.count))
    LAC_TRY(starts_of(ctx, p, lac_form_transposes(form), cuda_piece(lac_dtype_size(dtype)), &m));
  bytes = k == 1 ? cuda_spmv_scratch(dtype, &m, batch.kept.count) : cuda_spmm_scratch(dtype, &m, batch.kept.count, k);
  if (bytes) LAC_TRY(cuda_scratch_take(ctx, "spmm", bytes, &scratch));
  scope = cuda_begin(ctx);
  if (k == 1) {
    error = cuda_launch_spmv(ctx->stream, dtype, &m, &batch, a->storage->data, x->storage->data, scratch.data,
                             y->storage->data);
  } else {
    error = cuda_launch_spmm(ctx->stream, dtype, &m, &batch, k, a->storage->data, x->storage->data, scratch.data,
                             y->storage->data);
  }
  LAC_TRY(cuda_end(ctx, scope, error, "spmm"));
done:
  cuda_scratch_release(ctx, &scratch);
  return status;
}

lac_status cuda_spmm(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a, const lac_array *x,
                     lac_array *y) {
  if (y->count == 0) return LAC_OK;
  return (lac_pattern_has_blocks(p) ? spmm_blocks : spmm_numbers)(ctx, p, form, a, x, y);
}

// -- on a pattern ----------------------------------------------------------------------------------------------------

/// The row and the column of each slot.
static lac_status slots_of(lac_context *ctx, const lac_pattern *p, cuda_index *rows_of, cuda_index *columns) {
  lac_status status = LAC_OK;
  const lac_buffer *rows = NULL;

  LAC_TRY(lac_pattern_rows_of(ctx, p, &rows));
  LAC_TRY(cuda_index_of(ctx, rows, rows_of));
  LAC_TRY(cuda_index_of(ctx, p->columns, columns));
done:
  return status;
}

static lac_status sddmm_blocks(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v,
                               lac_array *s) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {2, 2, 3};
  cuda_block block = {p->br, p->bc, 0};
  cuda_batch batch = cuda_batch_of(u, v, s, core, core_size(u), core_size(v));
  cuda_index rows_of, columns;
  cuda_scope scope;

  LAC_TRY(slots_of(ctx, p, &rows_of, &columns));
  scope = cuda_begin(ctx);
  error = cuda_launch_block_sddmm(ctx->stream, s->meta.dtype, p->nnz, rows_of, columns, block, &batch, last_size(u),
                                  u->storage->data, v->storage->data, s->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "sddmm"));
done:
  return status;
}

static lac_status sddmm_numbers(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v,
                                lac_array *s) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {2, 2, 1};
  cuda_batch batch = cuda_batch_of(u, v, s, core, core_size(u), core_size(v));
  int64_t k = last_size(u);
  cuda_index rows_of, columns;
  cuda_matrix m;
  cuda_scope scope;

  LAC_TRY(matrix_of(ctx, p, LAC_PLAIN, &m));
  if (k > 1) LAC_TRY(stride_of(ctx, p, &m.lengths.stride));
  LAC_TRY(slots_of(ctx, p, &rows_of, &columns));
  scope = cuda_begin(ctx);
  error = cuda_launch_sddmm(ctx->stream, s->meta.dtype, &m, rows_of, &batch, k, u->storage->data, v->storage->data,
                            s->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "sddmm"));
done:
  return status;
}

lac_status cuda_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v, lac_array *s) {
  if (s->count == 0) return LAC_OK;
  return (lac_pattern_has_blocks(p) ? sddmm_blocks : sddmm_numbers)(ctx, p, u, v, s);
}

/// Rows by which a product at the slots of a pattern is worth while: so many slots of a row on average, and so many
/// products.
enum { SHORT_TARGET = 14, FEW_PRODUCTS = 128 };

/// The rows of op(A), and whether they are of about one length.
static lac_status even_rows(lac_context *ctx, const lac_pattern *p, lac_form form, cuda_matrix *out, bool *are_even) {
  lac_status status = LAC_OK;
  LAC_TRY(matrix_of(ctx, p, form, out));
  *are_even = *are_even && !cuda_lengths_are_uneven(&out->lengths, 1);
done:
  return status;
}

/// Whether all rows are short; *job is what there is to do. The rows of Y must be there: if op turns Y round, those of
/// its transpose are.
static lac_status sampled_by_rows(lac_context *ctx, const lac_pattern *target, const lac_pattern *px, lac_form sx,
                                  const lac_pattern *py, lac_form sy, cuda_sampled_rows *job, bool *is_it) {
  lac_status status = LAC_OK;
  cuda_matrix t, left, right;

  *is_it = !lac_form_transposes(sy);
  if (!*is_it) goto done;
  LAC_TRY(even_rows(ctx, target, LAC_PLAIN, &t, is_it));
  LAC_TRY(even_rows(ctx, px, sx, &left, is_it));
  LAC_TRY(even_rows(ctx, py, sy, &right, is_it));
  *is_it = *is_it && cuda_mean_length(&t.lengths) <= SHORT_TARGET &&
           (cuda_mean_length(&left.lengths) + 1) * (cuda_mean_length(&right.lengths) + 1) <= FEW_PRODUCTS;
  job->target = t.rows, job->left = left.rows, job->right = right.rows;
done:
  return status;
}

static lac_status sampled_by_slots(lac_context *ctx, const lac_pattern *target, const lac_pattern *px, lac_form sx,
                                   const lac_pattern *py, lac_form sy, int conj, const cuda_batch *batch,
                                   const lac_array *x, const lac_array *y, lac_array *t) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_index rows_of, columns;
  cuda_rows left, right_t;
  cuda_scope scope;

  LAC_TRY(slots_of(ctx, target, &rows_of, &columns));
  LAC_TRY(cuda_rows_of(ctx, px, lac_form_transposes(sx), &left));
  LAC_TRY(cuda_rows_of(ctx, py, !lac_form_transposes(sy), &right_t));
  scope = cuda_begin(ctx);
  error = cuda_launch_sampled(ctx->stream, t->meta.dtype, target->nnz, rows_of, columns, &left, &right_t, conj, batch,
                              x->storage->data, y->storage->data, t->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "sampled_spgemm"));
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
  cuda_sampled_rows job = {.conj = conj};
  bool by_rows = false;
  cuda_batch batch;
  cuda_scope scope;

  if (t->count == 0) return LAC_OK;
  batch = cuda_batch_of(x, y, t, core, px->nnz, py->nnz);
  if (batch.summed.count == 1) LAC_TRY(sampled_by_rows(ctx, target, px, sx, py, sy, &job, &by_rows));
  if (!by_rows) return sampled_by_slots(ctx, target, px, sx, py, sy, conj, &batch, x, y, t);
  job.items = batch.kept;
  scope = cuda_begin(ctx);
  error =
      cuda_launch_sampled_rows(ctx->stream, t->meta.dtype, &job, x->storage->data, y->storage->data, t->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "sampled_spgemm"));
done:
  return status;
}

// -- sliced ELL ------------------------------------------------------------------------------------------------------

lac_status cuda_sell_mm(lac_context *ctx, const lac_format *f, const lac_array *a, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {1, 2, 2};
  const lac_buffer *offsets = f->arrays[LAC_FORMAT_OFFSETS];
  cuda_sell sell = {.rows = f->pattern->rows, .width = f->width, .slices = offsets->count - 1};
  cuda_batch batch;
  cuda_scope scope;

  if (y->count == 0) return LAC_OK;
  LAC_TRY(cuda_index_of(ctx, offsets, &sell.offsets));
  LAC_TRY(cuda_index_of(ctx, f->arrays[LAC_FORMAT_COLUMNS], &sell.columns));
  LAC_TRY(cuda_index_of(ctx, f->in_order ? NULL : f->arrays[LAC_FORMAT_ROWS], &sell.rows_of));
  batch = cuda_batch_of(a, x, y, core, f->size, core_size(x));
  scope = cuda_begin(ctx);
  error = cuda_launch_sell_mm(ctx->stream, y->meta.dtype, &sell, &batch, last_size(y), a->storage->data,
                              x->storage->data, y->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "sell_mm"));
done:
  return status;
}
