// SPDX-License-Identifier: Apache-2.0
/// @file grid_cycle.cu
/// The two halves of a cycle on a grid: each is one launch for a level.
///
///     descend   a sweep from zero, rc = P^T (b - A x)
///     ascend    a sweep from x + P xc
///
/// A sweep relaxes the colours in the order oe, eo, oo, ee, oo, eo, oe (backends/cpu/grid/grid_cycle.c says why). A
/// block has a tile of cells and goes through all stages in shared memory. What it reads beyond its own cells it
/// computes again from a margin of cells, whose outermost numbers are wrong, and come one cell nearer with every second
/// stage: with four cells before and three behind on the way down, and the other way round on the way up, none reaches
/// the block's own cells. No bit depends on the tiles.

#include "backends/cuda/grid/points.cuh"

// grid_cycle_small.cu takes the same text with smaller tiles.
#ifndef GRID_TILE_X
#define GRID_TILE_X 64
#define GRID_TILE_Y 32
#define GRID_DESCEND cuda_launch_grid_descend
#define GRID_ASCEND cuda_launch_grid_ascend
#endif

using namespace lac_cuda;

namespace {

// Cells of a tile, and those of its margins along an axis.
constexpr int TILE_X = GRID_TILE_X, TILE_Y = GRID_TILE_Y, MARGIN = 7;
constexpr int THREADS = 512, EACH = TILE_X * TILE_Y / THREADS, STEP_Y = THREADS / TILE_X;
constexpr int ANYWAY = 48 << 10;  // bytes of shared memory that a block may have without asking for them
constexpr int LINE = TILE_X + 2, FACE = (TILE_Y + 2) * LINE;  // with a rim of zeros

enum Reach { NONE = 0, EDGES = 1, ACROSS = 2, BOTH = 3 };
enum Mode { PLAIN, TRANSPOSED, HALF };  // where entries are: at the point, at the neighbour, half of them each

template <class T, bool CORNERS, int MODE>
struct Tile {
  using Real = typename Number<T>::Real;

  const cuda_grid_cycle &j;
  const T *planes;
  const Real *weights;
  int64_t item, column;
  int64_t first_y, first_x;  // the tile's first cell
  int margin;                // cells before the tile's own
  int x, y;                  // of this thread, in the tile
  T *rows;                   // shared: four faces
  T b[EACH][COLOURS], kept[EACH][COLOURS];

  __device__ int64_t cell_y(int q) const { return first_y + y + q * STEP_Y; }
  __device__ int64_t cell_x() const { return first_x + x; }
  __device__ bool is_inside(int64_t cy, int64_t cx) const {
    return cy >= 0 && cy < j.grid.down && cx >= 0 && cx < j.grid.across;
  }
  __device__ bool is_inside(int q) const { return is_inside(cell_y(q), cell_x()); }
  __device__ bool is_own(int q) const {
    int at = y + q * STEP_Y;
    return at >= margin && at < margin + TILE_Y - MARGIN && x >= margin && x < margin + TILE_X - MARGIN && is_inside(q);
  }
  __device__ T *point(int q, int colour) const { return rows + colour * FACE + (y + q * STEP_Y + 1) * LINE + x + 1; }

  __device__ void clear() const {
    for (int i = static_cast<int>(threadIdx.x); i < COLOURS * FACE; i += THREADS) rows[i] = zero<T>();
  }

  // -- stages --------------------------------------------------------------------------------------------------------

