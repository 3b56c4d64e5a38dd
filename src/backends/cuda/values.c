// SPDX-License-Identifier: Apache-2.0
/// @file values.c
/// The hash of values and the survey of a matrix, made where the values are. A few words come to the host.

#include <math.h>
#include <string.h>

#include "backends/cuda/backend.h"
#include "kernels/hash.h"

// -- hash ------------------------------------------------------------------------------------------------------------

lac_status cuda_hash(lac_context *ctx, const lac_array *values, uint64_t out[2]) {
  lac_status status = LAC_OK;
  size_t bytes = (size_t)values->count * lac_dtype_size(values->meta.dtype);
  uint64_t leaves[2] = {0, 0};
  cuda_scratch sums = {NULL, 0};
  cuda_scope scope;

  LAC_TRY(cuda_scratch_take(ctx, "hash", sizeof leaves, &sums));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_hash(ctx->stream, values->storage->data, bytes, sums.data), "hash"));
  LAC_TRY(ctx->backend->download(ctx, leaves, sums.data, sizeof leaves));
  lac_hash_finish(leaves, bytes, out);
done:
  cuda_scratch_release(ctx, &sums);
  return status;
}

// -- survey ----------------------------------------------------------------------------------------------------------

/// A survey of square matrices on its way: where they are, and parts of the scratch memory.
typedef struct survey_job {
  cuda_rows rows;
  int64_t items;
  lac_dtype dtype;
  const void *values;
  cuda_survey_all *all;
  cuda_survey_part *of_items, *parts;
  double *largest, *by_rows, *by_columns;
} survey_job;

static lac_status survey_prepare(lac_context *ctx, const lac_pattern *p, const lac_array *values, survey_job *job,
                                 cuda_scratch *memory) {
  lac_status status = LAC_OK;
  int64_t items = values->meta.shape[0], parts;

  *job = (survey_job){.items = items, .dtype = values->meta.dtype, .values = values->storage->data};
  LAC_TRY(cuda_rows_of(ctx, p, false, &job->rows));
  parts = cuda_survey_parts(&job->rows);
  LAC_TRY(cuda_scratch_take(
      ctx, "survey",
      sizeof *job->all + (size_t)(items * (parts + 1)) * sizeof *job->parts + 3 * (size_t)items * sizeof *job->largest,
      memory));
  job->all = memory->data;
  job->largest = (double *)(job->all + 1);
  job->of_items = (cuda_survey_part *)(job->largest + items);
  job->parts = job->of_items + items;
  job->by_rows = (double *)(job->parts + items * parts);
  job->by_columns = job->by_rows + items;
done:
  return status;
}

/// With the largest size of each item, unless `largest` is NULL, in one transfer.
static lac_status survey_collect(lac_context *ctx, const survey_job *job, cuda_survey_shares shares,
                                 cuda_survey_all *all, double *largest) {
  lac_status status = LAC_OK;
  size_t bytes = largest ? (size_t)job->items * sizeof *largest : 0;
  cuda_survey_all *both = NULL;
  cuda_scope scope;

  both = lac_alloc(sizeof *both + bytes);
  LAC_CHECK(both, LAC_ERR_MEMORY, "survey: out of memory: %zu bytes", sizeof *both + bytes);
  scope = cuda_begin(ctx);
  LAC_TRY(
      cuda_end(ctx, scope, cuda_launch_survey_all(ctx->stream, job->items, job->of_items, shares, job->all), "survey"));
  LAC_TRY(ctx->backend->download(ctx, both, job->all, sizeof *both + bytes));
  *all = *both;
  if (largest) memcpy(largest, both + 1, bytes);
done:
  lac_free(both);
  return status;
}

static lac_status survey_share(lac_context *ctx, const survey_job *job, const cuda_rows *rows, double *shares) {
  cuda_scope scope = cuda_begin(ctx);
  return cuda_end(
      ctx, scope,
      cuda_launch_survey_shares(ctx->stream, job->dtype, rows, job->items, job->values, job->of_items, shares),
      "survey");
}

