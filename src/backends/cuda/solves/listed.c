// SPDX-License-Identifier: Apache-2.0
/// @file listed.c
/// The lists of an elimination where kernels read them.

#include "backends/cuda/backend.h"
#include "backends/cuda/solves/solves.h"

_Static_assert((int)CUDA_LISTED_AHEAD == (int)LAC_LISTED_AHEAD, "a kernel reads ahead what lists have");
_Static_assert((int)CUDA_LISTED_THREADS == LAC_LANES * LAC_LISTED_WARPS, "a block has the warps of a list");

/// Integers of 32 bits.
static lac_status listed_integers(lac_context *ctx, const lac_buffer *buffer, const int **out) {
  lac_status status = LAC_OK;
  const void *data = NULL;

  LAC_TRY(lac_buffer_on(ctx, buffer, &data));
  *out = data;
done:
  return status;
}

static lac_status listed_work(lac_context *ctx, const lac_worklist *w, cuda_worklist *out) {
  lac_status status = LAC_OK;

  *out = (cuda_worklist){.warps = w->warps, .levels = (int)w->levels, .is_narrow = w->pairs->type == LAC_I32};
  LAC_TRY(listed_integers(ctx, w->first, &out->first));
  LAC_TRY(listed_integers(ctx, w->heads, &out->heads));
  LAC_TRY(lac_buffer_on(ctx, w->tasks, &out->tasks));
  LAC_TRY(lac_buffer_on(ctx, w->pairs, &out->pairs));
done:
  return status;
}

static lac_status listed_begin(lac_context *ctx, const lac_listed_lu *list, cuda_listed_job *job) {
  lac_status status = LAC_OK;

  job->n = (int)list->n, job->entries = (int)list->entries;
  LAC_TRY(listed_integers(ctx, list->source, &job->source));
  LAC_TRY(listed_integers(ctx, list->diagonal, &job->diagonal));
  LAC_TRY(listed_integers(ctx, list->steps, &job->steps));
done:
  return status;
}

/// The most shared memory that a block may have.
static size_t listed_most(lac_context *ctx) {
  int device = 0, most = CUDA_LISTED_PLAIN;
  (void)ctx;
  if (cudaGetDevice(&device) != cudaSuccess) return CUDA_LISTED_PLAIN;
  if (cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    return CUDA_LISTED_PLAIN;
  return (size_t)most - 1024;  // the kernel has some of its own
}

lac_status cuda_listed_lu(lac_context *ctx, const lac_listed_lu *list, const lac_array *a, lac_array *lu,
                          lac_array *share) {
  lac_status status = LAC_OK;
  int64_t items = share->count;
  cuda_listed_job job = {.threads = LAC_LANES * list->factor.warps,
                         .nnz = items ? a->count / items : 0,
                         .a = a->storage->data,
                         .out = lu->storage->data,
                         .share = share->storage->data};
  cuda_scope scope;

  if (items == 0 || list->n == 0) goto done;
  LAC_TRY(listed_begin(ctx, list, &job));
  LAC_TRY(listed_work(ctx, &list->factor, &job.first));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_listed_factor(ctx->stream, a->meta.dtype, items, listed_most(ctx), &job),
                   "listed_lu"));
done:
  return status;
}

lac_status cuda_listed_solve(lac_context *ctx, const lac_listed_lu *list, lac_form form, const lac_array *lu,
                             const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const lac_worklist *ways = list->solve[lac_form_transposes(form)];
  const int core[] = {1, 2, 2};
  cuda_listed_job job = {.conj = lac_form_conjugates(form) && lac_dtype_is_complex(x->meta.dtype),
                         .k = x->meta.shape[x->meta.ndim - 1],
                         .a = lu->storage->data,
                         .b = b->storage->data,
                         .out = x->storage->data};
  cuda_scope scope;

  if (x->count == 0) goto done;
  job.threads = LAC_LANES * (ways[0].warps > ways[1].warps ? ways[0].warps : ways[1].warps);
  job.batch = cuda_batch_of(lu, x, x, core, list->entries + 1, 1);
  LAC_TRY(listed_begin(ctx, list, &job));
  LAC_TRY(listed_work(ctx, &ways[0], &job.first));
  LAC_TRY(listed_work(ctx, &ways[1], &job.second));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_listed_solve(ctx->stream, x->meta.dtype, job.batch.kept.count, &job),
                   "listed_solve"));
done:
  return status;
}
