// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_block_cycle.c
/// The steps of a multigrid cycle on rows of blocks: products, and smoothers whose S has a block for each node.

#include "backends/cpu/smoothed/smoothed_blocks.h"

enum { CYCLE_WIDE = 8 };  // columns of a vector that are done together

typedef struct block_step_job {
  const cpu_sparse *a;
  const void *values, *b, *x, *old, *s;
  int64_t k;
  int size;  // of a block
  double beta, omega;
  bool bare, adjoint;
  void *out;
} block_step_job;

typedef struct block_multiply_job {
  const cpu_sparse *a;
  const void *values, *x;
  int64_t k;
  int rows, cols;  // of a block
  bool adds;
  void *y;
} block_multiply_job;

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_block_cycle_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const cpu_part block_step_nodes[4][4] = TABLE_INDEXED(block_step_nodes);
static const cpu_part block_multiply_nodes[4][4] = TABLE_INDEXED(block_multiply_nodes);

static const void *data_of(const lac_array *x) { return x ? cpu_data(x) : NULL; }

lac_status cpu_block_step(lac_context *ctx, const lac_rows *rows, const lac_array *values, const lac_sweep *given,
                          lac_array *out) {
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t k = out->meta.shape[out->meta.ndim - 1];
  int size = cpu_block_rows(values);
  block_step_job job = {.a = &a,
                        .values = cpu_data(values),
                        .b = data_of(given->b),
                        .x = data_of(given->x),
                        .old = data_of(given->old),
                        .s = data_of(given->s),
                        .k = k,
                        .size = size,
                        .beta = given->beta,
                        .omega = given->omega,
                        .bare = given->bare,
                        .adjoint = given->conjugates,
                        .out = cpu_edit(out)};
  int64_t work = (job.x ? a.nnz : a.rows) * size * size * k;
  cpu_smoothed_split(ctx, &a, work, block_step_nodes[out->meta.dtype][a.width], &job);
  return LAC_OK;
}

lac_status cpu_block_multiply(lac_context *ctx, const lac_rows *rows, const lac_array *values, bool adds,
                              const lac_array *x, lac_array *y) {
  cpu_sparse a = cpu_sparse_of(rows);
  block_multiply_job job = {.a = &a,
                            .values = cpu_data(values),
                            .x = cpu_data(x),
                            .k = y->meta.shape[y->meta.ndim - 1],
                            .rows = cpu_block_rows(values),
                            .cols = cpu_block_cols(values),
                            .adds = adds,
                            .y = cpu_edit(y)};
  int64_t work = a.nnz * job.rows * job.cols * job.k;
  cpu_smoothed_split(ctx, &a, work, block_multiply_nodes[y->meta.dtype][a.width], &job);
  return LAC_OK;
}
