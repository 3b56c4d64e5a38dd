// SPDX-License-Identifier: Apache-2.0
/// @file trisolve.c
/// op(T) x = b, T lower or upper triangular.
///
///     chains and narrow bands    by a scan (narrow.cu), where there would be a level for almost every row
///     other triangles            by levels (trisolve.cu), kept with the pattern
///
/// A zero on the diagonal is found by the kernels, and named when the context next looks (fault.c).

#include "backends/cuda/solves/levels.h"
#include "backends/cuda/solves/solves.h"
#include "kernels/triangle.h"

enum { NARROW_LEVELS = 64 };  // fewer levels cost less than the kernels of a scan

static lac_status trisolve_say_zero(lac_context *ctx, const char *who, const lac_value_fault *f) {
  lac_status status = LAC_OK;

  LAC_CHECK(f->items == 1, LAC_ERR_SINGULAR, "%s: the diagonal entry of row %lld is zero in item %lld of the batch",
            who, (long long)f->place, (long long)f->item);
  LAC_FAIL(LAC_ERR_SINGULAR, "%s: the diagonal entry of row %lld is zero; the matrix is singular", who,
           (long long)f->place);
done:
  return status;
}

/// How far rows reach from the diagonal.
static int64_t reach_of(const lac_band *band) {
  if (band->low > band->high) return 0;
  return -band->low > band->high ? -band->low : band->high;
}

/// Start the kernels; the memory of job->words is taken here and let go by the caller.
static lac_status solve_start(lac_context *ctx, const lac_band *band, const cuda_levels *levels, cuda_trisolve_job *job,
                              cuda_scratch *memory) {
  lac_status status = LAC_OK;
  int64_t reach = reach_of(band);
  bool is_narrow = reach <= CUDA_NARROW && levels->count >= NARROW_LEVELS;
  cudaError_t error = cudaSuccess;
  cuda_index order;
  cuda_scope scope;

  LAC_TRY(cuda_index_of(ctx, levels->order, &order));
  LAC_TRY(
      cuda_scratch_take(ctx, "trisolve", is_narrow ? cuda_narrow_bytes(job, (int)reach) : sizeof *job->words, memory));
  job->words = memory->data;
  scope = cuda_begin(ctx);
  error = is_narrow ? cuda_launch_trisolve_narrow(ctx->stream, job, (int)reach)
                    : cuda_launch_trisolve(ctx->stream, job, order, levels->count);
  LAC_TRY(cuda_end(ctx, scope, error, "trisolve"));
done:
  return status;
}

lac_status cuda_trisolve(lac_context *ctx, const lac_pattern *p, lac_triangle triangle, lac_diagonal diagonal,
                         lac_form form, const lac_array *a, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const int core[] = {1, 2, 2};
  const lac_late late = {trisolve_say_zero, "trisolve", NULL};
  bool transposed = lac_form_transposes(form);
  int64_t k = b->meta.shape[b->meta.ndim - 1];
  cuda_trisolve_job job = {.dtype = x->meta.dtype,
                           .k = k,
                           .is_lower = (triangle == LAC_TRIANGLE_LOWER) != transposed,
                           .is_unit = diagonal == LAC_DIAGONAL_UNIT,
                           .conj = lac_form_conjugates(form),
                           .a = a->storage->data,
                           .b = b->storage->data,
                           .x = x->storage->data};
  const lac_band *band = NULL;
  cuda_levels *levels = NULL;
  cuda_scratch memory = {NULL, 0};
  cuda_found found;

  if (x->count == 0) return LAC_OK;
  LAC_TRY(lac_pattern_band(ctx, p, &band));
  if (!job.is_unit) LAC_TRY(lac_triangle_require_diagonal(ctx, band, triangle));
  LAC_TRY(cuda_rows_of(ctx, p, transposed, &job.rows));
  LAC_TRY(cuda_levels_get(ctx, p, transposed, job.is_lower, &levels));
  job.batch = cuda_batch_of(a, b, x, core, p->nnz, p->rows * k);
  LAC_TRY(solve_start(ctx, band, levels, &job, &memory));
  if (!job.is_unit) {
    found = (cuda_found){.first = &job.words->fault, .size = p->rows, .items = a->count / p->nnz};
    LAC_TRY(cuda_watch(ctx, &late, &found, x));
  }
done:
  cuda_scratch_release(ctx, &memory);
  lac_object_release(levels);
  return status;
}
