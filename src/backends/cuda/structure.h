// SPDX-License-Identifier: Apache-2.0
/// @file structure.h
/// Launchers over indices that other rooms use too, and the band of a pattern.

#ifndef LACUNA_BACKENDS_CUDA_STRUCTURE_H
#define LACUNA_BACKENDS_CUDA_STRUCTURE_H

#include "backends/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/// numbers[i] = numbers[0] + ... + numbers[i]. `scratch` has the bytes that cuda_slots_scratch says.
cudaError_t cuda_launch_add_up(cudaStream_t stream, int64_t count, cuda_integers numbers, void *scratch, size_t bytes);

/// The members of lac_band.
typedef struct cuda_band {
  int64_t low, high;                    // begin as INT64_MAX and INT64_MIN
  int64_t first_without, last_without;  // begin as -1
} cuda_band;
cudaError_t cuda_launch_band(cudaStream_t stream, int64_t rows, cuda_index offsets, cuda_index columns, cuda_band *out);

#ifdef __cplusplus
}
#endif
#endif
