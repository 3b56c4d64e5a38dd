// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_galerkin.c
/// The values of a coarse level, P^T A P: each coarse row merges the few short rows of its aggregate.

#include <omp.h>

#include "backends/cpu/pairwise/pairwise.h"
#include "backends/cpu/base/types.h"

typedef struct galerkin_job {
  const void *offsets, *columns, *values;
  const int32_t *aggregates, *starts, *members;
  const lac_aggregation *aggregation;
  const lac_buffer *coarse_offsets;
  const int32_t *coarse_columns;
  bool is_regular;
  const double *unit;
  void *out;
  int64_t items, nnz, coarse, coarse_nnz;
  int32_t *marks;  // of each thread, one for each coarse row
  void (*kernel)(const struct galerkin_job *job, int32_t *mark, int64_t begin, int64_t end);
} galerkin_job;

#define KERNEL_FILE "backends/cpu/pairwise/pairwise_galerkin_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static void (*const kernels[4][4])(const galerkin_job *, int32_t *, int64_t, int64_t) = TABLE_INDEXED(galerkin_rows);

static void galerkin_part(const void *job, int64_t begin, int64_t end) {
  const galerkin_job *g = job;
  g->kernel(g, g->marks + omp_get_thread_num() * g->coarse, begin, end);
}

lac_status cpu_pairwise_coarsened(lac_context *ctx, const lac_level_view *level, const lac_aggregation *aggregation,
                                  const lac_pattern *coarse, lac_array *values) {
  lac_status status = LAC_OK;
  const lac_rows *rows = &level->rows;
  int threads = cpu_threads(ctx, rows->columns->count);
  lac_width width = rows->offsets->type == LAC_I32   ? LAC_WIDTH_32_32
                    : rows->columns->type == LAC_I32 ? LAC_WIDTH_64_32
                                                     : LAC_WIDTH_64_64;
  galerkin_job job = {.offsets = rows->offsets->host,
                      .columns = rows->columns->host,
                      .values = cpu_data(level->values),
                      .aggregates = aggregation->aggregates->host,
                      .starts = aggregation->starts->host,
                      .members = aggregation->members->host,
                      .aggregation = aggregation,
                      .coarse_offsets = coarse->offsets,
                      .coarse_columns = coarse->columns->host,
                      .is_regular = aggregation->is_regular,
                      .unit = level->unit ? cpu_data(level->unit) : NULL,
                      .out = cpu_edit(values),
                      .items = level->values->meta.shape[0],
                      .nnz = rows->columns->count,
                      .coarse = coarse->rows,
                      .coarse_nnz = coarse->nnz,
                      .kernel = kernels[level->values->meta.dtype][width]};
  LAC_ALLOC(job.marks, threads * coarse->rows);
  cpu_split(threads, coarse->rows, LAC_SLICE, galerkin_part, &job);
done:
  lac_free(job.marks);
  return status;
}
