// SPDX-License-Identifier: Apache-2.0
/// @file arrays.c
/// Arrays on the device: number by number, sums, index maps.

#include "backends/cuda/backend.h"

static const void *data_of(const lac_array *x) { return x->storage->data; }

// -- number by number ------------------------------------------------------------------------------------------------

/// One axis along which all operands run together.
static cuda_axes axes_along(int64_t count) {
  cuda_axes axes = {.count = 1};
  cuda_axes_push(&axes, count, 1, 1);
  return axes;
}

static lac_status arrays_map(lac_context *ctx, cuda_map map, const double alpha[2], const cuda_axes *axes,
                             const lac_array *x, const lac_array *z, lac_array *y, const char *call) {
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cuda_launch_map(ctx->stream, y->meta.dtype, map, alpha, axes, x ? data_of(x) : NULL,
                                      z ? data_of(z) : NULL, y->storage->data);
  return cuda_end(ctx, scope, error, call);
}

lac_status cuda_copy(lac_context *ctx, const lac_array *from, lac_array *to) {
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cudaSuccess;
  if (from->count && data_of(from) != data_of(to)) {
    error =
        cudaMemcpyAsync(to->storage->data, data_of(from), lac_array_bytes(from), cudaMemcpyDeviceToDevice, ctx->stream);
  }
  return cuda_end(ctx, scope, error, "copy");
}

lac_status cuda_fill(lac_context *ctx, lac_array *x, double real, double imag) {
  const double alpha[] = {real, imag};
  cuda_axes axes = axes_along(x->count);
  return arrays_map(ctx, CUDA_FILL, alpha, &axes, NULL, NULL, x, "fill");
}

/// The stride of each axis of the joint shape in an operand, aligned at the right; 0 where it is broadcast.
static void strides_in(const lac_meta *x, int ndim, int64_t stride[LAC_MAX_DIMS]) {
  int64_t inner = 1;
  for (int d = ndim - 1; d >= 0; --d) {
    int own = d - (ndim - x->ndim);
    int64_t size = own >= 0 ? x->shape[own] : 1;
    stride[d] = size == 1 ? 0 : inner;
    inner *= size;
  }
}

lac_status cuda_binary(lac_context *ctx, lac_binary op, const lac_array *x, const lac_array *y, lac_array *z) {
  static const cuda_map maps[] = {[LAC_ADD] = CUDA_ADD, [LAC_SUB] = CUDA_SUB, [LAC_MUL] = CUDA_MUL};
  static const char *const names[] = {[LAC_ADD] = "add", [LAC_SUB] = "sub", [LAC_MUL] = "mul"};
  lac_status status = LAC_OK;
  cuda_axes axes = {.count = 1};
  int64_t in_x[LAC_MAX_DIMS], in_y[LAC_MAX_DIMS];

  LAC_CHECK(
      op <= LAC_MUL, LAC_ERR_UNSUPPORTED,
      "binary: the backend cuda has no kernel for division, powers and comparisons; copy the arrays to a cpu context");
  strides_in(&x->meta, z->meta.ndim, in_x);
  strides_in(&y->meta, z->meta.ndim, in_y);
  for (int d = 0; d < z->meta.ndim; ++d) cuda_axes_push(&axes, z->meta.shape[d], in_x[d], in_y[d]);
  LAC_TRY(arrays_map(ctx, maps[op], NULL, &axes, x, y, z, names[op]));
done:
  return status;
}

lac_status cuda_scale(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y) {
  const double alpha[] = {real, imag};
  cuda_axes axes = axes_along(y->count);
  return arrays_map(ctx, CUDA_SCALE, alpha, &axes, x, NULL, y, "scale");
}

lac_status cuda_axpy(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y) {
  const double alpha[] = {real, imag};
  cuda_axes axes = axes_along(y->count);
  return arrays_map(ctx, CUDA_AXPY, alpha, &axes, x, y, y, "axpy");
}

lac_status cuda_conj(lac_context *ctx, const lac_array *x, lac_array *y) {
  cuda_axes axes = axes_along(y->count);
  return arrays_map(ctx, CUDA_CONJ, NULL, &axes, x, NULL, y, "conj");
}

lac_status cuda_broadcast(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  cuda_axes axes = {.count = 1};
  int64_t stride[LAC_MAX_DIMS], inner = 1;
  int ndim = y->meta.ndim;

  for (int d = ndim - 1; d >= 0; --d) {
    bool spread = mask >> (ndim - 1 - d) & 1;
    stride[d] = spread ? 0 : inner;
    if (!spread) inner *= y->meta.shape[d];
  }
  for (int d = 0; d < ndim; ++d) cuda_axes_push(&axes, y->meta.shape[d], stride[d], 0);
  return arrays_map(ctx, CUDA_COPY, NULL, &axes, x, NULL, y, "broadcast");
}

