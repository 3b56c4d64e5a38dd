// SPDX-License-Identifier: Apache-2.0
/// @file columns.c
/// The kernels columns and column_step: what Krylov methods do to many columns with coefficients of their own.
///
/// Vectors are cut into blocks of about 2048 numbers, which do not depend on the number of threads. All operations of a
/// pass are done on a block before the next: it comes from memory once. Sums of blocks are added pair by pair.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"
#include "solvers/krylov/steps/column_steps.h"

enum { COLUMNS_BLOCK = 2048, COLUMNS_WIDE = 64, COLUMNS_FEW = 1024 };

typedef struct columns_job {
  int count, dots;
  const lac_column_op *ops;
  int64_t items, n, k;
  int64_t rows, blocks;  // rows of a block, blocks of an item
  int64_t wide;          // numbers in a row of coefficients: whole rows of k, about COLUMNS_WIDE where k is less
  void *coefficients;    // [count, items, k] of the vectors' dtype
  void *partial;         // [items, blocks, dots, k] of its accumulators
} columns_job;

#define KERNEL_FILE "backends/cpu/base/dot_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/arrays/columns_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part columns_units[] = TABLE(columns_units);
static void (*const columns_takes[])(const columns_job *, const lac_pair *) = TABLE(columns_take);
static void (*const columns_gives[])(const columns_job *, int64_t, lac_pair *) = TABLE(columns_give);

static columns_job columns_plan(int count, const lac_column_op *ops) {
  const lac_meta *meta = &ops[0].y->meta;
  columns_job job = {.count = count, .ops = ops, .n = meta->shape[meta->ndim - 2], .k = meta->shape[meta->ndim - 1]};
  job.items = 1;
  for (int d = 0; d < meta->ndim - 2; ++d) job.items *= meta->shape[d];
  job.rows = job.k < COLUMNS_BLOCK ? COLUMNS_BLOCK / (job.k ? job.k : 1) : 1;
  job.blocks = (job.n + job.rows - 1) / job.rows;
  job.wide = job.k && job.k < COLUMNS_WIDE ? COLUMNS_WIDE / job.k * job.k : job.k;
  for (int o = 0; o < count; ++o) job.dots += ops[o].what == LAC_COLUMN_DOT;
  return job;
}

lac_status cpu_columns(lac_context *ctx, int count, const lac_column_op *ops, lac_array *state) {
  lac_status status = LAC_OK;
  lac_dtype dtype = ops[0].y->meta.dtype;
  columns_job job = columns_plan(count, ops);
  int64_t columns = job.items * job.k, coefficients = count * columns, sums = job.dots * columns * job.blocks;
  c128 few[COLUMNS_FEW], *owned = NULL;

  if (columns == 0) goto done;
  if (coefficients + sums > COLUMNS_FEW) {
    owned = lac_alloc((size_t)(coefficients + sums) * sizeof *owned);
    LAC_CHECK(owned, LAC_ERR_MEMORY, "columns: out of memory for %lld coefficients and sums",
              (long long)(coefficients + sums));
  }
  job.coefficients = owned ? owned : few;
  job.partial = (owned ? owned : few) + coefficients;
  columns_takes[dtype](&job, cpu_data(state));
  cpu_split(cpu_threads(ctx, count * job.items * job.n * job.k), job.items * job.blocks, 1, columns_units[dtype], &job);
  for (int64_t i = 0; job.dots && i < job.items; ++i) columns_gives[dtype](&job, i, cpu_edit(state));
done:
  lac_free(owned);
  return status;
}

typedef struct step_job {
  lac_column_step step;
  const lac_step_numbers *numbers;
  lac_pair *state;
  int64_t columns;
} step_job;

static void step_part(const void *opaque, int64_t begin, int64_t end) {
  const step_job *job = opaque;
  for (int64_t i = begin; i < end; ++i) lac_column_step_run(job->step, job->state + i, job->columns, job->numbers);
}

lac_status cpu_column_step(lac_context *ctx, lac_column_step step, const lac_step_numbers *numbers, lac_array *state) {
  step_job job = {step, numbers, cpu_edit(state), state->meta.shape[1] * state->meta.shape[2]};
  cpu_split(cpu_threads(ctx, job.columns * 10), job.columns, 64, step_part, &job);
  return LAC_OK;
}
