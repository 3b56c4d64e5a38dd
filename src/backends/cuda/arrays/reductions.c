// SPDX-License-Identifier: Apache-2.0
/// @file reductions.c
/// Reductions over axes, softmax and running sums: their axes, and the memory for what their parts hold.

#include <math.h>

#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/backend.h"

static const void *data_of(const lac_array *x) { return x ? x->storage->data : NULL; }

/// The axes of x, by whether `mask` has them.
static cuda_batch axes_of(const lac_array *x, uint32_t mask) {
  cuda_batch axes = {.kept.count = 1, .summed.count = 1};
  int64_t stride = 1, strides[LAC_MAX_DIMS];
  int ndim = x->meta.ndim;

  for (int d = ndim - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= x->meta.shape[d];
  }
  for (int d = 0; d < ndim; ++d) {
    cuda_axes *group = mask >> (ndim - 1 - d) & 1 ? &axes.summed : &axes.kept;
    cuda_axes_push(group, x->meta.shape[d], strides[d], 0);
  }
  return axes;
}

// -- sums ------------------------------------------------------------------------------------------------------------

static lac_status sums_run(lac_context *ctx, const cuda_batch *axes, const lac_array *x, const lac_array *y,
                           lac_array *out, const char *call) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_scratch parts = {NULL, 0};
  cuda_scope scope;
  size_t bytes = out->count ? cuda_reduce_scratch(out->meta.dtype, axes) : 0;

  if (bytes) LAC_TRY(cuda_scratch_take(ctx, call, bytes, &parts));
  scope = cuda_begin(ctx);
  error =
      cuda_launch_reduce(ctx->stream, out->meta.dtype, axes, data_of(x), data_of(y), parts.data, out->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, call));
done:
  cuda_scratch_release(ctx, &parts);
  return status;
}

lac_status cuda_sum(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  cuda_batch axes = axes_of(x, mask);
  return sums_run(ctx, &axes, x, NULL, y, "sum");
}

lac_status cuda_dot(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array *s) {
  const int core[] = {2, 2, 0};
  const int64_t *last = x->meta.shape + x->meta.ndim - 2;
  int64_t size = last[0] * last[1];
  cuda_batch axes = cuda_batch_of(x, y, s, core, size, size);

  cuda_axes_push(&axes.summed, size, 1, 1);
  return sums_run(ctx, &axes, x, y, s, "dot");
}

// -- what is not a plain sum -----------------------------------------------------------------------------------------

/// y, or one state for each of its numbers.
static lac_status states_run(lac_context *ctx, lac_reduction op, const cuda_batch *axes, const lac_array *x, void *y,
                             void *states, const char *call) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_scratch parts = {NULL, 0};
  cuda_scope scope;
  size_t bytes = cuda_states_scratch(axes);

  if (bytes) LAC_TRY(cuda_scratch_take(ctx, call, bytes, &parts));
  scope = cuda_begin(ctx);
  error = cuda_launch_states(ctx->stream, x->meta.dtype, op, axes, data_of(x), parts.data, y, states);
  LAC_TRY(cuda_end(ctx, scope, error, call));
done:
  cuda_scratch_release(ctx, &parts);
  return status;
}

lac_status cuda_reduce(lac_context *ctx, lac_reduction op, const lac_array *x, uint32_t mask, lac_array *y) {
  cuda_batch axes = axes_of(x, mask);
  if (x->count == 0) return cuda_fill(ctx, y, op == LAC_REDUCE_NORM ? 0 : -(double)INFINITY, 0);
  return states_run(ctx, op, &axes, x, y->storage->data, NULL, "reduce");
}

/// Rows that fit into the registers of a group of threads.
static lac_status softmax_rows(lac_context *ctx, const cuda_batch *axes, const lac_array *x, lac_array *y) {
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cuda_launch_softmax_rows(ctx->stream, x->meta.dtype, axes->kept.count, axes->summed.count,
                                               data_of(x), y->storage->data);
  return cuda_end(ctx, scope, error, "softmax");
}

static lac_status softmax_by_states(lac_context *ctx, const cuda_batch *axes, uint32_t mask, const lac_array *x,
                                    lac_array *y) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_scratch states = {NULL, 0};
  cuda_scope scope;
  lac_loop loop = {.ndim = 0};

  LAC_TRY(cuda_scratch_take(ctx, "softmax", (size_t)axes->kept.count * sizeof(lac_state), &states));
  LAC_TRY(states_run(ctx, LAC_REDUCE_LOGSUMEXP, axes, x, NULL, states.data, "softmax"));
  lac_loop_spread(&x->meta, &x->meta, loop.stride[0]);
  lac_loop_masked(&x->meta, mask, loop.stride[1]);
  lac_loop_join(&loop, &x->meta);
  scope = cuda_begin(ctx);
  error = cuda_launch_softmax(ctx->stream, x->meta.dtype, &loop, data_of(x), states.data, y->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "softmax"));
done:
  cuda_scratch_release(ctx, &states);
  return status;
}

lac_status cuda_softmax(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  cuda_batch axes = axes_of(x, mask);
  const cuda_axes *kept = &axes.kept, *summed = &axes.summed;
  if (x->count == 0) return LAC_OK;
  bool is_row = summed->ndim == 0 || (summed->ndim == 1 && summed->stride[0][0] == 1);
  bool has_rows = is_row && (kept->ndim == 0 || (kept->ndim == 1 && kept->stride[0][0] == summed->count));
  if (has_rows && summed->count <= cuda_softmax_longest(x->meta.dtype)) return softmax_rows(ctx, &axes, x, y);
  return softmax_by_states(ctx, &axes, mask, x, y);
}

// -- running sums ----------------------------------------------------------------------------------------------------

lac_status cuda_cumsum(lac_context *ctx, int axis, bool backwards, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_scratch sums = {NULL, 0};
  cuda_scope scope;
  lac_dtype dtype = x->meta.dtype;
  int d = x->meta.ndim - 1 - axis;
  int64_t outer = 1, n = x->meta.shape[d], inner = 1;
  size_t bytes;

  for (int i = 0; i < d; ++i) outer *= x->meta.shape[i];
  for (int i = d + 1; i < x->meta.ndim; ++i) inner *= x->meta.shape[i];
  bytes = x->count ? cuda_cumsum_scratch(dtype, outer, n, inner) : 0;
  if (bytes) LAC_TRY(cuda_scratch_take(ctx, "cumsum", bytes, &sums));
  scope = cuda_begin(ctx);
  error = cuda_launch_cumsum(ctx->stream, dtype, outer, n, inner, backwards, data_of(x), sums.data, y->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "cumsum"));
done:
  cuda_scratch_release(ctx, &sums);
  return status;
}
