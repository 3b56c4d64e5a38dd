// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_pattern.c
/// The pattern of P^T A P on the device: count, sum up, fill; or, where a row is long, sort all entries.

#include "backends/cuda/backend.h"
#include "backends/cuda/pairwise/tables.h"
#include "backends/cuda/structure.h"

static lac_status on_device(lac_context *ctx, const lac_buffer *buffer, const int **out) {
  const void *data = NULL;
  lac_status status = lac_buffer_on(ctx, buffer, &data);
  *out = data;
  return status;
}

lac_status cuda_pairwise_merge(lac_context *ctx, const lac_aggregation *aggregation, const cuda_rows *rows,
                               cuda_merge *out) {
  lac_status status = LAC_OK;
  *out = (cuda_merge){.rows = rows, .coarse = aggregation->coarse};
  LAC_TRY(on_device(ctx, aggregation->aggregates, &out->aggregates));
  LAC_TRY(on_device(ctx, aggregation->starts, &out->starts));
  LAC_TRY(on_device(ctx, aggregation->members, &out->members));
done:
  return status;
}

/// Offsets of the coarse pattern and how many entries there are; *is_long: it cannot be made so.
static lac_status merge_count(lac_context *ctx, const cuda_merge *m, cuda_integers offsets, int *is_long,
                              int64_t *entries) {
  lac_status status = LAC_OK;
  cuda_scratch flag = {NULL, 0}, sums = {NULL, 0};
  size_t size = lac_index_size(offsets.type);
  cuda_scope scope = cuda_begin(ctx);
  size_t bytes = cuda_slots_scratch(m->coarse + 1, offsets.type);
  cudaError_t error;

  cuda_leave(scope);
  LAC_TRY(cuda_scratch_take(ctx, "multigrid", sizeof *is_long, &flag));
  LAC_TRY(cuda_scratch_take(ctx, "multigrid", bytes, &sums));
  scope = cuda_begin(ctx);
  error = cuda_launch_merge_count(ctx->stream, m, offsets, flag.data);
  if (error == cudaSuccess) error = cuda_launch_add_up(ctx->stream, m->coarse + 1, offsets, sums.data, sums.bytes);
  LAC_TRY(cuda_end(ctx, scope, error, "multigrid"));
  LAC_TRY(ctx->backend->download(ctx, is_long, flag.data, sizeof *is_long));
  *entries = 0;  // of which 4 bytes may be read
  LAC_TRY(ctx->backend->download(ctx, entries, (const char *)offsets.data + (size_t)m->coarse * size, size));
done:
  cuda_scratch_release(ctx, &flag);
  cuda_scratch_release(ctx, &sums);
  return status;
}

static lac_status merge_fill(lac_context *ctx, const cuda_merge *m, cuda_integers offsets, int *columns) {
  lac_status status = LAC_OK;
  cuda_scope scope = cuda_begin(ctx);
  LAC_TRY(cuda_end(ctx, scope,
                   cuda_launch_merge_fill(ctx->stream, m, (cuda_index){offsets.data, offsets.type}, columns),
                   "multigrid"));
  LAC_TRY(ctx->backend->synchronize(ctx));  // all streams may read it
done:
  return status;
}

/// Entries by the aggregates of their rows and columns, sorted.
static lac_status merge_sorted(lac_context *ctx, const lac_pattern *pattern, const lac_aggregation *aggregation,
                               lac_width width, lac_buffer **offsets, lac_buffer **columns) {
  lac_status status = LAC_OK;
  const lac_buffer *rows_of = NULL;
  lac_buffer *row = NULL, *col = NULL;
  lac_entries entries = {.rows = aggregation->coarse, .cols = aggregation->coarse, .count = pattern->nnz};
  lac_entries_look look;

  LAC_TRY(lac_pattern_rows_of(ctx, pattern, &rows_of));
  LAC_TRY(cuda_structure_kernels.gather(ctx, aggregation->aggregates, rows_of, &row));
  LAC_TRY(cuda_structure_kernels.gather(ctx, aggregation->aggregates, pattern->columns, &col));
  entries.may_drop = true;
  entries.row.type = entries.col.type = LAC_I32;
  LAC_TRY(lac_buffer_on(ctx, row, &entries.row.data));
  LAC_TRY(lac_buffer_on(ctx, col, &entries.col.data));
  LAC_TRY(cuda_structure_kernels.look_at_entries(ctx, &entries, &look));
  entries.dropped = look.dropped;
  entries.canonical = look.canonical && look.dropped == 0;
  LAC_TRY(cuda_structure_kernels.build(ctx, "multigrid", &entries, &width, offsets, columns, NULL));
done:
  lac_object_release(row);
  lac_object_release(col);
  return status;
}

lac_status cuda_pairwise_coarse_pattern(lac_context *ctx, const lac_pattern *pattern,
                                        const lac_aggregation *aggregation, lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_width width = pattern->nnz > INT32_MAX ? LAC_WIDTH_64_32 : LAC_WIDTH_32_32;
  cuda_integers to_offsets = {NULL, lac_width_offsets(width)};
  lac_buffer *offsets = NULL, *columns = NULL;
  void *to_columns = NULL;
  int64_t entries = 0;
  int is_long = 0;
  cuda_rows rows;
  cuda_merge merge;

  LAC_TRY(cuda_rows_of(ctx, pattern, false, &rows));
  LAC_TRY(cuda_pairwise_merge(ctx, aggregation, &rows, &merge));
  LAC_TRY(lac_buffer_create_on(ctx, to_offsets.type, merge.coarse + 1, &offsets, &to_offsets.data));
  LAC_TRY(merge_count(ctx, &merge, to_offsets, &is_long, &entries));
  if (is_long) {
    lac_object_release(offsets);
    offsets = NULL;
    LAC_TRY(merge_sorted(ctx, pattern, aggregation, width, &offsets, &columns));
  } else {
    LAC_TRY(lac_buffer_create_on(ctx, LAC_I32, entries, &columns, &to_columns));
    LAC_TRY(merge_fill(ctx, &merge, to_offsets, to_columns));
  }
  LAC_TRY(lac_pattern_adopt(ctx, merge.coarse, merge.coarse, width, &offsets, &columns, out));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}
