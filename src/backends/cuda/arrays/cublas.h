// SPDX-License-Identifier: Apache-2.0
/// @file cublas.h
/// cuBLAS, which is found at run time: a handle for each context that asks for one.

#ifndef LACUNA_BACKENDS_CUDA_ARRAYS_CUBLAS_H
#define LACUNA_BACKENDS_CUDA_ARRAYS_CUBLAS_H

#include "backends/cuda/backend.h"

/// Products of m x l and l x n matrices, `count` of them, as cuBLAS takes them: by columns. Forms are those of matrices
/// by rows; none is LAC_CONJUGATED. Strides lead from one product to the next; z has none between its matrices.
typedef struct cuda_cublas_job {
  lac_dtype dtype;
  lac_form form_x, form_y;
  int64_t m, l, n;
  int64_t x_cols, y_cols;  // of X and Y as they are stored
  int64_t count, stride_x, stride_y;
  bool adds;  // to what Z has
} cuda_cublas_job;

/// Whether a product can be left to cuBLAS: its numbers fit, and there is one. *out is false where there is none.
/// LAC_ERR_UNSUPPORTED where LACUNA_CUBLAS names one that does not serve.
lac_status cuda_cublas_serves(lac_context *ctx, const cuda_cublas_job *job, bool *out);

/// Z = op(X) op(Y) for each, on the context's stream. The first call makes the context's handle.
lac_status cuda_cublas_multiply(lac_context *ctx, const cuda_cublas_job *job, const void *x, const void *y, void *z);

#endif
