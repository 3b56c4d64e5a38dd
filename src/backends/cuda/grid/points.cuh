// SPDX-License-Identifier: Apache-2.0
/// @file points.cuh
/// Points, colours and directions of a grid (kernels/grid.h), known when kernels are compiled.

#ifndef LACUNA_BACKENDS_CUDA_GRID_POINTS_CUH
#define LACUNA_BACKENDS_CUDA_GRID_POINTS_CUH

#include "backends/cuda/grid.cuh"
#include "backends/cuda/grid/grid.h"
#include "backends/cuda/parts.cuh"

namespace lac_cuda {

constexpr int HERE = 4, DIRECTIONS = 9, COLOURS = 4, WEIGHTS = 6;

__host__ __device__ constexpr bool is_corner(int direction) { return direction % 2 == 0 && direction != HERE; }

/// The plane of a direction, from 1 on; that of the diagonal is 0.
__host__ __device__ constexpr int plane_of(bool corners, int direction) {
  const int five[] = {0, 4, 0, 3, 0, 1, 0, 2, 0}, nine[] = {7, 6, 8, 5, 0, 1, 4, 2, 3};
  return corners ? nine[direction] : five[direction];
}

__host__ __device__ constexpr int planes_of(bool corners, bool half) {
  return corners ? (half ? 5 : 9) : (half ? 3 : 5);
}

/// The colour of a neighbour, and how many cells away its cell is.
struct Beside {
  int colour, down, across;
};
__host__ __device__ constexpr Beside beside(int colour, int direction) {
  int y = colour / 2 + direction / 3 - 1, x = colour % 2 + direction % 3 - 1;
  return {2 * (y & 1) + (x & 1), y >> 1, x >> 1};
}

/// The direction in which a point lies whose number is larger by `away`; -1: it is no neighbour, wherever rows end.
__device__ inline int direction_of(int64_t width, int64_t away) {
  int64_t down = away < -1 ? -1 : away > 1 ? 1 : 0, across = away - down * width;
  return across >= -1 && across <= 1 ? static_cast<int>((down + 1) * 3 + across + 1) : -1;
}

__host__ __device__ inline int64_t cells_of(const cuda_grid &g) { return (g.down + 2) * g.stride; }
__host__ __device__ inline int64_t room_of(const cuda_grid &g) { return COLOURS * cells_of(g); }

/// The place of a cell among one number for each cell, and of its first colour among all points.
__device__ inline int64_t cell_at(const cuda_grid &g, int64_t y, int64_t x) { return (y + 1) * g.stride + 1 + x; }
__device__ inline int64_t place_at(const cuda_grid &g, int64_t y, int64_t x) {
  return (y + 1) * COLOURS * g.stride + 1 + x;
}

/// The place of a point.
__device__ inline int64_t point_at(const cuda_grid &g, int64_t y, int64_t x) {
  return place_at(g, y / 2, x / 2) + (2 * (y % 2) + x % 2) * g.stride;
}

/// Whether a cell has a point of that colour: the last cells may lack some.
__device__ inline bool has_point(const cuda_grid &g, int64_t y, int64_t x, int colour) {
  return 2 * y + colour / 2 < g.height && 2 * x + colour % 2 < g.width;
}

// -- numbers ---------------------------------------------------------------------------------------------------------

/// x - a y, in one rounding for reals.
__device__ inline float less(float x, float a, float y) { return fmaf(-a, y, x); }
__device__ inline double less(double x, double a, double y) { return fma(-a, y, x); }
template <class R>
__device__ Complex<R> less(Complex<R> x, Complex<R> a, Complex<R> y) {
  return {x.re - a.re * y.re + a.im * y.im, x.im - a.re * y.im - a.im * y.re};
}

/// What the conjugate of a diagonal entry is multiplied by to be its reciprocal, where the entry counts as no smaller
/// than half of its row; zero where there is no point. An entry of size 0 is `half`, and its square that of `half`.
__device__ inline double inverted_by(double size, double half, double square) {
  return square > 0 ? (size >= half || size == 0 ? 1 : size / half) / square : 0;
}

/// Reciprocals of such a size are multiplied by this: numbers of half the bytes do not overflow.
template <class H>
__device__ double within_range(double size) {
  const double most = sizeof(typename Number<H>::Real) == sizeof(float) ? 1e30 : 1e300;
  return size > most ? most / size : 1.0;
}

/// Where the row of a point begins among the entries of a five-point matrix that has all neighbours.
__device__ inline int64_t row_begin(const cuda_grid &g, int64_t y, int64_t x) {
  const int64_t lines = (y > 0) + (y + 1 < g.height), before = x > 0 ? 3 * x - 1 : 0;  // above and below; in its line
  return y * (3 * g.width - 2) + (y > 0 ? 2 * y - 1 : 0) * g.width + before + lines * x;
}

}  // namespace lac_cuda

#endif
