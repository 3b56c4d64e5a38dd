// SPDX-License-Identifier: Apache-2.0
/// @file place.cu
/// Numbers from some places of an array to some of another. No arithmetic: bytes of any dtype. Where runs of numbers
/// stay together on both sides, 16 bytes are moved at a time.

#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

template <class Word>
__global__ void __launch_bounds__(BLOCK) place(const __grid_constant__ cuda_axes axes, const Word *x, Word *y) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < axes.count; i += step) {
    Offsets at = locate(axes, i);
    y[at.y] = x[at.x];
  }
}

/// The same walk in words of `count` numbers; false where runs or their places are no multiples of that.
bool widen(cuda_axes &axes, int64_t count, const void *x, const void *y) {
  int last = axes.ndim - 1;
  if (last < 0 || axes.stride[0][last] != 1 || axes.stride[1][last] != 1) return false;
  if (axes.shape[last] % count != 0 || !is_aligned(x) || !is_aligned(y)) return false;
  for (int o = 0; o < 2; ++o) {
    for (int d = 0; d < last; ++d) {
      if (axes.stride[o][d] % count != 0) return false;
    }
  }
  axes.shape[last] /= count;
  axes.count /= count;
  for (int o = 0; o < 2; ++o) {
    for (int d = 0; d < last; ++d) axes.stride[o][d] /= count;
  }
  return true;
}

template <class Word>
cudaError_t start_place(cudaStream_t stream, const cuda_axes &axes, const void *x, void *y) {
  return launch(place<Word>, blocks(ceil_div(axes.count, BLOCK), MAX_X), stream, axes, static_cast<const Word *>(x),
                static_cast<Word *>(y));
}

}  // namespace

cudaError_t cuda_launch_place(cudaStream_t stream, size_t bytes, const cuda_axes *axes, const void *x, void *y) {
  cuda_axes walk = *axes;
  if (walk.count == 0) return cudaSuccess;
  if (bytes == 16 || widen(walk, 16 / static_cast<int64_t>(bytes), x, y)) {
    return start_place<Complex<double>>(stream, walk, x, y);
  }
  return bytes == 4 ? start_place<float>(stream, walk, x, y) : start_place<double>(stream, walk, x, y);
}
