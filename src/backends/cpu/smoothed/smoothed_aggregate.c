// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_aggregate.c
/// Aggregates and the interpolation from them.
///
///     T[i, a] = basis[i] for a = member[i]
///     P = (I - omega F A') T,  F A' with a unit diagonal, the other entries the strong ones of A

#include <omp.h>

#include "backends/cpu/smoothed/smoothed_blocks.h"

typedef struct aggregate_job {
  const cpu_sparse *a;
  const void *values;
  const uint8_t *kinds;
  void *member;
  void *queue;  // room for all rows
  uint8_t *seen;
} aggregate_job;

enum { SHUFFLED_SAMPLES = 1000 };

typedef struct interpolate_job {
  const cpu_sparse *a;
  const void *values;
  const uint8_t *kinds;
  const void *f;
  double omega;
  const cpu_aggregates *aggregates;
  const void *offsets;  // of P
  void *columns, *numbers;
  int64_t *mark;  // of this thread: for each aggregate, where its columns stand in the row
} interpolate_job;

typedef int64_t (*aggregate_walk)(const aggregate_job *job);

#define KERNEL_FILE "backends/cpu/smoothed/smoothed_aggregate_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const aggregate_walk aggregate_greedily[4][4] = TABLE_INDEXED(aggregate_greedily);
static const cpu_part interpolate_lengths[4][4] = TABLE_INDEXED(interpolate_lengths);
static const cpu_part interpolate_columns[4][4] = TABLE_INDEXED(interpolate_columns);
static const cpu_part interpolate_numbers[4][4] = TABLE_INDEXED(interpolate_numbers);

lac_status cpu_smoothed_aggregate(lac_context *ctx, const lac_rows *rows, const lac_array *values,
                                  const lac_buffer *kinds, lac_buffer **out, lac_array *found) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  aggregate_job job = {&a, cpu_data(values), kinds->host, NULL, NULL, NULL};
  lac_buffer *member = NULL;

  LAC_TRY(lac_buffer_create(ctx, rows->columns->type, a.rows, &member));
  LAC_ALLOC(job.seen, a.rows);
  job.queue = lac_alloc((size_t)a.rows * sizeof(int64_t));
  LAC_CHECK(job.queue, LAC_ERR_MEMORY, "out of memory: a queue of %lld rows", (long long)a.rows);
  job.member = member->host;
  *(double *)cpu_edit(found) = (double)aggregate_greedily[values->meta.dtype][a.width](&job);
  *out = member, member = NULL;
done:
  lac_object_release(member);
  lac_free(job.seen);
  lac_free(job.queue);
  return status;
}

static cpu_aggregates aggregates_of(const lac_aggregates *g) {
  return (cpu_aggregates){g->count, g->member->host, g->basis ? cpu_data(g->basis) : NULL};
}

/// Run over the rows with marks for each thread.
static lac_status interpolate_run(lac_context *ctx, const interpolate_job *job, cpu_part part) {
  lac_status status = LAC_OK;
  int threads = cpu_threads(ctx, job->a->nnz);
  int64_t count = job->aggregates->count, *marks = NULL;

  LAC_ALLOC(marks, count * threads);
#pragma omp parallel num_threads(threads)
  {
    int me = omp_get_thread_num(), all = omp_get_num_threads();
    interpolate_job mine = *job;
    int64_t begin = me ? cpu_smoothed_cut(job->a, (double)me / all) : 0;
    int64_t end = me + 1 == all ? job->a->rows : cpu_smoothed_cut(job->a, (double)(me + 1) / all);
    mine.mark = marks + me * count;
    for (int64_t n = 0; n < count; ++n) mine.mark[n] = -1;
    if (begin < end) part(&mine, begin, end);
  }
done:
  lac_free(marks);
  return status;
}

int64_t cpu_smoothed_scan(lac_buffer *lengths) {
  int64_t sum = 0;
  for (int64_t i = 0; i < lengths->count; ++i) {
    int64_t length = i + 1 < lengths->count ? lac_buffer_get(lengths, i) : 0;
    lac_buffer_set(lengths, i, sum), sum += length;
  }
  return sum;
}

lac_status cpu_smoothed_interpolate(lac_context *ctx, const lac_rows *rows, const lac_buffer *kinds,
                                    const lac_aggregates *given, lac_buffer **offsets, lac_buffer **columns) {
  lac_status status = LAC_OK;
  cpu_sparse a = cpu_sparse_of(rows);
  cpu_aggregates aggregates = aggregates_of(given);
  interpolate_job job = {.a = &a, .kinds = kinds->host, .aggregates = &aggregates};
  lac_buffer *starts = NULL, *cols = NULL;
  int64_t entries;

  LAC_TRY(lac_buffer_create(ctx, rows->offsets->type, a.rows + 1, &starts));
  job.numbers = starts->host;
  LAC_TRY(interpolate_run(ctx, &job, interpolate_lengths[LAC_F64][a.width]));
  entries = cpu_smoothed_scan(starts);
  LAC_CHECK(a.width != LAC_WIDTH_32_32 || entries <= INT32_MAX, LAC_ERR_OVERFLOW,
            "the interpolation has more than %d entries; give the pattern LAC_WIDTH_64_32", INT32_MAX);
  LAC_TRY(lac_buffer_create(ctx, rows->columns->type, entries, &cols));
  job.numbers = NULL, job.offsets = starts->host, job.columns = cols->host;
  LAC_TRY(interpolate_run(ctx, &job, interpolate_columns[LAC_F64][a.width]));
  *offsets = starts, starts = NULL;
  *columns = cols, cols = NULL;
done:
  lac_object_release(starts);
  lac_object_release(cols);
  return status;
}

lac_status cpu_smoothed_interpolate_values(lac_context *ctx, const lac_rows *rows, const lac_array *values,
                                           const lac_buffer *kinds, const lac_array *f, double omega,
                                           const lac_aggregates *given, const lac_rows *p, lac_array *p_values) {
  if (cpu_has_blocks(values))
    return cpu_block_interpolate_values(ctx, rows, values, kinds, f, omega, given, p, p_values);
  cpu_sparse a = cpu_sparse_of(rows);
  cpu_aggregates aggregates = aggregates_of(given);
  interpolate_job job = {.a = &a,
                         .values = cpu_data(values),
                         .kinds = kinds->host,
                         .f = cpu_data(f),
                         .omega = omega,
                         .aggregates = &aggregates,
                         .offsets = p->offsets->host,
                         .numbers = cpu_edit(p_values)};
  return interpolate_run(ctx, &job, interpolate_numbers[values->meta.dtype][a.width]);
}