  /// b less what the neighbours have.
  template <int COLOUR, int REACH>
  __device__ T rest(int q) const {
    const int64_t room = room_of(j.grid), at = place_at(j.grid, cell_y(q), cell_x());
    const T *own = point(q, 0);
    T sum = b[q][COLOUR];
#pragma unroll
    for (int d = 0; d < DIRECTIONS; ++d) {
      if (d == HERE || !(REACH & (is_corner(d) ? ACROSS : EDGES))) continue;
      if (is_corner(d) && !CORNERS) continue;
      const Beside n = beside(COLOUR, d);
      const bool back = MODE == HALF ? d < HERE : MODE == TRANSPOSED;
      const int64_t where =
          back ? at + (n.down * COLOURS + n.colour) * j.grid.stride + n.across : at + COLOUR * j.grid.stride;
      const T a = conj_if(j.conj, planes[plane_of(CORNERS, back ? 8 - d : d) * room + where]);
      sum = less(sum, a, own[n.colour * FACE + n.down * LINE + n.across]);
    }
    return sum;
  }

  template <int COLOUR, int REACH>
  __device__ void relax() {
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
      if (!is_inside(q)) continue;
      const T reciprocal = planes[place_at(j.grid, cell_y(q), cell_x()) + COLOUR * j.grid.stride];
      const T sum = rest<COLOUR, REACH>(q);
      *point(q, COLOUR) = sum * conj_if(j.conj, reciprocal);
      kept[q][COLOUR] = sum;
    }
  }

  __device__ void sweep_down() {
    relax<2, NONE>();
    if (!CORNERS) relax<1, NONE>();
    __syncthreads();
    if (CORNERS) {
      relax<1, ACROSS>();
      __syncthreads();
      relax<3, EDGES>();
      __syncthreads();
      relax<0, BOTH>();
      __syncthreads();
    }
    finish();
  }

  __device__ void sweep_up() {
    relax<2, BOTH>();
    if (CORNERS) __syncthreads();
    relax<1, BOTH>();
    __syncthreads();
    if (CORNERS) {
      relax<3, BOTH>();
      __syncthreads();
      relax<0, BOTH>();
      __syncthreads();
    }
    finish();
  }

  /// The stages behind the middle; of five-point matrices, the middle too.
  __device__ void finish() {
    relax<3, BOTH>();
    if (!CORNERS) relax<0, BOTH>();
    __syncthreads();
    relax<1, BOTH>();
    if (CORNERS) __syncthreads();
    relax<2, BOTH>();
    __syncthreads();
  }

  // -- vectors -------------------------------------------------------------------------------------------------------

  __device__ int64_t vector() const { return item * j.columns + column; }
  __device__ double scale(int which) const { return j.scale[(2 * item + which) * j.columns + column]; }

  /// The place of a point among the caller's numbers, [items, n, columns].
  __device__ int64_t caller_at(int64_t cy, int64_t cx, int colour) const {
    const int64_t point = (2 * cy + colour / 2) * j.grid.width + 2 * cx + colour % 2;
    return (item * j.grid.width * j.grid.height + point) * j.columns + column;
  }

