// SPDX-License-Identifier: Apache-2.0
/// @file moves.c
/// Numbers that go elsewhere: to places along an axis, and along index maps.

#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/backend.h"

static const void *data_of(const lac_array *x) { return x->storage->data; }

// -- places along an axis --------------------------------------------------------------------------------------------

lac_status cuda_place(lac_context *ctx, int axis, int64_t count, const lac_array *x, lac_along from, lac_array *y,
                      lac_along to) {
  enum { X, Y };
  const lac_meta *metas[] = {&x->meta, &y->meta};
  cuda_axes axes = {.count = 1};
  lac_batch batch;
  size_t size = lac_dtype_size(x->meta.dtype);
  int64_t run = 1, sizes[] = {x->meta.shape[x->meta.ndim - 1 - axis], y->meta.shape[y->meta.ndim - 1 - axis]};

  for (int d = x->meta.ndim - axis; d < x->meta.ndim; ++d) run *= x->meta.shape[d];
  lac_batch_init(&batch, 2, metas, (const int[]){axis + 1, axis + 1});
  for (int d = 0; d < batch.ndim; ++d)
    cuda_axes_push(&axes, batch.shape[d], batch.stride[X][d] * sizes[X] * run, batch.stride[Y][d] * sizes[Y] * run);
  cuda_axes_push(&axes, count, from.step * run, to.step * run);
  cuda_axes_push(&axes, run, 1, 1);
  if (axes.count == 0) return LAC_OK;
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error =
      cuda_launch_place(ctx->stream, size, &axes, (const char *)data_of(x) + (size_t)(from.begin * run) * size,
                        (char *)y->storage->data + (size_t)(to.begin * run) * size);
  return cuda_end(ctx, scope, error, "place");
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
