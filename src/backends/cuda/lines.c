// SPDX-License-Identifier: Apache-2.0
/// @file lines.c
/// The longest line, which is looked for once and kept with its offsets (lac_buffer_longest).

#include "backends/cuda/lines.h"

#include "backends/cuda/backend.h"

lac_status cuda_longest(lac_context *ctx, const lac_buffer *offsets, lac_longest *out) {
  lac_status status = LAC_OK;
  cuda_scratch memory = {NULL, 0};
  cuda_longest_line found = {0, 0};
  cuda_index on_offsets;
  cuda_scope scope;

  LAC_TRY(cuda_index_of(ctx, offsets, &on_offsets));
  LAC_TRY(cuda_scratch_take(ctx, "pattern", sizeof found, &memory));
  scope = cuda_begin(ctx);
  LAC_TRY(
      cuda_end(ctx, scope, cuda_launch_longest(ctx->stream, offsets->count - 1, on_offsets, memory.data), "pattern"));
  LAC_TRY(ctx->backend->download(ctx, &found, memory.data, sizeof found));
  *out = (lac_longest){found.line, found.count, true};
done:
  cuda_scratch_release(ctx, &memory);
  return status;
}

/// CUDA's last error is cleared: it must not be reported by a later call.
bool cuda_is_captured(lac_context *ctx) {
  enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cudaStreamIsCapturing(ctx->stream, &capture);
  if (error != cudaSuccess) (void)cudaGetLastError();
  cuda_leave(scope);
  return error != cudaSuccess || capture != cudaStreamCaptureStatusNone;
}

lac_status cuda_lengths_of(lac_context *ctx, const lac_buffer *offsets, int64_t entries, cuda_lengths *out) {
  lac_status status = LAC_OK;
  lac_longest longest = {0, 0, false};

  if (lac_buffer_knows_longest(offsets) || !cuda_is_captured(ctx)) LAC_TRY(lac_buffer_longest(ctx, offsets, &longest));
  *out = (cuda_lengths){.lines = offsets->count - 1, .entries = entries, .longest = longest.count};
done:
  return status;
}