  template <class W>
  __device__ void take() {
    const int64_t room = room_of(j.grid);
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
      const int64_t cy = cell_y(q), cx = cell_x();
#pragma unroll
      for (int c = 0; c < COLOURS; ++c) {
        b[q][c] = kept[q][c] = zero<T>();
        if (!is_inside(q) || !has_point(j.grid, cy, cx, c)) continue;
        if (j.scale) {
          using R = typename Number<W>::Real;
          b[q][c] = cast<T>(times(static_cast<const W *>(j.b)[caller_at(cy, cx, c)], static_cast<R>(scale(0))));
        } else {
          b[q][c] = static_cast<const T *>(j.b)[vector() * room + place_at(j.grid, cy, cx) + c * j.grid.stride];
        }
      }
    }
  }

  template <class W>
  __device__ void give() const {
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
      if (!is_own(q)) continue;
      const int64_t cy = cell_y(q), cx = cell_x();
#pragma unroll
      for (int c = 0; c < COLOURS; ++c) {
        if (j.scale) {
          using R = typename Number<W>::Real;
          if (has_point(j.grid, cy, cx, c))
            static_cast<W *>(j.z)[caller_at(cy, cx, c)] = times(cast<W>(*point(q, c)), static_cast<R>(scale(1)));
        } else {
          static_cast<T *>(j.z)[vector() * room_of(j.grid) + place_at(j.grid, cy, cx) + c * j.grid.stride] =
              *point(q, c);
        }
      }
    }
  }

  /// Of x, which the way down leaves and the way up reads.
  __device__ T &left(int q, int colour) const {
    return static_cast<T *>(
        j.x)[vector() * room_of(j.grid) + place_at(j.grid, cell_y(q), cell_x()) + colour * j.grid.stride];
  }

  /// The number of a cell in the vector of the next grid.
  __device__ T &coarse(int64_t cy, int64_t cx) const {
    T *all = static_cast<T *>(j.coarse);
    if (!j.has_next) return all[(item * j.grid.across * j.grid.down + cy * j.grid.across + cx) * j.columns + column];
    return all[vector() * room_of(j.next) + point_at(j.next, cy, cx)];
  }
  __device__ T coarse_or_zero(int64_t cy, int64_t cx) const { return is_inside(cy, cx) ? coarse(cy, cx) : zero<T>(); }

  __device__ Real weight(int which, int64_t cy, int64_t cx) const {
    return weights[which * cells_of(j.grid) + cell_at(j.grid, cy, cx)];
  }

  // -- between grids -------------------------------------------------------------------------------------------------

  /// The residual of a colour: b less its neighbours now, less the same when it was relaxed.
  template <int COLOUR>
  __device__ void remain() {
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
      if (is_inside(q)) kept[q][COLOUR] = rest<COLOUR, BOTH>(q) - kept[q][COLOUR];
    }
  }

  __device__ void restrict_residual() {
    remain<0>();
    remain<3>();
    if (CORNERS) remain<1>();
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
      if (!is_own(q)) continue;
#pragma unroll
      for (int c = 0; c < COLOURS; ++c) left(q, c) = *point(q, c);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
      *point(q, 3) = kept[q][3];
      if (CORNERS) *point(q, 1) = kept[q][1];
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
      if (is_own(q)) coarse(cell_y(q), cell_x()) = collected(q);
    }
  }

  __device__ T collected(int q) const {
    const int64_t cy = cell_y(q), cx = cell_x();
    const T *oo = point(q, 3), *eo = point(q, 1);
    T sum = kept[q][0];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      sum = sum + times(oo[-(c / 2) * LINE - c % 2], weight(2 + c, cy - c / 2, cx - c % 2));
    }
    if (CORNERS) sum = sum + times(eo[0], weight(0, cy, cx)) + times(eo[-1], weight(1, cy, cx - 1));
    return sum;
  }

  /// x + P xc, but for the points that are relaxed before they are read.
  __device__ void prolong() const {
#pragma unroll
    for (int q = 0; q < EACH; ++q) {
      if (!is_inside(q)) continue;
      const int64_t cy = cell_y(q), cx = cell_x();
      T c[4], middle = left(q, 3);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        c[e] = coarse_or_zero(cy + e / 2, cx + e % 2);
        middle = middle + times(c[e], weight(2 + e, cy, cx));
      }
      *point(q, 0) = left(q, 0) + c[0];
      *point(q, 3) = middle;
      if (CORNERS) *point(q, 1) = left(q, 1) + times(c[0], weight(0, cy, cx)) + times(c[1], weight(1, cy, cx));
    }
  }
};

template <class T, bool CORNERS, int MODE, bool IS_UP>
__device__ Tile<T, CORNERS, MODE> open_tile(const cuda_grid_cycle &j, int64_t tile, int64_t vector, void *rows) {
  using Real = typename Number<T>::Real;
  constexpr int OWN_X = TILE_X - MARGIN, OWN_Y = TILE_Y - MARGIN, BEFORE = IS_UP ? 3 : 4;
  const int64_t tiles = (j.grid.across + OWN_X - 1) / OWN_X, item = vector / j.columns;
  const T *planes = static_cast<const T *>(j.planes) + item * planes_of(CORNERS, MODE == HALF) * room_of(j.grid);
  return {j,
          planes,
          static_cast<const Real *>(j.weights) + item * WEIGHTS * cells_of(j.grid),
          item,
          vector % j.columns,
          tile / tiles * OWN_Y - BEFORE,
          tile % tiles * OWN_X - BEFORE,
          BEFORE,
          static_cast<int>(threadIdx.x) % TILE_X,
          static_cast<int>(threadIdx.x) / TILE_X,
          static_cast<T *>(rows)};
}

