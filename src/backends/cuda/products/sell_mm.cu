// SPDX-License-Identifier: Apache-2.0
/// @file sell_mm.cu
/// Sliced ELL times dense columns:
///
///     y[row of lane, :] = sum over the entries j of the lane of a[offsets[s] + j width + lane] x[column, :]
///
/// One column: a thread to a lane, so that neighbours read neighbouring entries. Several: neighbouring threads take
/// neighbouring columns of x, and all read the same entry. Padding, a column below 0, ends a lane and is not read.

#include "backends/cuda/grid.cuh"
#include "backends/cuda/products/products.h"

using namespace lac_cuda;

namespace {

template <class C>
struct Sell {
  int64_t rows, width, lanes;  // lanes of all slices
  const int64_t *__restrict__ offsets;
  const C *__restrict__ columns;
  const C *__restrict__ rows_of;

  /// The row of a lane, or -1.
  __device__ int64_t row(int64_t lane) const { return rows_of ? rows_of[lane] : lane < rows ? lane : -1; }
};

/// `U` entries of a lane are on their way at a time.
template <int U, class T, class C>
__device__ T lane_sum(const Sell<C> &f, int64_t p, int64_t end, const T *__restrict__ a, const T *__restrict__ x) {
  T sum = zero<T>();
  for (; p < end; p += U * f.width) {
    C column[U];
    T value[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      bool is_here = p + u * f.width < end;
      column[u] = is_here ? f.columns[p + u * f.width] : -1;
      if (is_here) value[u] = a[p + u * f.width];
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (column[u] >= 0) sum = sum + value[u] * x[column[u]];
    }
  }
  return sum;
}

template <class T, class C>
__global__ void __launch_bounds__(BLOCK) sell_mv(Sell<C> f, const __grid_constant__ cuda_axes items,
                                                 const T *__restrict__ a, const T *__restrict__ x, T *__restrict__ y) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t b = blockIdx.y; b < items.count; b += gridDim.y) {
    Offsets at = locate(items, b);
    for (int64_t lane = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; lane < f.lanes; lane += step) {
      int64_t row = f.row(lane), slice = lane / f.width;
      if (row < 0) continue;
      int64_t begin = f.offsets[slice] + (lane - slice * f.width);
      y[b * f.rows + row] = lane_sum<4>(f, begin, f.offsets[slice + 1], a + at.x, x + at.y);
    }
  }
}

/// `threads` of them, a power of two, share a lane; each has V columns side by side.
template <class T, class C, int V>
__global__ void __launch_bounds__(BLOCK)
    sell_mm(Sell<C> f, const __grid_constant__ cuda_axes items, int64_t k, int threads, const T *__restrict__ a,
            const T *__restrict__ x, T *__restrict__ y) {
  int thread = static_cast<int>(threadIdx.x) & (threads - 1), in_block = static_cast<int>(threadIdx.x) / threads;
  int64_t first = static_cast<int64_t>(blockIdx.x) * (BLOCK / threads) + in_block;
  int64_t lane_step = static_cast<int64_t>(gridDim.x) * (BLOCK / threads);
  int64_t column_step = static_cast<int64_t>(gridDim.y) * threads * V;
  for (int64_t b = blockIdx.z; b < items.count; b += gridDim.z) {
    Offsets at = locate(items, b);
    for (int64_t j = (static_cast<int64_t>(blockIdx.y) * threads + thread) * V; j < k; j += column_step) {
      for (int64_t lane = first; lane < f.lanes; lane += lane_step) {
        int64_t row = f.row(lane), slice = lane / f.width;
        if (row < 0) continue;
        Pack<T, V> sum;
#pragma unroll
        for (int v = 0; v < V; ++v) sum.at[v] = zero<T>();
        int64_t end = f.offsets[slice + 1];
        for (int64_t p = f.offsets[slice] + (lane - slice * f.width); p < end; p += f.width) {
          int64_t column = f.columns[p];
          if (column < 0) break;
          T value = a[at.x + p];
          Pack<T, V> factor = load<V>(x + at.y + column * k + j);
#pragma unroll
          for (int v = 0; v < V; ++v) sum.at[v] = sum.at[v] + value * factor.at[v];
        }
        store<V>(y + (b * f.rows + row) * k + j, sum);
      }
    }
  }
}

template <class T, class C>
cudaError_t start(cudaStream_t stream, const Sell<C> &f, const cuda_axes &items, int64_t k, const T *a, const T *x,
                  T *y) {
  constexpr int V = wide_pack<T>();
  if (k == 1) {
    dim3 grid(blocks(ceil_div(f.lanes, BLOCK), MAX_X), blocks(items.count, MAX_YZ));
    return launch(sell_mv<T, C>, grid, stream, f, items, a, x, y);
  }
  bool wide = k % V == 0 && is_aligned(x) && is_aligned(y);
  int64_t packs = wide ? k / V : k;
  int threads = 1;
  while (threads < 32 && threads < packs) threads *= 2;
  dim3 grid(blocks(ceil_div(f.lanes, BLOCK / threads), MAX_X), blocks(ceil_div(packs, threads), MAX_YZ),
            blocks(items.count, MAX_YZ));
  return launch(wide ? sell_mm<T, C, V> : sell_mm<T, C, 1>, grid, stream, f, items, k, threads, a, x, y);
}

}  // namespace

cudaError_t cuda_launch_sell_mm(cudaStream_t stream, lac_dtype dtype, const cuda_sell *f, const cuda_batch *batch,
                                int64_t k, const void *a, const void *x, void *y) {
  if (f->rows == 0 || k == 0 || batch->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    return with_index(f->columns.type, [&](auto index) {
      using T = decltype(number);
      using C = decltype(index);
      Sell<C> typed = {f->rows,
                       f->width,
                       f->slices * f->width,
                       integers<int64_t>(f->offsets),
                       integers<C>(f->columns),
                       integers<C>(f->rows_of)};
      return start(stream, typed, batch->kept, k, static_cast<const T *>(a), static_cast<const T *>(x),
                   static_cast<T *>(y));
    });
  });
}
