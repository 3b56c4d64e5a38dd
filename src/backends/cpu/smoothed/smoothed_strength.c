// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_strength.c
/// What smoothed aggregation asks of the entries of a matrix: which are strong, its diagonal scalings, how large S A is.

#include <math.h>

#include "backends/cpu/smoothed/smoothed.h"
#include "core/search.h"

enum { STRENGTH_BLOCK = 2048 };  // rows whose sums and maxima are taken together, whatever the threads

typedef struct strength_job {
  const lac_sparse *a;
  int64_t items;
  const void *values;
  double theta;
  void *root;  // sqrt |a_ii| of the item
  uint8_t *kinds;
  int64_t item;
  int64_t *weak;  // of each block of rows
} strength_job;

typedef struct diagonals_job {
  const lac_sparse *a;
  const void *values;
  const uint8_t *kinds;
  lac_smoother smoother;
  void *s, *f;
  double (*bounds)[2];  // of each block of rows
} diagonals_job;

typedef struct power_job {
  const lac_sparse *a;
  const void *values;
  const uint8_t *kinds;
  const void *s, *x;
  double scale;
  void *y;
  double *squares;  // of each block of rows
} power_job;

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_strength_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const cpu_part root_blocks[4][4] = TABLE_INDEXED(root_blocks);
static const cpu_part strength_blocks[4][4] = TABLE_INDEXED(strength_blocks);
static const cpu_part diagonals_blocks[4][4] = TABLE_INDEXED(diagonals_blocks);
static const cpu_part power_blocks[4][4] = TABLE_INDEXED(power_blocks);

static int64_t strength_count(const lac_sparse *a) { return (a->rows + STRENGTH_BLOCK - 1) / STRENGTH_BLOCK; }

int64_t cpu_smoothed_cut(const lac_sparse *a, double share) {
  bool narrow = a->width == LAC_WIDTH_32_32;
  const i32 *o32 = a->offsets;
  const i64 *o64 = a->offsets;
  double before = share * ((double)a->nnz + (double)a->rows);
  int64_t low = 0, high = a->rows;
  LAC_SEARCH(low, high, i, (double)(narrow ? o32[i] : o64[i]) + (double)i < before)
  return low;
}

typedef struct split_job {
  const lac_sparse *a;
  cpu_part part;
  const void *job;
  int64_t threads;
} split_job;

static void split_part(const void *job, int64_t begin, int64_t end) {
  const split_job *j = job;
  int64_t from = begin ? cpu_smoothed_cut(j->a, (double)begin / (double)j->threads) : 0;
  int64_t to = end == j->threads ? j->a->rows : cpu_smoothed_cut(j->a, (double)end / (double)j->threads);
  if (from < to) j->part(j->job, from, to);
}

void cpu_smoothed_split(lac_context *ctx, const lac_sparse *a, int64_t work, cpu_part part, const void *job) {
  int threads = cpu_threads(ctx, work);
  split_job split = {a, part, job, threads};
  cpu_split(threads, threads, 1, split_part, &split);
}

lac_status cpu_smoothed_strength(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, int64_t items,
                                 const void *values, double theta, uint8_t *kinds, int64_t *weak) {
  lac_status status = LAC_OK;
  int threads = cpu_threads(ctx, a->nnz);
  int64_t blocks = strength_count(a);
  strength_job job = {.a = a, .items = items, .values = values, .theta = theta, .kinds = kinds};

  job.root = lac_alloc((size_t)a->rows * sizeof(double));
  LAC_CHECK(job.root, LAC_ERR_MEMORY, "out of memory: %lld numbers", (long long)a->rows);
  LAC_ALLOC(job.weak, blocks);
  for (; job.item < items; ++job.item) {
    cpu_split(threads, blocks, 1, root_blocks[dtype][a->width], &job);
    cpu_split(threads, blocks, 1, strength_blocks[dtype][a->width], &job);
  }
  *weak = 0;
  for (int64_t b = 0; b < blocks; ++b) *weak += job.weak[b];
done:
  lac_free(job.root);
  lac_free(job.weak);
  return status;
}

lac_status cpu_smoothed_diagonals(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                                  const uint8_t *kinds, lac_smoother smoother, void *s, void *f, double bounds[2]) {
  lac_status status = LAC_OK;
  int64_t blocks = strength_count(a);
  diagonals_job job = {a, values, kinds, smoother, s, f, NULL};

  LAC_ALLOC(job.bounds, blocks);
  cpu_split(cpu_threads(ctx, a->nnz), blocks, 1, diagonals_blocks[dtype][a->width], &job);
  bounds[0] = bounds[1] = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int n = 0; n < 2; ++n) bounds[n] = fmax(bounds[n], job.bounds[b][n]);
  }
done:
  lac_free(job.bounds);
  return status;
}

lac_status cpu_smoothed_power_step(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                                   const uint8_t *kinds, const void *s, double scale, const void *x, void *y,
                                   double *norm) {
  lac_status status = LAC_OK;
  int64_t blocks = strength_count(a);
  power_job job = {a, values, kinds, s, x, scale, y, NULL};
  double sum = 0;

  LAC_ALLOC(job.squares, blocks);
  cpu_split(cpu_threads(ctx, a->nnz), blocks, 1, power_blocks[dtype][a->width], &job);
  for (int64_t b = 0; b < blocks; ++b) sum += job.squares[b];
  *norm = sqrt(sum);
done:
  lac_free(job.squares);
  return status;
}
