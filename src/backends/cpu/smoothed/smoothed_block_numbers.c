// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_block_numbers.c
/// Smoothers and interpolation of blocks.
///
///     S_I = A_II^-1, or A_II^H (sum_J A_IJ A_IJ^H)^-1: the block diagonal with the least |I - S A|_F
///     P_Ia = T_Ia - omega F_I sum_J A_IJ T_Ja,  F_I = A_II^-1
///
/// Inverses are generalised: what a node does not have (aggregates with fewer rows than there are near-null vectors)
/// stays 0.

#include <float.h>
#include <math.h>

#include "backends/cpu/smoothed/smoothed_blocks.h"

enum { NUMBERS_BLOCK = 512 };           // nodes whose sums and maxima are taken together, whatever the threads
static const double NUMBERS_ZERO = 64;  // roundings: a pivot of a scaled block below them is zero

typedef struct block_diagonals_job {
  const cpu_sparse *a;
  const void *values;
  int size;
  lac_smoother smoother;
  void *s, *f;
  double (*bounds)[2];  // of each run of nodes
} block_diagonals_job;

typedef struct block_power_job {
  const cpu_sparse *a;
  const void *values, *s, *x;
  int size;
  double scale;
  void *y;
  double *squares;  // of each run of nodes
} block_power_job;

typedef struct block_interpolate_job {
  const cpu_sparse *a, *p;
  const void *values, *f, *member, *basis;
  const uint8_t *kinds;
  int size, m;
  double omega;
  void *numbers;
} block_interpolate_job;

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_block_inverse_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/smoothed/smoothed_block_numbers_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const cpu_part block_diagonals_nodes[4][4] = TABLE_INDEXED(block_diagonals_nodes);
static const cpu_part block_power_nodes[4][4] = TABLE_INDEXED(block_power_nodes);
static const cpu_part block_interpolate_nodes[4][4] = TABLE_INDEXED(block_interpolate_nodes);

static int64_t numbers_count(const cpu_sparse *a) { return (a->rows + NUMBERS_BLOCK - 1) / NUMBERS_BLOCK; }

lac_status cpu_block_diagonals(lac_context *ctx, const lac_rows *rows, const lac_array *values, const lac_buffer *kinds,
                               lac_smoother smoother, lac_array *s, lac_array *f, lac_array *found) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t runs = numbers_count(&a);
  block_diagonals_job job = {&a, cpu_data(values), cpu_block_rows(values), smoother, cpu_edit(s), cpu_edit(f), NULL};
  double *bounds = cpu_edit(found);

  (void)kinds;  // all blocks are smoothed by
  LAC_ALLOC(job.bounds, runs);
  cpu_split(cpu_threads(ctx, values->count), runs, 1, block_diagonals_nodes[values->meta.dtype][a.width], &job);
  bounds[0] = bounds[1] = 0;
  for (int64_t n = 0; n < runs; ++n) {
    for (int i = 0; i < 2; ++i) bounds[i] = fmax(bounds[i], job.bounds[n][i]);
  }
done:
  lac_free(job.bounds);
  return status;
}

lac_status cpu_block_power_step(lac_context *ctx, const lac_rows *rows, const lac_array *values,
                                const lac_buffer *kinds, const lac_array *s, double scale, const lac_array *x,
                                lac_array *y, lac_array *found) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t runs = numbers_count(&a);
  block_power_job job = {&a,    cpu_data(values), cpu_data(s), cpu_data(x), cpu_block_rows(values),
                         scale, cpu_edit(y),      NULL};
  double sum = 0;

  (void)kinds;
  LAC_ALLOC(job.squares, runs);
  cpu_split(cpu_threads(ctx, values->count), runs, 1, block_power_nodes[values->meta.dtype][a.width], &job);
  for (int64_t n = 0; n < runs; ++n) sum += job.squares[n];
  *(double *)cpu_edit(found) = sqrt(sum);
done:
  lac_free(job.squares);
  return status;
}

lac_status cpu_block_interpolate_values(lac_context *ctx, const lac_rows *rows, const lac_array *values,
                                        const lac_buffer *kinds, const lac_array *f, double omega,
                                        const lac_aggregates *aggregates, const lac_rows *p_rows, lac_array *p_values) {
  cpu_sparse a = cpu_sparse_of(rows), p = cpu_sparse_of(p_rows);
  block_interpolate_job job = {.a = &a,
                               .p = &p,
                               .values = cpu_data(values),
                               .f = cpu_data(f),
                               .member = aggregates->member->host,
                               .basis = cpu_data(aggregates->basis),
                               .kinds = kinds->host,
                               .size = cpu_block_rows(values),
                               .m = aggregates->m,
                               .omega = omega,
                               .numbers = cpu_edit(p_values)};
  cpu_smoothed_split(ctx, &a, values->count, block_interpolate_nodes[values->meta.dtype][a.width], &job);
  return LAC_OK;
}
