// SPDX-License-Identifier: Apache-2.0
/// @file device.c
/// The CUDA backend: its table, its door, its bytes, and the one function that its library exports.
///
/// A context works on one device and on the stream it was given. Every entry makes that device current and restores the
/// caller's. Nothing waits but synchronize, upload and download. What goes wrong in a kernel comes out of the first of
/// these after it, or of a later launch: CUDA reports it there.

#include <string.h>

#include "backends/cuda/backend.h"
#include "backends/plugin.h"
#include "core/plugin/guest/guest.h"

// -- the current device ----------------------------------------------------------------------------------------------

cuda_scope cuda_enter(int device) {
  cuda_scope scope = {device, device};
  (void)cudaGetDevice(&scope.before);
  if (scope.before != device) (void)cudaSetDevice(device);
  return scope;
}

void cuda_leave(cuda_scope scope) {
  if (scope.before != scope.now) (void)cudaSetDevice(scope.before);
}

lac_status cuda_end(lac_context *ctx, cuda_scope scope, cudaError_t error, const char *call) {
  cuda_leave(scope);
  if (error == cudaSuccess) return LAC_OK;
  (void)cudaGetLastError();  // it is reported here, and not once more by a later call of CUDA
  return lac_context_fail(ctx, error == cudaErrorMemoryAllocation ? LAC_ERR_MEMORY : LAC_ERR_BACKEND, call,
                          "cuda: %s on device %d: %s (%s)", call, scope.now, cudaGetErrorString(error),
                          cudaGetErrorName(error));
}

// -- the door --------------------------------------------------------------------------------------------------------

/// Kernels are compiled for compute capability 8.0 and up, and memory comes from pools.
static lac_status device_check(lac_context *ctx, int device) {
  lac_status status = LAC_OK;
  int count = 0, major = 0, pools = 0;
  cudaError_t error = cudaGetDeviceCount(&count);

  if (error != cudaSuccess) (void)cudaGetLastError();
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  LAC_CHECK(error == cudaSuccess, LAC_ERR_UNSUPPORTED, "cuda: no device: %s", cudaGetErrorString(error));
  LAC_CHECK(device >= 0 && device < count, LAC_ERR_UNSUPPORTED,
            "cuda: device %d was asked for, and there are %d: choose 0 to %d", device, count, count - 1);
  (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  (void)cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device);
  LAC_CHECK(major >= 8, LAC_ERR_UNSUPPORTED, "cuda: device %d has compute capability %d; 8 or more is needed", device,
            major);
  LAC_CHECK(pools, LAC_ERR_UNSUPPORTED, "cuda: device %d has no memory pools (cudaMallocAsync)", device);
done:
  return status;
}

static lac_status cuda_open(lac_context *ctx, int device) {
  lac_status status = LAC_OK;
  cuda_data *data = NULL;
  lac_space *space = NULL;
  cuda_scope scope;

  LAC_TRY(device_check(ctx, device));
  LAC_TRY(cuda_space_find(ctx, device, &space));
  LAC_ALLOC(data, 1);
  data->ctx = ctx;
  ctx->space = space;
  ctx->device = device;
  ctx->threads = 1;
  ctx->backend_data = data;
  scope = cuda_enter(device);
  LAC_TRY(cuda_end(ctx, scope, cuda_faults_open(data), "cudaHostAlloc"));
  cuda_space_join(space, data), data = NULL;
done:
  lac_free(data);
  return status;
}

static void cuda_close(lac_context *ctx) {
  cuda_data *data = ctx->backend_data;
  cuda_cublas_close(ctx);
  cuda_faults_close(data);
  cuda_space_part(ctx->space, data);
  lac_free(data);
}

static lac_status cuda_synchronize(lac_context *ctx) {
  lac_status status = LAC_OK;
  cuda_scope scope = cuda_begin(ctx);
  lac_memory_count_wait(ctx->space);
  LAC_TRY(cuda_end(ctx, scope, cudaStreamSynchronize(ctx->stream), "cudaStreamSynchronize"));
  cuda_space_settle(ctx->space);
done:
  return status;
}

// -- bytes -----------------------------------------------------------------------------------------------------------

static cudaError_t bytes_move(lac_context *ctx, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  cudaError_t error = bytes ? cudaMemcpyAsync(to, from, bytes, kind, ctx->stream) : cudaSuccess;
  lac_memory_count_wait(ctx->space);
  return error == cudaSuccess ? cudaStreamSynchronize(ctx->stream) : error;
}

static lac_status cuda_upload(lac_context *ctx, void *to, const void *from_host, size_t bytes) {
  lac_memory_count_transfer(ctx->space, LAC_TO_DEVICE, bytes);
  cuda_scope scope = cuda_begin(ctx);
  return cuda_end(ctx, scope, bytes_move(ctx, to, from_host, bytes, cudaMemcpyHostToDevice), "upload");
}

static lac_status cuda_download(lac_context *ctx, void *to_host, const void *from, size_t bytes) {
  lac_memory_count_transfer(ctx->space, LAC_TO_HOST, bytes);
  cuda_scope scope = cuda_begin(ctx);
  return cuda_end(ctx, scope, bytes_move(ctx, to_host, from, bytes, cudaMemcpyDeviceToHost), "download");
}

// -- the table -------------------------------------------------------------------------------------------------------

static const lac_claim cuda_claim_list[] = {
#define LAC_HAS(slot)
#define LAC_CLAIM(kind, name, dtypes, blocks) {LAC_CLAIM_##kind, #name, LAC_CLAIM_##dtypes, LAC_CLAIM_##blocks},
#include "backends/cuda/claims.def"
#undef LAC_HAS
#undef LAC_CLAIM
};

static const lac_claims cuda_claims = {sizeof cuda_claim_list / sizeof *cuda_claim_list, cuda_claim_list};

static const lac_kernels cuda_kernels = {
#define LAC_HAS(slot) .slot = cuda_##slot,
#define LAC_CLAIM(kind, name, dtypes, blocks)
#include "backends/cuda/claims.def"
#undef LAC_HAS
#undef LAC_CLAIM
    .grid = &cuda_grid_kernels,
    .pairwise = &cuda_pairwise_kernels,
    .claims = &cuda_claims,
};

static const lac_backend cuda_backend = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .synchronize = cuda_synchronize,
    .faults = cuda_faults,
    .share_faults = cuda_share_faults,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .kernels = &cuda_kernels,
    .structure = &cuda_structure_kernels,
};

LAC_API lac_plugin_open lac_plugin_cuda;

const void *lac_plugin_cuda(const lac_host *host, const void *more) {
  static const size_t sizes[] = LAC_BACKEND_SIZES;
  const lac_backend_host *tables = more;
  return lac_guest_start(host) && memcmp(tables->sizes, sizes, sizeof sizes) == 0 ? &cuda_backend : NULL;
}
