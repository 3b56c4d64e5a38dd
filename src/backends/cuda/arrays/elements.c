// SPDX-License-Identifier: Apache-2.0
/// @file elements.c
/// Arrays number by number: copies, arithmetic, functions, choices.

#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/backend.h"

static const void *data_of(const lac_array *x) { return x ? x->storage->data : NULL; }

// -- one array and a factor ------------------------------------------------------------------------------------------

/// The loop over arrays of as many numbers.
static lac_loop flat_loop(int64_t count) { return (lac_loop){.ndim = 1, .shape = {count}, .stride = {{1}, {1}}}; }

static lac_status map_run(lac_context *ctx, cuda_map map, const double alpha[2], const lac_loop *loop,
                          const lac_array *x, const lac_array *z, lac_array *y, const char *call) {
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error =
      cuda_launch_map(ctx->stream, y->meta.dtype, map, alpha, loop, data_of(x), data_of(z), y->storage->data);
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
  lac_loop loop = flat_loop(x->count);
  return map_run(ctx, CUDA_FILL, alpha, &loop, NULL, NULL, x, "fill");
}

lac_status cuda_scale(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y) {
  const double alpha[] = {real, imag};
  lac_loop loop = flat_loop(y->count);
  return map_run(ctx, CUDA_SCALE, alpha, &loop, x, NULL, y, "scale");
}

lac_status cuda_axpy(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y) {
  const double alpha[] = {real, imag};
  lac_loop loop = flat_loop(y->count);
  return map_run(ctx, CUDA_AXPY, alpha, &loop, x, y, y, "axpy");
}

lac_status cuda_conj(lac_context *ctx, const lac_array *x, lac_array *y) {
  lac_loop loop = flat_loop(y->count);
  return map_run(ctx, CUDA_CONJ, NULL, &loop, x, NULL, y, "conj");
}

lac_status cuda_broadcast(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  lac_loop loop = {.ndim = 0};
  lac_loop_masked(&y->meta, mask, loop.stride[0]);
  lac_loop_join(&loop, &y->meta);
  return map_run(ctx, CUDA_COPY, NULL, &loop, x, NULL, y, "broadcast");
}

// -- two arrays, and a choice between them ---------------------------------------------------------------------------

lac_status cuda_binary(lac_context *ctx, lac_binary op, const lac_array *x, const lac_array *y, lac_array *z) {
  lac_loop loop = {.ndim = 0};
  lac_loop_spread(&z->meta, &x->meta, loop.stride[0]);
  lac_loop_spread(&z->meta, &y->meta, loop.stride[1]);
  lac_loop_join(&loop, &z->meta);
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error =
      cuda_launch_binary(ctx->stream, z->meta.dtype, op, &loop, data_of(x), data_of(y), z->storage->data);
  return cuda_end(ctx, scope, error, "binary");
}

lac_status cuda_where(lac_context *ctx, const lac_array *c, const lac_array *x, const lac_array *y, lac_array *z) {
  lac_loop loop = {.ndim = 0};
  lac_loop_spread(&z->meta, &c->meta, loop.stride[0]);
  if (x) lac_loop_spread(&z->meta, &x->meta, loop.stride[1]);
  if (y) lac_loop_spread(&z->meta, &y->meta, loop.stride[2]);
  lac_loop_join(&loop, &z->meta);
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error =
      cuda_launch_where(ctx->stream, z->meta.dtype, &loop, data_of(c), data_of(x), data_of(y), z->storage->data);
  return cuda_end(ctx, scope, error, "where");
}

// -- functions of one array ------------------------------------------------------------------------------------------

lac_status cuda_unary(lac_context *ctx, lac_unary op, const lac_array *x, lac_array *y) {
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cuda_launch_unary(ctx->stream, x->meta.dtype, op, x->count, data_of(x), y->storage->data);
  return cuda_end(ctx, scope, error, "unary");
}

lac_status cuda_power(lac_context *ctx, double exponent, const lac_array *x, lac_array *y) {
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cuda_launch_power(ctx->stream, x->meta.dtype, exponent, x->count, data_of(x), y->storage->data);
  return cuda_end(ctx, scope, error, "power");
}

lac_status cuda_clamp(lac_context *ctx, double low, double high, const lac_array *x, lac_array *y) {
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error = cuda_launch_clamp(ctx->stream, x->meta.dtype, low, high, x->count, data_of(x), y->storage->data);
  return cuda_end(ctx, scope, error, "clamp");
}

lac_status cuda_cast(lac_context *ctx, const lac_array *x, lac_array *y) {
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error =
      cuda_launch_cast(ctx->stream, x->meta.dtype, y->meta.dtype, x->count, data_of(x), y->storage->data);
  return cuda_end(ctx, scope, error, "cast");
}

lac_status cuda_reciprocal(lac_context *ctx, const lac_array *x, lac_array *y, int64_t *fault) {
  lac_status status = LAC_OK;
  uint64_t first = 0;
  cuda_scratch word = {NULL, 0};
  cudaError_t error;
  cuda_scope scope;

  LAC_TRY(cuda_scratch_take(ctx, "reciprocal", sizeof first, &word));
  scope = cuda_begin(ctx);
  error = cuda_launch_reciprocal(ctx->stream, x->meta.dtype, x->count, data_of(x), y->storage->data, word.data);
  LAC_TRY(cuda_end(ctx, scope, error, "reciprocal"));
  LAC_TRY(ctx->backend->download(ctx, &first, word.data, sizeof first));
  *fault = first == UINT64_MAX ? -1 : (int64_t)first;
done:
  cuda_scratch_release(ctx, &word);
  return status;
}

// -- optimisers ------------------------------------------------------------------------------------------------------

lac_status cuda_adam(lac_context *ctx, const lac_adam *a, const lac_array *g, lac_array *m, lac_array *v,
                     lac_array *x) {
  cuda_scope scope = cuda_begin(ctx);
  cudaError_t error =
      cuda_launch_adam(ctx->stream, lac_dtype_is_single(x->meta.dtype), a, x->count * lac_dtype_parts(x->meta.dtype),
                       data_of(g), m->storage->data, v->storage->data, x->storage->data);
  return cuda_end(ctx, scope, error, "adam");
}
