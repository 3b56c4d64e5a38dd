// SPDX-License-Identifier: Apache-2.0
/// @file columns.c
/// The kernels columns and column_step on CUDA: passes of at most CUDA_COLUMN_OPS operations, and room for the sums of
/// blocks.

#include "backends/cuda/backend.h"

static lac_status columns_pass(lac_context *ctx, int count, const lac_column_op *ops, lac_array *state) {
  lac_status status = LAC_OK;
  const int64_t items = state->meta.shape[1], k = state->meta.shape[2];
  const int64_t n = ops[0].y->count / (items * k);
  cuda_column_pass pass = {.count = count};
  cudaError_t error = cudaSuccess;
  cuda_scope scope;
  void *scratch = NULL;
  size_t bytes;
  int dots = 0;

  for (int o = 0; o < count; ++o) {
    pass.op[o] =
        (cuda_column_op){ops[o].what, ops[o].slot, ops[o].sign, ops[o].x->storage->data, ops[o].y->storage->data};
    dots += ops[o].what == LAC_COLUMN_DOT;
  }
  bytes = dots ? cuda_columns_scratch(items, n, k, dots) : 0;
  if (bytes) {
    scratch = ctx->space->allocate(ctx->space, bytes, ctx->stream);
    LAC_CHECK(scratch, LAC_ERR_MEMORY, "columns: out of memory: %zu bytes of partial sums on cuda", bytes);
  }
  scope = cuda_begin(ctx);
  error = cuda_launch_columns(ctx->stream, ops[0].y->meta.dtype, items, n, k, &pass, state->storage->data, scratch);
  LAC_TRY(cuda_end(ctx, scope, error, "columns"));
done:
  if (scratch) ctx->space->release(ctx->space, scratch, bytes, ctx->stream);
  return status;
}

lac_status cuda_columns(lac_context *ctx, int count, const lac_column_op *ops, lac_array *state) {
  lac_status status = LAC_OK;
  if (state->count == 0) return LAC_OK;
  for (int o = 0; o < count; o += CUDA_COLUMN_OPS) {
    int some = count - o < CUDA_COLUMN_OPS ? count - o : CUDA_COLUMN_OPS;
    LAC_TRY(columns_pass(ctx, some, ops + o, state));
  }
done:
  return status;
}

lac_status cuda_column_step(lac_context *ctx, lac_column_step step, const lac_step_numbers *numbers, lac_array *state) {
  int64_t columns = state->meta.shape[1] * state->meta.shape[2];
  cuda_scope scope;
  if (columns == 0) return LAC_OK;
  scope = cuda_begin(ctx);
  return cuda_end(ctx, scope, cuda_launch_column_step(ctx->stream, step, numbers, columns, state->storage->data),
                  "column_step");
}
