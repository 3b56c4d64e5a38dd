// SPDX-License-Identifier: Apache-2.0
/// @file remap.cu
/// Index maps:
///
///     scatter   y[target[i]] = x[i]                     no two targets equal
///     gather    y[i] = x[target[i]]                     the transpose of both others
///     group     y[j] = sum of x over the sources of j   in ascending order
///
/// The batch runs along the grid's second dimension.

#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

template <class T, class I>
__global__ void __launch_bounds__(BLOCK)
    scatter(int64_t batch, int64_t inputs, int64_t outputs, const I *target, const T *x, T *y) {
  int64_t thread = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x,
          step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = thread; i < inputs; i += step) {
    int64_t to = target[i];
    if (to < 0) continue;
    for (int64_t b = blockIdx.y; b < batch; b += gridDim.y) y[b * outputs + to] = x[b * inputs + i];
  }
}

template <class T, class I>
__global__ void __launch_bounds__(BLOCK)
    gather(int64_t batch, int64_t inputs, int64_t outputs, const I *target, const T *x, T *y) {
  int64_t thread = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x,
          step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = thread; i < outputs; i += step) {
    int64_t from = target[i];
    for (int64_t b = blockIdx.y; b < batch; b += gridDim.y) {
      y[b * outputs + i] = from < 0 ? zero<T>() : x[b * inputs + from];
    }
  }
}

template <class T, class I, int G>
__global__ void __launch_bounds__(BLOCK)
    group(int64_t batch, int64_t inputs, int64_t outputs, const I *offsets, const I *sources, const T *x, T *y) {
  Groups<G> groups;
  for (int64_t b = blockIdx.y; b < batch; b += gridDim.y) {
    for (int64_t j = groups.first; groups.warp(j) < outputs; j += groups.step) {
      T sum = zero<T>();
      if (j < outputs) {
        int64_t end = offsets[j + 1];
        for (int64_t g = offsets[j] + groups.lane; g < end; g += G) sum = sum + x[b * inputs + sources[g]];
      }
      sum = group_sum<G>(sum);
      if (j < outputs && groups.lane == 0) y[b * outputs + j] = sum;
    }
  }
}

dim3 grid_for(int64_t items, int64_t batch) {
  return dim3(blocks(ceil_div(items, BLOCK), MAX_X), blocks(batch, MAX_YZ));
}

}  // namespace

cudaError_t cuda_launch_scatter(cudaStream_t stream, lac_dtype dtype, int64_t batch, int64_t inputs, int64_t outputs,
                                cuda_index target, const void *x, void *y) {
  cudaError_t error = cudaSuccess;
  if (batch == 0 || outputs == 0) return error;
  error = cudaMemsetAsync(y, 0, static_cast<size_t>(batch * outputs) * lac_dtype_size(dtype), stream);
  if (error != cudaSuccess || inputs == 0) return error;
  return with_dtype(dtype, [&](auto number) {
    return with_index(target.type, [&](auto index) {
      using T = decltype(number);
      using I = decltype(index);
      return launch(scatter<T, I>, grid_for(inputs, batch), stream, batch, inputs, outputs, integers<I>(target),
                    static_cast<const T *>(x), static_cast<T *>(y));
    });
  });
}

cudaError_t cuda_launch_gather(cudaStream_t stream, lac_dtype dtype, int64_t batch, int64_t inputs, int64_t outputs,
                               cuda_index target, const void *x, void *y) {
  if (batch == 0 || outputs == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    return with_index(target.type, [&](auto index) {
      using T = decltype(number);
      using I = decltype(index);
      return launch(gather<T, I>, grid_for(outputs, batch), stream, batch, inputs, outputs, integers<I>(target),
                    static_cast<const T *>(x), static_cast<T *>(y));
    });
  });
}

cudaError_t cuda_launch_group(cudaStream_t stream, lac_dtype dtype, int64_t batch, int64_t inputs, int64_t outputs,
                              cuda_index offsets, cuda_index sources, const void *x, void *y) {
  if (batch == 0 || outputs == 0) return cudaSuccess;
  bool is_long = inputs / outputs > 16;
  return with_dtype(dtype, [&](auto number) {
    return with_index(offsets.type, [&](auto index) {
      using T = decltype(number);
      using I = decltype(index);
      return launch(is_long ? group<T, I, 32> : group<T, I, 1>, grid_for(is_long ? 32 * outputs : outputs, batch),
                    stream, batch, inputs, outputs, integers<I>(offsets), integers<I>(sources),
                    static_cast<const T *>(x), static_cast<T *>(y));
    });
  });
}
