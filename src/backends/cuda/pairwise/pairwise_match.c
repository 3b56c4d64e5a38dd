// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_match.c
/// Aggregates on the device (pairwise_match.cu): rounds of matching, numbers of what was matched, members by number.

#include "backends/cuda/backend.h"
#include "backends/cuda/pairwise/tables.h"
#include "backends/cuda/structure.h"

/// What is mutual first: on grids that is nearly all.
static const cuda_match_way ways[] = {CUDA_MATCH_BOTH,  CUDA_MATCH_BOTH, CUDA_MATCH_BOTH, CUDA_MATCH_BACK,
                                      CUDA_MATCH_FORTH, CUDA_MATCH_BOTH, CUDA_MATCH_BACK, CUDA_MATCH_FORTH};
enum { ROUNDS = sizeof ways / sizeof *ways, JOINS = 2 };

/// Integers of a matching that are gone with it.
typedef struct matching {
  cuda_scratch ahead, chain, flags, starts, state, sums;
} matching;

static void matching_close(lac_context *ctx, matching *m) {
  cuda_scratch_release(ctx, &m->ahead);
  cuda_scratch_release(ctx, &m->chain);
  cuda_scratch_release(ctx, &m->flags);
  cuda_scratch_release(ctx, &m->starts);
  cuda_scratch_release(ctx, &m->state);
  cuda_scratch_release(ctx, &m->sums);
}

static lac_status take(lac_context *ctx, int64_t count, cuda_scratch *out) {
  return cuda_scratch_take(ctx, "multigrid", (size_t)count * sizeof(int), out);
}

static lac_status match_open(lac_context *ctx, int64_t rows, matching *m) {
  lac_status status = LAC_OK;
  cuda_scope scope = cuda_begin(ctx);
  size_t sums = cuda_slots_scratch(rows + 1, LAC_I32);

  cuda_leave(scope);
  LAC_TRY(take(ctx, rows, &m->ahead));
  LAC_TRY(take(ctx, rows, &m->chain));
  LAC_TRY(take(ctx, rows + 1, &m->flags));
  LAC_TRY(cuda_scratch_take(ctx, "multigrid", sums, &m->sums));
done:
  return status;
}

/// In place; the last of `count` integers on the host.
static lac_status add_up(lac_context *ctx, const matching *m, int64_t count, int *numbers, int64_t *total) {
  lac_status status = LAC_OK;
  cuda_scope scope = cuda_begin(ctx);
  int last = 0;

  LAC_TRY(
      cuda_end(ctx, scope,
               cuda_launch_add_up(ctx->stream, count, (cuda_integers){numbers, LAC_I32}, m->sums.data, m->sums.bytes),
               "multigrid"));
  LAC_TRY(ctx->backend->download(ctx, &last, numbers + count - 1, sizeof last));
  *total = last;
done:
  return status;
}

/// Rounds of matching, leftovers, and how many there are; their numbers are in m->flags.
static lac_status match_all(lac_context *ctx, const matching *m, const cuda_match *job, int64_t *matches) {
  lac_status status = LAC_OK;
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cuda_launch_match_begin(ctx->stream, job);

  for (int r = 0; r < ROUNDS && error == cudaSuccess; ++r) error = cuda_launch_match_round(ctx->stream, job, ways[r]);
  for (int r = 1; r <= JOINS && !job->pairs && error == cudaSuccess; ++r)
    error = cuda_launch_match_join(ctx->stream, job, r == JOINS);
  if (error == cudaSuccess) error = cuda_launch_match_leaders(ctx->stream, job->count, job->state, m->flags.data);
  LAC_TRY(cuda_end(ctx, scope, error, "multigrid"));
  LAC_TRY(add_up(ctx, m, job->count + 1, m->flags.data, matches));
done:
  return status;
}

/// Rows by their targets: `starts` has room for groups + 1, `members` for all rows that have one, `*taken`.
static lac_status group_count(lac_context *ctx, const matching *m, int64_t rows, int64_t groups, const int *targets,
                              int *starts, int64_t *taken) {
  lac_status status = LAC_OK;
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cudaMemsetAsync(starts, 0, (size_t)(groups + 1) * sizeof *starts, ctx->stream);

  if (error == cudaSuccess) error = cuda_launch_group_count(ctx->stream, rows, targets, starts);
  LAC_TRY(cuda_end(ctx, scope, error, "multigrid"));
  LAC_TRY(add_up(ctx, m, groups + 1, starts, taken));
done:
  return status;
}

