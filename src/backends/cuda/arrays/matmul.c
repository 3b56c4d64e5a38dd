// SPDX-License-Identifier: Apache-2.0
/// @file matmul.c
/// Z = op(X) op(Y), dense: by cuBLAS where there is one and the product is large, else by kernels of our own.
///
/// Which of them a product is for, its shape and forms say. Both sum in one order: the same bits in every run.

#include "backends/cuda/arrays/cublas.h"
#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/backend.h"

enum {
  MATMUL_LARGE = 1 << 20,  // products of numbers that are worth a call of cuBLAS
  MATMUL_CALLS = 64        // of cuBLAS in one product: where it needs more, one launch is faster
};

/// A product on its way: stacks of matrices that are one large matrix have been joined.
typedef struct matmul_job {
  lac_form form_x, form_y;
  int64_t m, l, n;
  int64_t x_cols, y_cols;  // of X and Y as they are stored
  cuda_batch batch;
  const void *x, *y;
  void *z;
  lac_dtype dtype;
} matmul_job;

static matmul_job matmul_of(lac_form form_x, const lac_array *x, lac_form form_y, const lac_array *y, lac_array *z) {
  const int core[] = {2, 2, 2};
  const int64_t *shape_x = x->meta.shape + x->meta.ndim - 2, *shape_z = z->meta.shape + z->meta.ndim - 2;
  matmul_job job = {.form_x = form_x, .form_y = form_y, .m = shape_z[0], .n = shape_z[1], .dtype = z->meta.dtype};

  if (!lac_dtype_is_complex(job.dtype)) job.form_x &= LAC_TRANSPOSED, job.form_y &= LAC_TRANSPOSED;
  job.l = shape_x[lac_form_transposes(form_x) ? 0 : 1];
  job.x_cols = shape_x[1], job.y_cols = y->meta.shape[y->meta.ndim - 1];
  job.x = x->storage->data, job.y = y->storage->data, job.z = z->storage->data;
  job.batch = cuda_batch_of(x, y, z, core, job.m * job.l, job.l * job.n);
  return job;
}

/// Products of a stack of plain X with one Y are one product: the stack is one X of more rows. And a sum over stacks of
/// transposed X and of plain Y is one product with a longer sum.
static void matmul_join(matmul_job *job) {
  cuda_axes *kept = &job->batch.kept, *summed = &job->batch.summed;
  if (kept->ndim == 1 && kept->stride[0][0] == job->m * job->l && kept->stride[1][0] == 0 &&
      !lac_form_transposes(job->form_x)) {
    job->m *= kept->count;
    *kept = (cuda_axes){.count = 1};
  }
  if (summed->ndim == 1 && summed->stride[0][0] == job->m * job->l && summed->stride[1][0] == job->l * job->n &&
      lac_form_transposes(job->form_x) && !lac_form_transposes(job->form_y)) {
    job->l *= summed->count;
    *summed = (cuda_axes){.count = 1};
  }
}

// -- kernels of our own ----------------------------------------------------------------------------------------------

static cuda_matmul_job matmul_layout(const matmul_job *job) {
  bool tx = lac_form_transposes(job->form_x), ty = lac_form_transposes(job->form_y);
  return (cuda_matmul_job){.m = job->m,
                           .l = job->l,
                           .n = job->n,
                           .x_row = tx ? 1 : job->x_cols,
                           .x_col = tx ? job->x_cols : 1,
                           .y_row = ty ? 1 : job->y_cols,
                           .y_col = ty ? job->y_cols : 1,
                           .conj_x = lac_form_conjugates(job->form_x),
                           .conj_y = lac_form_conjugates(job->form_y)};
}

static lac_status matmul_by_kernels(lac_context *ctx, const matmul_job *job) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_scratch parts = {NULL, 0};
  cuda_scope scope;
  cuda_matmul_job layout = matmul_layout(job);
  size_t bytes = cuda_matmul_scratch(job->dtype, &layout, &job->batch);

  if (bytes) LAC_TRY(cuda_scratch_take(ctx, "matmul", bytes, &parts));
  scope = cuda_begin(ctx);
  error = cuda_launch_matmul(ctx->stream, job->dtype, &layout, &job->batch, job->x, job->y, parts.data, job->z);
  LAC_TRY(cuda_end(ctx, scope, error, "matmul"));
