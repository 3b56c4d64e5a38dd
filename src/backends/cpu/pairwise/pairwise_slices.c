// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_slices.c
/// The values of a coarse level from its rows into slices (kernels/pairwise.h).

#include "backends/cpu/pairwise/pairwise.h"
#include "backends/cpu/base/types.h"

typedef struct slice_job {
  const lac_buffer *offsets;
  const int32_t *columns, *starts, *firsts, *lists;
  int64_t rows, nnz, count, room;
  const void *values;
  void *out;
} slice_job;

#define KERNEL_FILE "backends/cpu/pairwise/pairwise_slice_kernel.h"
#include "backends/cpu/pairwise/pairwise_pairs.h"

static const cpu_part fills[4][2] = TABLE_PAIRS(fill_slices);

lac_status cpu_pairwise_sliced(lac_context *ctx, const lac_pattern *pattern, const lac_slices *slices,
                               const lac_array *values, lac_array *out) {
  lac_dtype from = values->meta.dtype;
  int64_t items = values->meta.shape[0];
  slice_job job = {.offsets = pattern->offsets,
                   .columns = pattern->columns->host,
                   .starts = slices->starts->host,
                   .firsts = slices->firsts->host,
                   .lists = slices->lists->host,
                   .rows = pattern->rows,
                   .nnz = pattern->nnz,
                   .count = slices->count,
                   .room = slices->room,
                   .values = cpu_data(values),
                   .out = cpu_edit(out)};
  cpu_split(cpu_threads(ctx, items * pattern->nnz), items * slices->count, 1, fills[from][from != out->meta.dtype],
            &job);
  return LAC_OK;
}