// -- sums ------------------------------------------------------------------------------------------------------------

static lac_status arrays_reduce(lac_context *ctx, const cuda_batch *axes, const lac_array *x, const lac_array *y,
                                lac_array *out, const char *call) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_scope scope;
  void *scratch = NULL;
  size_t bytes = out->count ? cuda_reduce_scratch(out->meta.dtype, axes) : 0;

  if (bytes) {
    scratch = ctx->space->allocate(ctx->space, bytes, ctx->stream);
    LAC_CHECK(scratch, LAC_ERR_MEMORY, "%s: out of memory: %zu bytes of partial sums on cuda", call, bytes);
  }
  scope = cuda_begin(ctx);
  error = cuda_launch_reduce(ctx->stream, out->meta.dtype, axes, data_of(x), y ? data_of(y) : NULL, scratch,
                             out->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, call));
done:
  if (scratch) ctx->space->release(ctx->space, scratch, bytes, ctx->stream);
  return status;
}

lac_status cuda_sum(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
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
  return arrays_reduce(ctx, &axes, x, NULL, y, "sum");
}

lac_status cuda_dot(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array *s) {
  const int core[] = {2, 2, 0};
  const int64_t *last = x->meta.shape + x->meta.ndim - 2;
  int64_t size = last[0] * last[1];
  cuda_batch axes = cuda_batch_of(x, y, s, core, size, size);

  cuda_axes_push(&axes.summed, size, 1, 1);
  return arrays_reduce(ctx, &axes, x, y, s, "dot");
}

// -- index maps ------------------------------------------------------------------------------------------------------

/// Entries of k numbers, in each item of a batch.
typedef struct entries {
  int64_t batch, k;
} entries;

static entries entries_of(const lac_meta *meta, int rest) {
  entries e = {1, 1};
  int axis = meta->ndim - 1 - rest;
  for (int d = 0; d < axis; ++d) e.batch *= meta->shape[d];
  for (int d = axis + 1; d < meta->ndim; ++d) e.k *= meta->shape[d];
  return e;
}

/// M x where several inputs share a target.
static lac_status remap_grouped(lac_context *ctx, const lac_map *map, entries e, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  const lac_buffer *offsets = NULL, *sources = NULL;
  cuda_index on_offsets, on_sources;
  cudaError_t error = cudaSuccess;
  cuda_scope scope;

  LAC_TRY(lac_map_groups(ctx, map, &offsets, &sources));
  LAC_TRY(cuda_index_of(ctx, offsets, &on_offsets));
  LAC_TRY(cuda_index_of(ctx, sources, &on_sources));
  scope = cuda_begin(ctx);
  error = cuda_launch_group(ctx->stream, x->meta.dtype, e.batch, map->inputs, map->outputs, e.k, on_offsets, on_sources,
                            data_of(x), y->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "remap"));
done:
  return status;
}

/// M x where no two inputs share a target, or M^T x.
static lac_status remap_direct(lac_context *ctx, const lac_map *map, bool transposed, entries e, const lac_array *x,
                               lac_array *y) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_index target;
  cuda_scope scope;

  LAC_TRY(cuda_index_of(ctx, map->target, &target));
  scope = cuda_begin(ctx);
  if (transposed) {
    error = cuda_launch_gather(ctx->stream, x->meta.dtype, e.batch, map->outputs, map->inputs, e.k, target, data_of(x),
                               y->storage->data);
  } else {
    error = cuda_launch_scatter(ctx->stream, x->meta.dtype, e.batch, map->inputs, map->outputs, e.k, target, data_of(x),
                                y->storage->data);
  }
  LAC_TRY(cuda_end(ctx, scope, error, "remap"));
done:
  return status;
}

lac_status cuda_remap(lac_context *ctx, const lac_map *map, lac_form form, int rest, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  entries e = entries_of(&x->meta, rest);
  bool transposed = lac_form_transposes(form);

  if (map->is_identity) {
    LAC_TRY(cuda_copy(ctx, x, y));
  } else if (transposed || map->is_injective) {
    LAC_TRY(remap_direct(ctx, map, transposed, e, x, y));
  } else {
    LAC_TRY(remap_grouped(ctx, map, e, x, y));
  }
done:
  return status;
}
