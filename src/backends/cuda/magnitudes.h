// SPDX-License-Identifier: Apache-2.0
/// @file magnitudes.h
/// The launcher of magnitudes, as C sees it.

#ifndef LACUNA_BACKENDS_CUDA_MAGNITUDES_H
#define LACUNA_BACKENDS_CUDA_MAGNITUDES_H

#include "backends/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Scales [items, 2, k] by the magnitudes of x [items, rows, k] and of unit [items, 2] or NULL. `words` are items k.
cudaError_t cuda_launch_magnitudes(cudaStream_t stream, lac_dtype dtype, int64_t items, int64_t rows, int64_t k,
                                   const void *x, const double *unit, unsigned long long *words, double *scale);

#ifdef __cplusplus
}
#endif
#endif
