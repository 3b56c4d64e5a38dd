// SPDX-License-Identifier: Apache-2.0
/// @file reciprocal.cu
/// Reciprocals, and the place of the first zero: a minimum of integers, which no order changes.

#include "backends/cuda/arrays/functions.cuh"
#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

template <class T>
__global__ void __launch_bounds__(BLOCK) reciprocals(int64_t count, const T *x, T *y, unsigned long long *first) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < count; i += step) {
    T inverse = quotient(Number<T>::make(1, 0), x[i]);
    y[i] = inverse;
    if (!isfinite(re_of(inverse)) || !isfinite(im_of(inverse))) {
      atomicMin(first, static_cast<unsigned long long>(i));
    }
  }
}

}  // namespace

cudaError_t cuda_launch_reciprocal(cudaStream_t stream, lac_dtype dtype, int64_t count, const void *x, void *y,
                                   uint64_t *first) {
  cudaError_t error = cudaMemsetAsync(first, 0xff, sizeof *first, stream);
  if (error != cudaSuccess || count == 0) return error;
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return launch(reciprocals<T>, blocks(ceil_div(count, BLOCK), 4096), stream, count, static_cast<const T *>(x),
                  static_cast<T *>(y), reinterpret_cast<unsigned long long *>(first));
  });
}
