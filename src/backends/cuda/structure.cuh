// SPDX-License-Identifier: Apache-2.0
/// @file structure.cuh
/// What kernels over indices share: a loop over all threads, integers in the width they have, bisection.

#ifndef LACUNA_BACKENDS_CUDA_STRUCTURE_CUH
#define LACUNA_BACKENDS_CUDA_STRUCTURE_CUH

#include "backends/cuda/grid.cuh"

namespace lac_cuda {

/// f(i) for the indices of a grid-stride loop.
template <class F>
__global__ void __launch_bounds__(BLOCK) for_each(int64_t count, F f) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < count; i += step) f(i);
}

template <class F>
cudaError_t start(cudaStream_t stream, int64_t count, F f) {
  if (count == 0) return cudaSuccess;
  return launch(for_each<F>, blocks(ceil_div(count, BLOCK), MAX_X), stream, count, f);
}

__device__ inline void put(const cuda_integers &to, int64_t i, int64_t value) {
  if (to.type == LAC_I32) {
    static_cast<int32_t *>(to.data)[i] = static_cast<int32_t>(value);
  } else {
    static_cast<int64_t *>(to.data)[i] = value;
  }
}

/// Integer i of a list, or i itself where the list is NULL.
__device__ inline int64_t get_or_count(const cuda_index &index, int64_t i) { return index.data ? get(index, i) : i; }

/// The first p in [0, count) with list[p] >= value, or count.
__device__ inline int64_t lower_bound(const cuda_index &list, int64_t count, int64_t value) {
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (get(list, middle) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace lac_cuda

#endif