static lac_status group_fill(lac_context *ctx, int64_t rows, int64_t groups, const int *targets, int *starts,
                             int *members) {
  cuda_scope scope = cuda_begin(ctx);
  return cuda_end(ctx, scope, cuda_launch_group_fill(ctx->stream, rows, groups, targets, starts, members), "multigrid");
}

/// From rows to pairs, whose numbers replace the state of rows, `aggregates`; and from pairs to aggregates.
static lac_status match_twice(lac_context *ctx, matching *m, cuda_match job, int *aggregates, int64_t *coarse) {
  lac_status status = LAC_OK;
  int64_t rows = job.count, pairs = 0, taken = 0;
  cuda_scope scope;

  job.state = aggregates, job.ahead = m->ahead.data, job.chain = m->chain.data;
  LAC_TRY(match_all(ctx, m, &job, &pairs));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_match_number(ctx->stream, rows, m->flags.data, aggregates), "multigrid"));
  *coarse = pairs;
  if (pairs == 0) goto done;
  LAC_TRY(take(ctx, pairs + 1, &m->starts));
  LAC_TRY(take(ctx, pairs, &m->state));
  LAC_TRY(group_count(ctx, m, rows, pairs, aggregates, m->starts.data, &taken));
  LAC_TRY(group_fill(ctx, rows, pairs, aggregates, m->starts.data, m->flags.data));  // of rows + 1 integers
  job.pairs = aggregates, job.starts = m->starts.data, job.members = m->flags.data;
  job.count = pairs, job.state = m->state.data;
  job.ahead = m->ahead.data, job.chain = m->chain.data;
  LAC_TRY(match_all(ctx, m, &job, coarse));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_match_merge(ctx->stream, rows, m->flags.data, m->state.data, aggregates),
                   "multigrid"));
done:
  return status;
}

/// Whether aggregates that are neighbours have members that are neighbours, nearly always.
static lac_status look_regular(lac_context *ctx, int64_t groups, const int *starts, const int *members,
                               bool *is_regular) {
  lac_status status = LAC_OK;
  cuda_scratch word = {NULL, 0};
  unsigned long long near = 0;
  cuda_scope scope;

  LAC_TRY(cuda_scratch_take(ctx, "multigrid", sizeof near, &word));
  scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope, cuda_launch_group_near(ctx->stream, groups, starts, members, word.data), "multigrid"));
  LAC_TRY(ctx->backend->download(ctx, &near, word.data, sizeof near));
  *is_regular = 8 * (int64_t)near >= 7 * (groups - 1);
done:
  cuda_scratch_release(ctx, &word);
  return status;
}

lac_status cuda_pairwise_matched(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, bool is_first,
                                 lac_aggregation *out) {
  lac_status status = LAC_OK;
  lac_aggregation made = {.fine = pattern->rows};
  matching m = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
  void *aggregates = NULL, *starts = NULL, *members = NULL;
  cuda_match job = {.dtype = values->meta.dtype, .values = values->storage->data, .count = pattern->rows};
  cuda_rows rows;
  int64_t taken = 0;

  (void)is_first;  // in any order, chains are as long as numbers ascend along them
  LAC_TRY(cuda_rows_of(ctx, pattern, false, &rows));
  job.rows = &rows;
  LAC_TRY(lac_buffer_create_on(ctx, LAC_I32, made.fine, &made.aggregates, &aggregates));
  LAC_TRY(match_open(ctx, made.fine, &m));
  LAC_TRY(match_twice(ctx, &m, job, aggregates, &made.coarse));
  LAC_TRY(lac_buffer_create_on(ctx, LAC_I32, made.coarse + 1, &made.starts, &starts));
  LAC_TRY(group_count(ctx, &m, made.fine, made.coarse, aggregates, starts, &taken));
  LAC_TRY(lac_buffer_create_on(ctx, LAC_I32, taken, &made.members, &members));
  LAC_TRY(group_fill(ctx, made.fine, made.coarse, aggregates, starts, members));
  LAC_TRY(look_regular(ctx, made.coarse, starts, members, &made.is_regular));  // and wait: all streams may read
  *out = made, made = (lac_aggregation){0};
done:
  matching_close(ctx, &m);
  lac_aggregation_clear(&made);
  return status;
}
