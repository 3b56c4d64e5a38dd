// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_blocks.c
/// A matrix of single entries as one of blocks: the graph of nodes, which are runs of as many rows; its blocks, their
/// sizes; and whether each unknown of a node by itself, the same at all nodes, is nearly taken to zero.

#include "backends/cpu/smoothed/smoothed_blocks.h"

#include <math.h>

typedef struct nodes_job {
  const cpu_sparse *a, *nodes;
  int size;
  void *offsets, *columns;  // of the graph: lengths at first, where columns are NULL
  const void *values;
  void *out;
} nodes_job;

typedef struct sizes_job {
  const cpu_sparse *a;
  int64_t items, blocks, area;
  const void *values;
  double *root, *out;  // 1 over the root of each diagonal block's size; sizes
} sizes_job;

typedef struct translations_job {
  const cpu_sparse *a;
  const void *values;
  int size;
  int64_t step;
} translations_job;

static const double TRANSLATION_LEFT = 0.1;  // of the sums of moduli: what is nearly nothing

typedef void (*translations_walk)(const translations_job *job, double found[2]);

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_blocks_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/smoothed/smoothed_sizes_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part nodes_rows[4][4] = TABLE_INDEXED(nodes_rows);
static const cpu_part nodes_blocks[4][4] = TABLE_INDEXED(nodes_blocks);
static const translations_walk translations_rows[4][4] = TABLE_INDEXED(translations_rows);
static const cpu_part sizes_roots[4][4] = TABLE_INDEXED(sizes_roots);
static const cpu_part sizes_scale[4][4] = TABLE_INDEXED(sizes_scale);
static const cpu_part sizes_part[4] = TABLE(sizes_part);

lac_status cpu_smoothed_nodes(lac_context *ctx, const lac_rows *rows, int64_t size, lac_buffer **offsets,
                              lac_buffer **columns) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  int64_t count = a.rows / size;
  int threads = cpu_threads(ctx, a.nnz);
  nodes_job job = {.a = &a, .size = (int)size};
  lac_buffer *starts = NULL, *cols = NULL;

  LAC_TRY(lac_buffer_create(ctx, rows->offsets->type, count + 1, &starts));
  job.offsets = starts->host;
  cpu_split(threads, count, 1, nodes_rows[LAC_F64][a.width], &job);
  LAC_TRY(lac_buffer_create(ctx, rows->columns->type, cpu_smoothed_scan(starts), &cols));
  job.columns = cols->host;
  cpu_split(threads, count, 1, nodes_rows[LAC_F64][a.width], &job);
  *offsets = starts, starts = NULL;
  *columns = cols, cols = NULL;
done:
  lac_object_release(starts);
  lac_object_release(cols);
  return status;
}

lac_status cpu_smoothed_blocks(lac_context *ctx, const lac_rows *rows, const lac_array *values, const lac_rows *given,
                               lac_array *out) {
  cpu_sparse a = cpu_sparse_of(rows), nodes = cpu_sparse_of(given);
  nodes_job job = {
      .a = &a, .nodes = &nodes, .size = cpu_block_rows(out), .values = cpu_data(values), .out = cpu_edit(out)};
  cpu_smoothed_split(ctx, &nodes, out->count, nodes_blocks[values->meta.dtype][a.width], &job);
  return LAC_OK;
}

lac_status cpu_smoothed_sizes(lac_context *ctx, const lac_rows *rows, int64_t items, const lac_array *values,
                              lac_array *out) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  sizes_job job = {&a, items, out->count, 0, cpu_data(values), NULL, cpu_edit(out)};
  int threads = cpu_threads(ctx, values->count);

  if (!out->count) return LAC_OK;
  LAC_ALLOC(job.root, a.rows);
  job.area = values->count / items / out->count;
  cpu_split(threads, out->count, 64, sizes_part[values->meta.dtype], &job);
  cpu_split(threads, a.rows, 64, sizes_roots[LAC_F64][a.width], &job);
  cpu_split(threads, a.rows, 64, sizes_scale[LAC_F64][a.width], &job);
done:
  lac_free(job.root);
  return status;
}

lac_status cpu_smoothed_translations(lac_context *ctx, const lac_rows *rows, const lac_array *values, int64_t size,
                                     int64_t samples, lac_array *found) {
  cpu_sparse a = cpu_sparse_of(rows);
  translations_job job = {&a, cpu_data(values), (int)size, a.rows / size / samples + 1};
  (void)ctx;
  translations_rows[values->meta.dtype][a.width](&job, cpu_edit(found));
  return LAC_OK;
}
