// SPDX-License-Identifier: Apache-2.0
/// @file cuda_must.h
/// What benchmarks of CUDA in C expect: a call that fails ends the program with its sentence.

#ifndef LACUNA_BENCH_CUDA_MUST_H
#define LACUNA_BENCH_CUDA_MUST_H

#include <cuda_runtime_api.h>
#include <lacuna/lacuna.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must(lac_context *ctx, lac_status status) {
  if (status == LAC_OK) return;
  fprintf(stderr, "%s\n", lac_context_error(ctx));
  exit(1);
}

static inline void must_cuda(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(error));
  exit(1);
}

#endif
