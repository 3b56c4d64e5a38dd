// SPDX-License-Identifier: Apache-2.0
/// @file groups.c
/// Numbers and matrices of the groups of a map, on the device.

#include "backends/cuda/groups/groups.h"

#include "backends/cuda/backend.h"

/// The groups of a map where kernels reach them.
static lac_status groups_of(lac_context *ctx, const lac_map *map, cuda_groups *out) {
  lac_status status = LAC_OK;
  const lac_buffer *offsets = NULL, *sources = NULL;
  cuda_groups g = {.inputs = map->inputs, .outputs = map->outputs};

  LAC_TRY(lac_map_runs(ctx, map, &offsets, &sources));
  LAC_TRY(cuda_index_of(ctx, map->target, &g.target));
  LAC_TRY(cuda_index_of(ctx, offsets, &g.offsets));
  LAC_TRY(cuda_index_of(ctx, sources, &g.sources));
  LAC_TRY(cuda_lengths_of(ctx, offsets, map->inputs, &g.lengths));
  *out = g;
done:
  return status;
}

/// The size of an axis, counted from the end.
static int64_t size_of(const lac_array *x, int from_end) { return x->meta.shape[x->meta.ndim - from_end]; }

// -- numbers ---------------------------------------------------------------------------------------------------------

lac_status cuda_segment_scale(lac_context *ctx, const lac_map *map, const lac_array *d, const lac_array *a,
                              lac_array *y) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {1, 1, 1};
  cuda_groups g = {.inputs = map->inputs, .outputs = map->outputs};
  cuda_batch batch;
  cuda_scope scope;

  if (y->count == 0) return LAC_OK;
  LAC_TRY(cuda_index_of(ctx, map->target, &g.target));
  batch = cuda_batch_of(d, a, y, core, map->outputs, map->inputs);
  scope = cuda_begin(ctx);
  error = cuda_launch_segment_scale(ctx->stream, y->meta.dtype, &g, &batch, d->storage->data, a->storage->data,
                                    y->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "segment_scale"));
done:
  return status;
}

lac_status cuda_segment_dot(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v,
                            lac_array *s) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {1, 1, 1};
  cuda_scratch scratch = {NULL, 0};
  cuda_groups g;
  cuda_batch batch;
  size_t bytes;
  cuda_scope scope;

  if (s->count == 0) return LAC_OK;
  LAC_TRY(groups_of(ctx, map, &g));
  batch = cuda_batch_of(u, v, s, core, map->inputs, map->inputs);
  bytes = cuda_segment_dot_scratch(s->meta.dtype, &g, batch.kept.count);
  if (bytes) LAC_TRY(cuda_scratch_take(ctx, "segment_dot", bytes, &scratch));
  scope = cuda_begin(ctx);
  error = cuda_launch_segment_dot(ctx->stream, s->meta.dtype, &g, &batch, u->storage->data, v->storage->data,
                                  scratch.data, s->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "segment_dot"));
done:
  cuda_scratch_release(ctx, &scratch);
  return status;
}

lac_status cuda_segment(lac_context *ctx, lac_segment what, const lac_map *map, int64_t full, const lac_array *x,
                        lac_array *y) {
  static const cuda_reduction kinds[] = {[LAC_SEGMENT_LOGSUMEXP] = CUDA_LOGSUMEXP, [LAC_SEGMENT_SOFTMAX] = CUDA_SOFTMAX,
                                         [LAC_SEGMENT_MAX] = CUDA_EXTREME,         [LAC_SEGMENT_MIN] = CUDA_EXTREME,
                                         [LAC_SEGMENT_MAX_TIES] = CUDA_TIES,       [LAC_SEGMENT_MIN_TIES] = CUDA_TIES};
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_scratch scratch = {NULL, 0};
  cuda_segment_job job = {.what = kinds[what], .full = full};
  size_t bytes;
  cuda_scope scope;

  if (y->count == 0) return LAC_OK;
  LAC_TRY(groups_of(ctx, map, &job.groups));
  job.items = y->count / size_of(y, 1);
  job.sign = what == LAC_SEGMENT_MIN || what == LAC_SEGMENT_MIN_TIES ? -1 : 1;
  bytes = cuda_segment_scratch(y->meta.dtype, &job);
  if (bytes) LAC_TRY(cuda_scratch_take(ctx, "segment", bytes, &scratch));
  scope = cuda_begin(ctx);
  error = cuda_launch_segment(ctx->stream, y->meta.dtype, &job, x->storage->data, scratch.data, y->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "segment"));
done:
  cuda_scratch_release(ctx, &scratch);
  return status;
}

// -- matrices --------------------------------------------------------------------------------------------------------

lac_status cuda_gather_mm(lac_context *ctx, const lac_map *map, lac_form form, const lac_array *a, const lac_array *b,
                          lac_array *y) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {2, 3, 2};
  cuda_gather g = {.d = size_of(b, 2), .e = size_of(b, 1)};
  cuda_scope scope;

  if (y->count == 0) return LAC_OK;
  LAC_TRY(groups_of(ctx, map, &g.groups));
  g.batch = cuda_batch_of(a, b, y, core, map->inputs * size_of(a, 1), map->outputs * g.d * g.e);
  scope = cuda_begin(ctx);
  error = cuda_launch_gather_mm(ctx->stream, y->meta.dtype, &g, lac_form_transposes(form), lac_form_conjugates(form),
                                a->storage->data, b->storage->data, y->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "gather_mm"));
done:
  return status;
}

lac_status cuda_gather_outer(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v,
                             lac_array *w) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  const int core[] = {2, 2, 3};
  cuda_scratch scratch = {NULL, 0};
  cuda_gather g = {.d = size_of(w, 2), .e = size_of(w, 1)};
  size_t bytes;
  cuda_scope scope;

  if (w->count == 0) return LAC_OK;
  LAC_TRY(groups_of(ctx, map, &g.groups));
  g.batch = cuda_batch_of(u, v, w, core, map->inputs * g.d, map->inputs * g.e);
  bytes = cuda_gather_outer_scratch(w->meta.dtype, &g);
  if (bytes) LAC_TRY(cuda_scratch_take(ctx, "gather_outer", bytes, &scratch));
  scope = cuda_begin(ctx);
  error = cuda_launch_gather_outer(ctx->stream, w->meta.dtype, &g, u->storage->data, v->storage->data, scratch.data,
                                   w->storage->data);
  LAC_TRY(cuda_end(ctx, scope, error, "gather_outer"));
done:
  cuda_scratch_release(ctx, &scratch);
  return status;
}