/// Dominance by moduli, where sizes are larger than these, and by columns, where they may decide.
static lac_status survey_closer(lac_context *ctx, const lac_pattern *p, const survey_job *job, cuda_survey_all *all) {
  lac_status status = LAC_OK;
  cuda_survey_shares shares = {NULL, NULL};
  cuda_rows transposed;

  if (lac_dtype_is_complex(job->dtype)) {
    LAC_TRY(survey_share(ctx, job, &job->rows, job->by_rows));
    shares.rows = job->by_rows;
  }
  if (all->wants_columns) {
    LAC_TRY(cuda_rows_of(ctx, p, true, &transposed));
    LAC_TRY(survey_share(ctx, job, &transposed, job->by_columns));
    shares.columns = job->by_columns;
  }
  LAC_TRY(survey_collect(ctx, job, shares, all, NULL));
done:
  return status;
}

/// The first integer that a launcher leaves in scratch memory.
static lac_status survey_first(lac_context *ctx, cudaError_t error, cuda_scope scope, const void *data,
                               int64_t *first) {
  lac_status status = LAC_OK;
  LAC_TRY(cuda_end(ctx, scope, error, "survey"));
  LAC_TRY(ctx->backend->download(ctx, first, data, sizeof *first));
done:
  return status;
}

static void survey_note(cuda_survey_place place, int64_t *at, int64_t *item) {
  *at = place.item == INT64_MAX ? -1 : place.at;
  *item = place.item == INT64_MAX ? 0 : place.item;
}

static lac_status survey_square(lac_context *ctx, const lac_pattern *p, const lac_array *values, bool is_closer,
                                double *largest, lac_survey *out) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_survey_all all;
  survey_job job;
  cuda_scope scope;

  LAC_TRY(survey_prepare(ctx, p, values, &job, &memory));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_survey(ctx->stream, job.dtype, &job.rows, job.items, job.values, job.parts, job.of_items,
                                      job.largest),
                   "survey"));
  LAC_TRY(survey_collect(ctx, &job, (cuda_survey_shares){NULL, NULL}, &all, largest));
  if (is_closer && all.wants_rows) LAC_TRY(survey_closer(ctx, p, &job, &all));
  survey_note(all.nonfinite, &out->nonfinite, &out->nonfinite_item);
  survey_note(all.asymmetric, &out->asymmetric, &out->asymmetric_item);
  survey_note(all.not_positive, &out->not_positive, &out->not_positive_item);
  survey_note(all.without, &out->without, &out->without_item);
  out->is_unpaired = out->asymmetric >= 0 && out->asymmetric % 2;
  if (out->asymmetric >= 0) out->asymmetric /= 2;
  out->is_m_like = all.is_m_like;
  out->dominance = all.dominance;
  if (all.is_uneven &&
      (out->asymmetric < 0 || out->asymmetric_item > 0)) {  // what is not paired is so in the first item
    scope = cuda_begin(ctx);
    LAC_TRY(survey_first(ctx, cuda_launch_survey_unpaired(ctx->stream, &job.rows, memory.data), scope, memory.data,
                         &out->asymmetric));
    out->asymmetric_item = 0, out->is_unpaired = true;
  }
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

/// A rectangle has neither a diagonal nor mirrors.
static lac_status survey_rectangle(lac_context *ctx, const lac_pattern *p, const lac_array *values, lac_survey *out) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_scope scope;

  LAC_TRY(cuda_scratch_take(ctx, "survey", sizeof out->nonfinite, &memory));
  scope = cuda_begin(ctx);
  LAC_TRY(survey_first(
      ctx,
      cuda_launch_survey_finite(ctx->stream, values->meta.dtype, values->count, values->storage->data, memory.data),
      scope, memory.data, &out->nonfinite));
  if (out->nonfinite >= 0) out->nonfinite_item = out->nonfinite / p->nnz, out->nonfinite %= p->nnz;
  out->asymmetric = out->not_positive = out->without = 0, out->is_m_like = false, out->dominance = INFINITY;
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

lac_status cuda_survey(lac_context *ctx, const lac_pattern *p, const lac_array *values, bool is_closer, double *largest,
                       lac_survey *out) {
  *out = lac_survey_begin();
  if (p->rows != p->cols) return survey_rectangle(ctx, p, values, out);
  if (values->meta.shape[0] == 0) return LAC_OK;
  return survey_square(ctx, p, values, is_closer, largest, out);
}
