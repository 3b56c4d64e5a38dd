// SPDX-License-Identifier: Apache-2.0
/// @file cublas.c
/// Looks for cuBLAS when it is first wanted and loads it; it is never linked, so that the library loads without it.
///
///     LACUNA_CUBLAS in the environment   that one, by name or path; "none": none
///     else                               libcublas.so.13, then libcublas.so.12, where the system or the process has it
///
/// A context has a handle and a workspace of its own: products on one stream then have the same bits in every run, and
/// none is allocated while a stream is captured.

#include "backends/cuda/arrays/cublas.h"

#include <dlfcn.h>
#include <library_types.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cublasContext *cublas_handle;  // as cuBLAS calls it

/// The words of cublas_api.h.
enum {
  CUBLAS_OK = 0,
  CUBLAS_LACKS_MEMORY = 3,
  CUBLAS_PLAIN = 0,
  CUBLAS_TRANSPOSED = 1,
  CUBLAS_ADJOINT = 2,
  CUBLAS_IN_SINGLE = 68,
  CUBLAS_IN_DOUBLE = 70,
  CUBLAS_ANY_ALGORITHM = -1
};

/// What NVIDIA says that products on Hopper want.
static const size_t workspace_bytes = (size_t)32 << 20;

typedef struct cublas {
  int (*create)(cublas_handle *handle);
  int (*destroy)(cublas_handle handle);
  int (*set_stream)(cublas_handle handle, cudaStream_t stream);
  int (*set_workspace)(cublas_handle handle, void *workspace, size_t bytes);
  int (*multiply)(cublas_handle handle, int form_a, int form_b, int m, int n, int k, const void *alpha, const void *a,
                  cudaDataType type_a, int lda, long long stride_a, const void *b, cudaDataType type_b, int ldb,
                  long long stride_b, const void *beta, void *c, cudaDataType type_c, int ldc, long long stride_c,
                  int count, int compute, int algorithm);
} cublas;

/// What a context keeps (cuda_data.cublas).
typedef struct cuda_cublas {
  cublas_handle handle;
  void *workspace;
} cuda_cublas;

static pthread_once_t find_once = PTHREAD_ONCE_INIT;
static cublas found;
static bool is_found;
static char find_refusal[320];  // why the one that is asked for does not serve; "": none is, or it does

// -- finding it ------------------------------------------------------------------------------------------------------

