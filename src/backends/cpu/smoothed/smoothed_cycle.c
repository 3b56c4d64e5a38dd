// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_cycle.c
/// The steps of a multigrid cycle on compressed rows, and the way of vectors between two precisions.

#include "backends/cpu/smoothed/smoothed.h"

typedef struct step_job {
  const lac_sparse *a;
  const void *values;
  int64_t k;
  const lac_sweep *step;
  void *out;
} step_job;

typedef struct multiply_job {
  const lac_sparse *a;
  const void *values;
  int64_t k;
  bool adds;
  const void *x;
  void *y;
} multiply_job;

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_cycle_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"
#undef KERNEL_FILE

static const cpu_part step_rows[4][4] = TABLE_INDEXED(step_rows);
static const cpu_part multiply_rows[4][4] = TABLE_INDEXED(multiply_rows);

lac_status cpu_smoothed_step(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values, int64_t k,
                             const lac_sweep *step, void *out) {
  step_job job = {a, values, k, step, out};
  cpu_smoothed_split(ctx, a, step->x ? a->nnz * k : a->rows * k, step_rows[dtype][a->width], &job);
  return LAC_OK;
}

lac_status cpu_smoothed_multiply(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values, int64_t k,
                                 bool adds, const void *x, void *y) {
  multiply_job job = {a, values, k, adds, x, y};
  cpu_smoothed_split(ctx, a, a->nnz * k, multiply_rows[dtype][a->width], &job);
  return LAC_OK;
}

// -- precisions ------------------------------------------------------------------------------------------------------

typedef struct convert_job {
  int64_t k;
  const double *factor;
  const void *x;
  void *y;
} convert_job;

typedef struct largest_job {
  int64_t count, k;
  const void *x;
  double *largest;  // of each block and column
} largest_job;

enum { LARGEST_BLOCK = 1 << 15 };

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_convert_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE

static const cpu_part narrow_part[4] = TABLE(narrow_part);
static const cpu_part widen_part[4] = TABLE(widen_part);
static const cpu_part largest_part[4] = TABLE(largest_part);

lac_status cpu_smoothed_narrow(lac_context *ctx, lac_dtype dtype, int64_t count, int64_t k, const double *factor,
                               const void *x, void *y) {
  convert_job job = {k, factor, x, y};
  cpu_split(cpu_threads(ctx, count * k), count, 64, narrow_part[dtype], &job);
  return LAC_OK;
}

lac_status cpu_smoothed_widen(lac_context *ctx, lac_dtype dtype, int64_t count, int64_t k, const double *factor,
                              const void *x, void *y) {
  convert_job job = {k, factor, x, y};
  cpu_split(cpu_threads(ctx, count * k), count, 64, widen_part[dtype], &job);
  return LAC_OK;
}

lac_status cpu_smoothed_largest(lac_context *ctx, lac_dtype dtype, int64_t count, int64_t k, const void *x,
                                double *largest) {
  lac_status status = LAC_OK;
  int64_t blocks = (count + LARGEST_BLOCK - 1) / LARGEST_BLOCK;
  largest_job job = {count, k, x, NULL};

  LAC_ALLOC(job.largest, blocks * k);
  cpu_split(cpu_threads(ctx, count * k), blocks, 1, largest_part[dtype], &job);
  for (int64_t j = 0; j < k; ++j) largest[j] = 0;
  for (int64_t b = 0; b < blocks * k; ++b) {
    double *most = &largest[b % k];
    if (!(job.largest[b] <= *most)) *most = job.largest[b];  // a NaN stays
  }
done:
  lac_free(job.largest);
  return status;
}

const lac_smoothed_kernels cpu_smoothed_kernels = {
#define LAC_KERNEL(slot, parameters) .slot = cpu_smoothed_##slot,
#include "kernels/smoothed.def"
#undef LAC_KERNEL
};
