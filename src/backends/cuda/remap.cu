// SPDX-License-Identifier: Apache-2.0
/// @file remap.cu
/// Index maps:
///
///     scatter   y[target[i]] = x[i]                     no two targets equal
///     gather    y[i] = x[target[i]]                     the transpose of both others
///     group     y[j] = sum of x over the sources of j   in ascending order
///
/// Entries are rows of k numbers; a thread has one number. The batch runs along the grid's second dimension.

#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

template <class T, class I>
__global__ void __launch_bounds__(BLOCK)
    scatter(int64_t batch, int64_t inputs, int64_t outputs, int64_t k, const I *target, const T *x, T *y) {
  int64_t thread = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x,
          step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = thread; i < inputs * k; i += step) {
    int64_t to = target[k == 1 ? i : i / k], c = k == 1 ? 0 : i % k;
    if (to < 0) continue;
    for (int64_t b = blockIdx.y; b < batch; b += gridDim.y) y[(b * outputs + to) * k + c] = x[b * inputs * k + i];
  }
}

template <class T, class I>
__global__ void __launch_bounds__(BLOCK)
    gather(int64_t batch, int64_t inputs, int64_t outputs, int64_t k, const I *target, const T *x, T *y) {
  int64_t thread = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x,
          step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = thread; i < outputs * k; i += step) {
    int64_t from = target[k == 1 ? i : i / k], c = k == 1 ? 0 : i % k;
    for (int64_t b = blockIdx.y; b < batch; b += gridDim.y) {
      y[b * outputs * k + i] = from < 0 ? zero<T>() : x[(b * inputs + from) * k + c];
    }
  }
}

template <class T, class I, int G>
__global__ void __launch_bounds__(BLOCK) group(int64_t batch, int64_t inputs, int64_t outputs, int64_t k,
                                               const I *offsets, const I *sources, const T *x, T *y) {
  Groups<G> groups;
  for (int64_t b = blockIdx.y; b < batch; b += gridDim.y) {
    for (int64_t i = groups.first; groups.warp(i) < outputs * k; i += groups.step) {
      T sum = zero<T>();
      if (i < outputs * k) {
        int64_t j = k == 1 ? i : i / k, c = k == 1 ? 0 : i % k, end = offsets[j + 1];
        for (int64_t g = offsets[j] + groups.lane; g < end; g += G) sum = sum + x[(b * inputs + sources[g]) * k + c];
      }
      sum = group_sum<G>(sum);
      if (i < outputs * k && groups.lane == 0) y[b * outputs * k + i] = sum;
    }
  }
}

dim3 grid_for(int64_t items, int64_t batch) {
  return dim3(blocks(ceil_div(items, BLOCK), MAX_X), blocks(batch, MAX_YZ));
}

}  // namespace

cudaError_t cuda_launch_scatter(cudaStream_t stream, lac_dtype dtype, int64_t batch, int64_t inputs, int64_t outputs,
                                int64_t k, cuda_index target, const void *x, void *y) {
  cudaError_t error = cudaSuccess;
  if (batch == 0 || outputs * k == 0) return error;
  error = cudaMemsetAsync(y, 0, static_cast<size_t>(batch * outputs * k) * lac_dtype_size(dtype), stream);
  if (error != cudaSuccess || inputs == 0) return error;
  return with_dtype(dtype, [&](auto number) {
    return with_index(target.type, [&](auto index) {
      using T = decltype(number);
      using I = decltype(index);
      return launch(scatter<T, I>, grid_for(inputs * k, batch), stream, batch, inputs, outputs, k, integers<I>(target),
                    static_cast<const T *>(x), static_cast<T *>(y));
    });
  });
}

cudaError_t cuda_launch_gather(cudaStream_t stream, lac_dtype dtype, int64_t batch, int64_t inputs, int64_t outputs,
                               int64_t k, cuda_index target, const void *x, void *y) {
  if (batch == 0 || outputs * k == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    return with_index(target.type, [&](auto index) {
      using T = decltype(number);
      using I = decltype(index);
      return launch(gather<T, I>, grid_for(outputs * k, batch), stream, batch, inputs, outputs, k, integers<I>(target),
                    static_cast<const T *>(x), static_cast<T *>(y));
    });
  });
}

cudaError_t cuda_launch_group(cudaStream_t stream, lac_dtype dtype, int64_t batch, int64_t inputs, int64_t outputs,
                              int64_t k, cuda_index offsets, cuda_index sources, const void *x, void *y) {
  if (batch == 0 || outputs * k == 0) return cudaSuccess;
  bool is_long = inputs / outputs > 16;
  return with_dtype(dtype, [&](auto number) {
    return with_index(offsets.type, [&](auto index) {
      using T = decltype(number);
      using I = decltype(index);
      return launch(is_long ? group<T, I, 32> : group<T, I, 1>,
                    grid_for(is_long ? 32 * outputs * k : outputs * k, batch), stream, batch, inputs, outputs, k,
                    integers<I>(offsets), integers<I>(sources), static_cast<const T *>(x), static_cast<T *>(y));
    });
  });
}
