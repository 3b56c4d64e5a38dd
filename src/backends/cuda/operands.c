// SPDX-License-Identifier: Apache-2.0
/// @file operands.c
/// Arrays, patterns and scratch memory as launchers take them.

#include "backends/cuda/backend.h"

void cuda_axes_push(cuda_axes *axes, int64_t size, int64_t stride_x, int64_t stride_y) {
  const int64_t stride[2] = {stride_x, stride_y};
  int outer = axes->ndim - 1;

  axes->count *= size;
  if (size == 1) return;
  if (outer >= 0 && axes->stride[0][outer] == stride_x * size && axes->stride[1][outer] == stride_y * size) {
    axes->shape[outer] *= size;
  } else {
    axes->shape[++outer] = size;
    axes->ndim = outer + 1;
  }
  for (int o = 0; o < 2; ++o) axes->stride[o][outer] = stride[o];
}

cuda_batch cuda_batch_of(const lac_array *x, const lac_array *y, const lac_array *out, const int core[3],
                         int64_t size_x, int64_t size_y) {
  enum { X, Y, OUT };
  const lac_meta *metas[] = {&x->meta, &y->meta, &out->meta};
  cuda_batch batch = {.kept.count = 1, .summed.count = 1};
  lac_batch joint;

  lac_batch_init(&joint, 3, metas, core);
  for (int d = 0; d < joint.ndim; ++d) {
    cuda_axes *axes = joint.stride[OUT][d] ? &batch.kept : &batch.summed;
    cuda_axes_push(axes, joint.shape[d], joint.stride[X][d] * size_x, joint.stride[Y][d] * size_y);
  }
  return batch;
}

lac_status cuda_index_of(lac_context *ctx, const lac_buffer *buffer, cuda_index *out) {
  lac_status status = LAC_OK;
  cuda_index index = {NULL, LAC_I32};

  if (buffer) {
    LAC_TRY(lac_buffer_on(ctx, buffer, &index.data));
    index.type = buffer->type;
  }
  *out = index;
done:
  return status;
}

lac_status cuda_rows_of(lac_context *ctx, const lac_pattern *pattern, bool transposed, cuda_rows *out) {
  lac_status status = LAC_OK;
  lac_rows walk;
  cuda_rows rows;

  LAC_TRY(lac_pattern_walk(ctx, pattern, transposed, &walk));
  rows.rows = walk.rows;
  rows.entries = pattern->nnz;
  LAC_TRY(cuda_index_of(ctx, walk.offsets, &rows.offsets));
  LAC_TRY(cuda_index_of(ctx, walk.columns, &rows.columns));
  LAC_TRY(cuda_index_of(ctx, walk.slots, &rows.slots));
  *out = rows;
done:
  return status;
}

lac_status cuda_scratch_take(lac_context *ctx, const char *call, size_t bytes, cuda_scratch *out) {
  lac_status status = LAC_OK;

  out->bytes = bytes ? bytes : 1;
  out->data = ctx->space->allocate(ctx->space, out->bytes, ctx->stream);
  LAC_CHECK(out->data, LAC_ERR_MEMORY, "%s: out of memory: %zu bytes on cuda", call, bytes);
done:
  return status;
}

void cuda_scratch_release(lac_context *ctx, cuda_scratch *scratch) {
  if (scratch->data) ctx->space->release(ctx->space, scratch->data, scratch->bytes, ctx->stream);
}
