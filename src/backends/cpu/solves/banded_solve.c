// SPDX-License-Identifier: Apache-2.0
/// @file banded_solve.c
/// op(A) x = b for a banded A: elimination with partial pivoting (core/numbers/band_lu.h), the right-hand sides along
/// with it.
///
/// op(A) is copied out transposed and conjugated, so that there is one elimination. A tridiagonal matrix has three
/// arrays of its own. Threads share the items of a batch.

#include <stdatomic.h>

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"
#include "core/numbers/band_lu.h"

typedef struct band_solve_job {
  int64_t n, k, lower, upper;  // of op(A)
  int64_t stored_upper;        // of A
  int64_t stored;              // numbers in one band
  bool transposed;
  double sign;  // -1 conjugates the values
  const void *ab, *b;
  void *x;
  lac_batch batch;
  _Atomic int64_t *failed;  // the first item without a pivot; else INT64_MAX
  atomic_bool *out_of_memory;
} band_solve_job;

/// Remember the first item that failed.
static void band_solve_failed(const band_solve_job *job, int64_t item) {
  int64_t first = atomic_load(job->failed);
  while (item < first && !atomic_compare_exchange_weak(job->failed, &first, item)) {
  }
}

#define KERNEL_FILE "backends/cpu/solves/banded_solve_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part solve_bands[4] = TABLE(solve_bands);
typedef int64_t (*column_finder)(const band_solve_job *job, int64_t item, void *work);
static const column_finder solve_item[4] = TABLE(solve_item);
typedef size_t (*work_sizer)(const band_solve_job *job);
static const work_sizer work_bytes[4] = TABLE(work_bytes);

/// Solve the item that failed once more to learn where.
static lac_status name_column(lac_context *ctx, const band_solve_job *job, lac_dtype dtype, int64_t item) {
  lac_status status = LAC_OK;
  char *work = NULL;
  int64_t column;

  LAC_ALLOC(work, work_bytes[dtype](job));
  column = solve_item[dtype](job, item, work);
  LAC_CHECK(job->batch.count > 1, LAC_ERR_SINGULAR,
            "banded_solve: no pivot other than zero is left in column %lld; the matrix is singular", (long long)column);
  LAC_FAIL(
      LAC_ERR_SINGULAR,
      "banded_solve: no pivot other than zero is left in column %lld of item %lld of the batch; the matrix is singular",
      (long long)column, (long long)item);
done:
  lac_free(work);
  return status;
}

lac_status cpu_banded_solve(lac_context *ctx, const lac_banded *band, lac_form form, const lac_array *ab,
                            const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  bool transposed = lac_form_transposes(form);
  int64_t n = band->cols, most = n > 0 ? n - 1 : 0;
  int64_t lower = transposed ? band->upper : band->lower, upper = transposed ? band->lower : band->upper;
  const lac_meta *metas[] = {&ab->meta, &b->meta, &x->meta};
  lac_dtype dtype = x->meta.dtype;
  _Atomic int64_t failed = INT64_MAX;
  atomic_bool out_of_memory = false;
  band_solve_job job = {.n = n,
                        .k = b->meta.shape[b->meta.ndim - 1],
                        .lower = lower < most ? lower : most,
                        .upper = upper < most ? upper : most,
                        .stored_upper = band->upper,
                        .stored = (band->lower + band->upper + 1) * n,
                        .transposed = transposed,
                        .sign = lac_form_conjugates(form) ? -1 : 1,
                        .ab = cpu_data(ab),
                        .b = cpu_data(b),
                        .x = cpu_edit(x),
                        .failed = &failed,
                        .out_of_memory = &out_of_memory};

  if (x->count == 0) return LAC_OK;
  lac_batch_init(&job.batch, 3, metas, (const int[]){2, 2, 2});
  cpu_split(cpu_threads(ctx, job.batch.count * (job.stored + n * job.k) * (job.lower + 1)), job.batch.count, 1,
            solve_bands[dtype], &job);
  LAC_CHECK(!atomic_load(&out_of_memory), LAC_ERR_MEMORY, "banded_solve: out of memory for a copy of the band");
  if (atomic_load(&failed) != INT64_MAX) LAC_TRY(name_column(ctx, &job, dtype, atomic_load(&failed)));
done:
  return status;
}
