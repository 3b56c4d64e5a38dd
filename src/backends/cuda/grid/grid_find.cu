// SPDX-License-Identifier: Apache-2.0
/// @file grid_find.cu
/// Whether the entries of a pattern lead to neighbours on a grid; and the values of a small grid on a pattern.

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

template <class A, class O, class C>
__global__ void __launch_bounds__(BLOCK) list_rows(const __grid_constant__ cuda_grid g, int64_t rows, int64_t entries,
                                                   const A *planes, const O *offsets, const C *columns, A *values) {
  const int64_t item = blockIdx.y, step = static_cast<int64_t>(gridDim.x) * BLOCK;
  const A *from = planes + item * DIRECTIONS * room_of(g);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < rows; i += step) {
    const int64_t y = i / g.width, x = i % g.width;
    for (int64_t q = offsets[i], end = offsets[i + 1]; q < end; ++q) {
      const int64_t column = columns[q], direction = (column / g.width - y + 1) * 3 + column % g.width - x + 1;
      values[item * entries + q] = from[direction * room_of(g) + point_at(g, y, x)];
    }
  }
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

cudaError_t cuda_launch_grid_list(cudaStream_t stream, lac_dtype dtype, int64_t items, const cuda_grid *grid,
                                  const void *planes, const cuda_rows *rows, void *values) {
  if (items == 0 || rows->rows == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    using A = decltype(number);
    return with_width(rows, [&](auto offset, auto column) {
      using O = decltype(offset);
      using C = decltype(column);
      const dim3 shape(blocks(ceil_div(rows->rows, BLOCK), MAX_X), static_cast<unsigned>(items));
      return launch(list_rows<A, O, C>, shape, stream, *grid, rows->rows, rows->entries, static_cast<const A *>(planes),
                    integers<O>(rows->offsets), integers<C>(rows->columns), static_cast<A *>(values));
    });
  });
}