done:
  cuda_scratch_release(ctx, &parts);
  return status;
}

// -- cuBLAS ----------------------------------------------------------------------------------------------------------

/// Where the i-th index of all axes but the last `inner` leads.
static void axes_at(const cuda_axes *axes, int inner, int64_t i, int64_t at[2]) {
  for (int d = axes->ndim - 1 - inner; d >= 0; --d) {
    int64_t place = i % axes->shape[d];
    i /= axes->shape[d];
    for (int o = 0; o < 2; ++o) at[o] += place * axes->stride[o][d];
  }
}

/// A call takes the products along the innermost axis of the batch.
static cuda_cublas_job matmul_call(const matmul_job *job) {
  const cuda_axes *kept = &job->batch.kept;
  int last = kept->ndim - 1;
  cuda_cublas_job call = {job->dtype,  job->form_x, job->form_y, job->m, job->l, job->n,
                          job->x_cols, job->y_cols, 1,           0,      0,      false};
  if (last >= 0) {
    call.count = kept->shape[last];
    call.stride_x = kept->stride[0][last], call.stride_y = kept->stride[1][last];
  }
  return call;
}

static lac_status matmul_by_cublas(lac_context *ctx, const matmul_job *job, cuda_cublas_job call) {
  lac_status status = LAC_OK;
  const cuda_axes *kept = &job->batch.kept, *summed = &job->batch.summed;
  int64_t size = (int64_t)lac_dtype_size(job->dtype), of_call = call.count * job->m * job->n;

  for (int64_t outer = 0; outer < kept->count / call.count; ++outer) {
    for (int64_t s = 0; s < summed->count; ++s) {
      int64_t at[2] = {0, 0};
      axes_at(kept, 1, outer, at);
      axes_at(summed, 0, s, at);
      call.adds = s > 0;
      LAC_TRY(cuda_cublas_multiply(ctx, &call, (const char *)job->x + at[0] * size, (const char *)job->y + at[1] * size,
                                   (char *)job->z + outer * of_call * size));
    }
  }
done:
  return status;
}

/// Whether the product is one for cuBLAS, which has no word for conj(A), and cuBLAS is here.
static lac_status matmul_asks_cublas(lac_context *ctx, const matmul_job *job, const cuda_cublas_job *call, bool *out) {
  const cuda_axes *kept = &job->batch.kept, *summed = &job->batch.summed;
  double work = (double)job->m * (double)job->n * (double)job->l * (double)kept->count * (double)summed->count;
  *out = false;
  if (work < MATMUL_LARGE || kept->count / call->count * summed->count > MATMUL_CALLS) return LAC_OK;
  if (job->form_x == LAC_CONJUGATED || job->form_y == LAC_CONJUGATED) return LAC_OK;
  return cuda_cublas_serves(ctx, call, out);
}

static lac_status matmul_run(lac_context *ctx, const matmul_job *job) {
  lac_status status = LAC_OK;
  cuda_cublas_job call = matmul_call(job);
  bool by_cublas = false;

  LAC_TRY(matmul_asks_cublas(ctx, job, &call, &by_cublas));
  if (by_cublas) {
    LAC_TRY(matmul_by_cublas(ctx, job, call));
  } else {
    LAC_TRY(matmul_by_kernels(ctx, job));
  }
done:
  return status;
}

lac_status cuda_matmul(lac_context *ctx, lac_form form_x, const lac_array *x, lac_form form_y, const lac_array *y,
                       lac_array *z) {
  matmul_job job = matmul_of(form_x, x, form_y, y, z);
  if (z->count == 0) return LAC_OK;
  if (job.l == 0 || job.batch.summed.count == 0) return cuda_fill(ctx, z, 0, 0);
  matmul_join(&job);
  return matmul_run(ctx, &job);
}
