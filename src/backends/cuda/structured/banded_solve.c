// SPDX-License-Identifier: Apache-2.0
/// @file banded_solve.c
/// op(A) x = b for a banded A, pivoted; the column without a pivot is found by the kernels, and named when the
/// context next looks (fault.c).

#include "backends/cuda/backend.h"
#include "backends/cuda/structured/structured.h"

static lac_status banded_say_column(lac_context *ctx, const char *who, const lac_value_fault *f) {
  lac_status status = LAC_OK;

  LAC_CHECK(f->items > 1, LAC_ERR_SINGULAR,
            "%s: no pivot other than zero is left in column %lld; the matrix is singular", who, (long long)f->place);
  LAC_FAIL(LAC_ERR_SINGULAR,
           "%s: no pivot other than zero is left in column %lld of item %lld of the batch; the matrix is singular", who,
           (long long)f->place, (long long)f->item);
done:
  return status;
}

/// The kernels for three diagonals, or for any band; the memory is let go by the caller.
static lac_status solve_start(lac_context *ctx, cuda_banded_solve_job *job, cuda_scratch *memory) {
  lac_status status = LAC_OK;
  bool is_three = job->lower == 1 && job->upper == 1;
  size_t bytes = is_three ? cuda_tridiagonal_scratch(job) : cuda_banded_solve_scratch(job);
  cudaError_t error = cudaSuccess;
  cuda_scope scope;
  char *rest;

  LAC_TRY(cuda_scratch_take(ctx, "banded_solve", bytes + 16, memory));  // the fault and what keeps the rest aligned
  job->fault = memory->data;
  rest = (char *)memory->data + 16;
  scope = cuda_begin(ctx);
  error = is_three ? cuda_launch_tridiagonal(ctx->stream, job, rest) : cuda_launch_banded_solve(ctx->stream, job, rest);
  LAC_TRY(cuda_end(ctx, scope, error, "banded_solve"));
done:
  return status;
}

lac_status cuda_banded_solve(lac_context *ctx, const lac_banded *band, lac_form form, const lac_array *ab,
                             const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const int core[] = {2, 2, 2};
  const lac_late late = {banded_say_column, "banded_solve", NULL};
  bool transposed = lac_form_transposes(form);
  int64_t n = band->cols, k = b->meta.shape[b->meta.ndim - 1], most = n > 0 ? n - 1 : 0;
  int64_t lower = transposed ? band->upper : band->lower, upper = transposed ? band->lower : band->upper;
  cuda_banded_solve_job job = {
      .dtype = x->meta.dtype,
      .band = {band->lower, band->upper, n, n, transposed, lac_form_conjugates(form)},
      .lower = lower < most ? lower : most,
      .upper = upper < most ? upper : most,
      .k = k,
      .batch = cuda_batch_of(ab, b, x, core, (band->lower + band->upper + 1) * n, n * k),
      .ab = ab->storage->data,
      .b = b->storage->data,
      .x = x->storage->data,
  };
  cuda_scratch memory = {NULL, 0};
  cuda_found found;

  if (x->count == 0) return LAC_OK;
  LAC_TRY(solve_start(ctx, &job, &memory));
  found = (cuda_found){.first = job.fault, .size = n, .items = job.batch.kept.count};
  LAC_TRY(cuda_watch(ctx, &late, &found, x));
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}