/// *function = a symbol of the library; ISO C has no cast from an object to a function.
static bool find_symbol(void *library, const char *symbol, void *function) {
  void *address = dlsym(library, symbol);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

static bool find_load(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  cublas all;
  is_found = library && find_symbol(library, "cublasCreate_v2", &all.create) &&
             find_symbol(library, "cublasDestroy_v2", &all.destroy) &&
             find_symbol(library, "cublasSetStream_v2", &all.set_stream) &&
             find_symbol(library, "cublasSetWorkspace_v2", &all.set_workspace) &&
             find_symbol(library, "cublasGemmStridedBatchedEx", &all.multiply);
  if (is_found) found = all;
  if (library && !is_found) dlclose(library);
  return is_found;
}

static void find(void) {
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
  const char *asked = getenv("LACUNA_CUBLAS");
  if (asked && strcmp(asked, "none") == 0) return;
  if (asked && *asked) {
    if (!find_load(asked)) {
      const char *why = dlerror();
      snprintf(find_refusal, sizeof find_refusal, "LACUNA_CUBLAS names '%.100s', which does not serve: %.150s", asked,
               why ? why : "it is no cuBLAS");
    }
    return;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (find_load(names[i])) return;
  }
}

lac_status cuda_cublas_serves(lac_context *ctx, const cuda_cublas_job *job, bool *out) {
  lac_status status = LAC_OK;
  int64_t most = job->m > job->n ? job->m : job->n;

  pthread_once(&find_once, find);
  LAC_CHECK(!*find_refusal, LAC_ERR_UNSUPPORTED,
            "matmul: %s; give the path of libcublas.so.13 or .12, or \"none\" for the library's own kernels",
            find_refusal);
  if (job->l > most) most = job->l;
  if (job->count > most) most = job->count;
  *out = is_found && most <= INT32_MAX && job->x_cols <= INT32_MAX && job->y_cols <= INT32_MAX;
done:
  return status;
}

// -- a context's handle ----------------------------------------------------------------------------------------------

/// A failure of cuBLAS as one of CUDA, which cuda_end has sentences for.
static cudaError_t error_of(int failure) {
  if (failure == CUBLAS_OK) return cudaSuccess;
  return failure == CUBLAS_LACKS_MEMORY ? cudaErrorMemoryAllocation : cudaErrorUnknown;
}

/// A handle takes memory, which a stream that is captured would forbid: this thread asks to be let.
static lac_status handle_make(lac_context *ctx, cublas_handle *out) {
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cuda_scope scope = cuda_begin(ctx);
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  cudaError_t error = error_of(found.create(out));
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  return cuda_end(ctx, scope, error, "cublasCreate");
}

static void *workspace_take(lac_context *ctx) {
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  void *workspace = ctx->space->allocate(ctx->space, workspace_bytes, LAC_EVERY_STREAM);
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  return workspace;
}

static lac_status open_once(lac_context *ctx) {
  lac_status status = LAC_OK;
  cuda_data *data = ctx->backend_data;
  cuda_cublas *made = NULL;

  if (data->cublas) return LAC_OK;
  LAC_ALLOC(made, 1);
  made->workspace = workspace_take(ctx);
  LAC_CHECK(made->workspace, LAC_ERR_MEMORY, "matmul: out of memory: %zu bytes for cuBLAS on cuda", workspace_bytes);
  LAC_TRY(handle_make(ctx, &made->handle));
  data->cublas = made, made = NULL;
done:
  if (made && made->workspace) ctx->space->release(ctx->space, made->workspace, workspace_bytes, LAC_EVERY_STREAM);
  lac_free(made);
  return status;
}

void cuda_cublas_close(lac_context *ctx) {
  cuda_data *data = ctx->backend_data;
  cuda_cublas *kept = data->cublas;
  if (!kept) return;
  cuda_scope scope = cuda_enter(ctx->device);
  (void)found.destroy(kept->handle);
  cuda_leave(scope);
  ctx->space->release(ctx->space, kept->workspace, workspace_bytes, LAC_EVERY_STREAM);
  lac_free(kept);
  data->cublas = NULL;
}

// -- products --------------------------------------------------------------------------------------------------------

static int form_of(lac_form form) {
  return form == LAC_ADJOINT ? CUBLAS_ADJOINT : form == LAC_TRANSPOSED ? CUBLAS_TRANSPOSED : CUBLAS_PLAIN;
}

/// Matrices by rows are, by columns, transposed ones: Z^T = op(Y)^T op(X)^T.
static int multiply(const cuda_cublas *kept, const cuda_cublas_job *job, const void *x, const void *y, void *z) {
  static const cudaDataType types[] = {
      [LAC_F32] = CUDA_R_32F, [LAC_F64] = CUDA_R_64F, [LAC_C64] = CUDA_C_32F, [LAC_C128] = CUDA_C_64F};
  const float one_single[2] = {1, 0}, beta_single[2] = {job->adds ? 1 : 0, 0};
  const double one[2] = {1, 0}, beta[2] = {job->adds ? 1 : 0, 0};
  bool is_single = lac_dtype_is_single(job->dtype);
  cudaDataType type = types[job->dtype];

  return found.multiply(kept->handle, form_of(job->form_y), form_of(job->form_x), (int)job->n, (int)job->m, (int)job->l,
                        is_single ? (const void *)one_single : one, y, type, (int)job->y_cols, job->stride_y, x, type,
                        (int)job->x_cols, job->stride_x, is_single ? (const void *)beta_single : beta, z, type,
                        (int)job->n, job->m * job->n, (int)job->count, is_single ? CUBLAS_IN_SINGLE : CUBLAS_IN_DOUBLE,
                        CUBLAS_ANY_ALGORITHM);
}

lac_status cuda_cublas_multiply(lac_context *ctx, const cuda_cublas_job *job, const void *x, const void *y, void *z) {
  lac_status status = LAC_OK;
  const cuda_data *data = ctx->backend_data;
  cuda_scope scope;
  int failure;

  LAC_TRY(open_once(ctx));
  scope = cuda_begin(ctx);
  failure = found.set_stream(data->cublas->handle, ctx->stream);  // and forgets the workspace
  if (failure == CUBLAS_OK)
    failure = found.set_workspace(data->cublas->handle, data->cublas->workspace, workspace_bytes);
  if (failure == CUBLAS_OK) failure = multiply(data->cublas, job, x, y, z);
  LAC_TRY(cuda_end(ctx, scope, error_of(failure), "cublasGemmStridedBatchedEx"));
done:
  return status;
}
