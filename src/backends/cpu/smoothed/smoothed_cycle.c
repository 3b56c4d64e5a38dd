// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_cycle.c
/// The steps of a multigrid cycle on compressed rows, and the way of vectors between two precisions.

#include "backends/cpu/smoothed/smoothed_blocks.h"

/// lac_sweep in memory.
typedef struct step_sweep {
  const void *b, *x, *old, *s;
  double beta, omega;
  bool bare, conjugates;
} step_sweep;

typedef struct step_job {
  const cpu_sparse *a;
  const void *values;
  int64_t k;
  const step_sweep *step;
  void *out;
} step_job;

typedef struct multiply_job {
  const cpu_sparse *a;
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

static const void *step_data(const lac_array *x) { return x ? cpu_data(x) : NULL; }

lac_status cpu_smoothed_step(lac_context *ctx, const lac_rows *rows, const lac_array *values, const lac_sweep *given,
                             lac_array *out) {
  if (cpu_has_blocks(values)) return cpu_block_step(ctx, rows, values, given, out);
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t k = out->meta.shape[out->meta.ndim - 1];
  step_sweep step = {step_data(given->b), step_data(given->x), step_data(given->old), step_data(given->s),
                     given->beta,         given->omega,        given->bare,           given->conjugates};
  step_job job = {&a, cpu_data(values), k, &step, cpu_edit(out)};
  cpu_smoothed_split(ctx, &a, step.x ? a.nnz * k : a.rows * k, step_rows[out->meta.dtype][a.width], &job);
  return LAC_OK;
}

lac_status cpu_smoothed_multiply(lac_context *ctx, const lac_rows *rows, const lac_array *values, bool adds,
                                 const lac_array *x, lac_array *y) {
  if (cpu_has_blocks(values)) return cpu_block_multiply(ctx, rows, values, adds, x, y);
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t k = y->meta.shape[y->meta.ndim - 1];
  multiply_job job = {&a, cpu_data(values), k, adds, cpu_data(x), cpu_edit(y)};
  cpu_smoothed_split(ctx, &a, a.nnz * k, multiply_rows[y->meta.dtype][a.width], &job);
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

static void convert(lac_context *ctx, const lac_array *factor, const lac_array *x, lac_array *y, cpu_part part) {
  int64_t k = factor->count;
  convert_job job = {k, cpu_data(factor), cpu_data(x), cpu_edit(y)};
  cpu_split(cpu_threads(ctx, x->count), k ? x->count / k : 0, 64, part, &job);
}

lac_status cpu_smoothed_narrow(lac_context *ctx, const lac_array *factor, const lac_array *x, lac_array *y) {
  return convert(ctx, factor, x, y, narrow_part[y->meta.dtype]), LAC_OK;
}

lac_status cpu_smoothed_widen(lac_context *ctx, const lac_array *factor, const lac_array *x, lac_array *y) {
  return convert(ctx, factor, x, y, widen_part[x->meta.dtype]), LAC_OK;
}

lac_status cpu_smoothed_largest(lac_context *ctx, const lac_array *x, lac_array *found) {
  lac_status status = LAC_OK;
  int64_t k = found->count, count = k ? x->count / k : 0, blocks = (count + LARGEST_BLOCK - 1) / LARGEST_BLOCK;
  largest_job job = {count, k, cpu_data(x), NULL};
  double *largest = cpu_edit(found);

  LAC_ALLOC(job.largest, blocks * k);
  cpu_split(cpu_threads(ctx, x->count), blocks, 1, largest_part[x->meta.dtype], &job);
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