template <class T, class W, bool CORNERS, int MODE, bool IS_UP>
__global__ void __launch_bounds__(THREADS, sizeof(T) > 8 ? 1 : 2)
    half_cycle(const __grid_constant__ cuda_grid_cycle j, int64_t tiles) {
  extern __shared__ __align__(16) unsigned char shared[];
  for (int64_t vector = blockIdx.y; vector < j.items * j.columns; vector += gridDim.y) {
    for (int64_t at = blockIdx.x; at < tiles; at += gridDim.x) {
      auto tile = open_tile<T, CORNERS, MODE, IS_UP>(j, at, vector, shared);
      __syncthreads();
      tile.clear();
      tile.template take<W>();
      __syncthreads();
      if (IS_UP) {
        tile.prolong();
        __syncthreads();
        tile.sweep_up();
        tile.template give<W>();
      } else {
        tile.sweep_down();
        tile.restrict_residual();
      }
    }
  }
}

template <class T, class W, bool CORNERS, int MODE, bool IS_UP>
cudaError_t start(cudaStream_t stream, const cuda_grid_cycle *j) {
  constexpr int BYTES = COLOURS * FACE * static_cast<int>(sizeof(T));
  auto kernel = half_cycle<T, W, CORNERS, MODE, IS_UP>;
  const int64_t tiles = ceil_div(j->grid.across, TILE_X - MARGIN) * ceil_div(j->grid.down, TILE_Y - MARGIN);
  const dim3 grid(blocks(tiles, MAX_X), blocks(j->items * j->columns, MAX_YZ));
  cudaError_t error =
      BYTES <= ANYWAY ? cudaSuccess : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
  if (error != cudaSuccess || tiles == 0 || j->items * j->columns == 0) return error;
  kernel<<<grid, THREADS, BYTES, stream>>>(*j, tiles);
  return cudaGetLastError();
}

template <class T, class W, bool CORNERS, bool IS_UP>
cudaError_t with_mode(cudaStream_t stream, const cuda_grid_cycle *j) {
  if constexpr (std::is_floating_point_v<T>) {
    if (j->is_half) return start<T, W, CORNERS, HALF, IS_UP>(stream, j);
  }
  return j->transposes ? start<T, W, CORNERS, TRANSPOSED, IS_UP>(stream, j)
                       : start<T, W, CORNERS, PLAIN, IS_UP>(stream, j);
}

template <class T, class W, bool IS_UP>
cudaError_t with_corners(cudaStream_t stream, const cuda_grid_cycle *j) {
  return j->grid.has_corners ? with_mode<T, W, true, IS_UP>(stream, j) : with_mode<T, W, false, IS_UP>(stream, j);
}

template <bool IS_UP>
cudaError_t with_numbers(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_grid_cycle *j) {
  return with_dtype(narrow, [&](auto number) {
    using T = decltype(number);
    using Wide = typename Number<T>::Wide;
    return wide == narrow ? with_corners<T, T, IS_UP>(stream, j) : with_corners<T, Wide, IS_UP>(stream, j);
  });
}

}  // namespace

cudaError_t GRID_DESCEND(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_grid_cycle *job) {
  return with_numbers<false>(stream, wide, narrow, job);
}

cudaError_t GRID_ASCEND(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_grid_cycle *job) {
  return with_numbers<true>(stream, wide, narrow, job);
}
