// SPDX-License-Identifier: Apache-2.0
/// @file grid_find.cu
/// Whether the entries of a pattern lead to neighbours on a grid.

#include "backends/cuda/grid/points.cuh"

using namespace lac_cuda;

namespace {

template <class O, class C>
__global__ void __launch_bounds__(BLOCK)
    look_away(int64_t rows, int64_t step, const O *offsets, const C *columns, unsigned long long *away) {
  const int64_t i = (static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x) * step;
  if (i >= rows) return;
  const int64_t begin = offsets[i], end = offsets[i + 1];
  if (begin == end) return;
  const int64_t ahead = columns[end - 1] - i, back = i - columns[begin], most = ahead > back ? ahead : back;
  if (most > 0) atomicMax(away, static_cast<unsigned long long>(most));
}

template <class O, class C>
__global__ void __launch_bounds__(BLOCK)
    look_rows(int64_t rows, int64_t width, const O *offsets, const C *columns, cuda_grid_look *out) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  bool has_corners = false;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < rows; i += step) {
    const int64_t at = i % width;
    for (int64_t q = offsets[i], end = offsets[i + 1]; q < end; ++q) {
      const int direction = direction_of(width, columns[q] - i);
      const int64_t x = at + direction % 3 - 1;
      if (direction < 0 || x < 0 || x >= width) {
        atomicMin(&out->stray, static_cast<unsigned long long>(i));
        break;
      }
      has_corners = has_corners || is_corner(direction);
    }
  }
  if (__syncthreads_or(has_corners) && threadIdx.x == 0) atomicMax(&out->has_corners, 1ULL);
}

}  // namespace

cudaError_t cuda_launch_grid_away(cudaStream_t stream, const cuda_rows *rows, int64_t step, unsigned long long *away) {
  cudaError_t error = cudaMemsetAsync(away, 0, sizeof *away, stream);
  if (error != cudaSuccess || rows->rows == 0) return error;
  return with_width(rows, [&](auto offset, auto column) {
    using O = decltype(offset);
    using C = decltype(column);
    return launch(look_away<O, C>, blocks(ceil_div(ceil_div(rows->rows, step), BLOCK), MAX_X), stream, rows->rows, step,
                  integers<O>(rows->offsets), integers<C>(rows->columns), away);
  });
}

cudaError_t cuda_launch_grid_look(cudaStream_t stream, const cuda_rows *rows, int64_t width, cuda_grid_look *out) {
  cudaError_t error = cudaMemsetAsync(&out->stray, 0xff, sizeof out->stray, stream);
  if (error == cudaSuccess) error = cudaMemsetAsync(&out->has_corners, 0, sizeof out->has_corners, stream);
  if (error != cudaSuccess || rows->rows == 0) return error;
  return with_width(rows, [&](auto offset, auto column) {
    using O = decltype(offset);
    using C = decltype(column);
    return launch(look_rows<O, C>, blocks(ceil_div(rows->rows, BLOCK), 16384), stream, rows->rows, width,
                  integers<O>(rows->offsets), integers<C>(rows->columns), out);
  });
}
