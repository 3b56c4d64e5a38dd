// SPDX-License-Identifier: Apache-2.0
/// @file grid_setup.cu
/// From the matrix of a grid to that of the next one, by interpolation that follows the entries; the equations are in
/// backends/cpu/grid/grid_setup.c.
///
/// A block has a tile of cells, whose entries it reads into shared memory once, with a margin of one cell on each side.
/// There it makes one over the diagonals, weights from these and the entries, and each thread a row of P^T A P from the
/// nine points around its point of the next grid. All of it is computed in f64.

#include "backends/cuda/grid/points.cuh"

using namespace lac_cuda;

namespace {

constexpr int THREADS = 256;

/// Weights of interpolation, of each cell: from the ends in an even row, in an even column, from the corners.
enum { WEST, EAST, ABOVE, BELOW, CORNER, LINES = CORNER + 4 };

/// Cells of a tile without its margins: as many as shared memory has room for.
template <class A>
constexpr int own_x() {
  return std::is_floating_point_v<A> ? 32 : 16;
}
constexpr int OWN_Y = 8;

/// The place of a direction among those that a matrix has.
template <bool CORNERS>
__host__ __device__ constexpr int slot_of(int direction) {
  return CORNERS ? direction : direction / 2 + (direction > HERE ? 1 : 0);
}

template <class T, class H, bool CORNERS>
struct Tile {
  using A = typename Number<T>::Wide;  // what is computed with
  using Real = typename Number<H>::Real;
  static constexpr int OWN_X = own_x<A>(), ACROSS = OWN_X + 2, DOWN = OWN_Y + 2, CELLS = ACROSS * DOWN;
  static constexpr int SLOTS = CORNERS ? 9 : 5;
  static constexpr int BYTES = CELLS * ((SLOTS + 1) * COLOURS * static_cast<int>(sizeof(A)) + LINES * 8);

  const cuda_grid_setup &j;
  int64_t item, first_y, first_x;  // of the margin
  A *entries, *inverse;            // [slots, colours, cells], [colours, cells]
  double *weights;                 // [lines, cells]

  __device__ Tile(const cuda_grid_setup &job, int64_t item_, int64_t tile, void *shared) : j(job), item(item_) {
    const int64_t tiles = (j.grid.across + OWN_X - 1) / OWN_X;
    first_y = tile / tiles * OWN_Y - 1;
    first_x = tile % tiles * OWN_X - 1;
    entries = static_cast<A *>(shared);
    inverse = entries + SLOTS * COLOURS * CELLS;
    weights = reinterpret_cast<double *>(inverse + COLOURS * CELLS);
  }

  __device__ int64_t cell_y(int cell) const { return first_y + cell / ACROSS; }
  __device__ int64_t cell_x(int cell) const { return first_x + cell % ACROSS; }
  __device__ bool is_inside(int cell) const {
    const int64_t y = cell_y(cell), x = cell_x(cell);
    return y >= 0 && y < j.grid.down && x >= 0 && x < j.grid.across;
  }
  __device__ A &entry(int direction, int colour, int cell) const {
    return entries[(slot_of<CORNERS>(direction) * COLOURS + colour) * CELLS + cell];
  }
  __device__ double &line(int which, int cell) const { return weights[which * CELLS + cell]; }

  template <class F>
  __device__ static void for_cells(F f) {
    for (int cell = static_cast<int>(threadIdx.x); cell < CELLS; cell += THREADS) f(cell);
  }

  /// f(cell) for the block's own cells that are inside.
  template <class F>
  __device__ void for_own(F f) const {
    for (int k = static_cast<int>(threadIdx.x); k < OWN_X * OWN_Y; k += THREADS) {
      const int cell = (k / OWN_X + 1) * ACROSS + k % OWN_X + 1;
      if (is_inside(cell)) f(cell);
    }
  }

  // -- entries -------------------------------------------------------------------------------------------------------

  __device__ void clear() const {
    for (int i = static_cast<int>(threadIdx.x); i < SLOTS * COLOURS * CELLS; i += THREADS) entries[i] = zero<A>();
    for (int i = static_cast<int>(threadIdx.x); i < LINES * CELLS; i += THREADS) weights[i] = 0;
  }

  /// From compressed rows, one point after the other of a row of points, which lie side by side.
  template <class O, class C>
  __device__ void read_rows(const O *offsets, const C *columns) const {
    const T *values = static_cast<const T *>(j.values) + item * j.entries;
    const double unit = j.unit ? j.unit[2 * item] : 1;
    for (int p = static_cast<int>(threadIdx.x); p < 4 * CELLS; p += THREADS) {
      const int dy = p / (2 * ACROSS), dx = p % (2 * ACROSS);
      const int64_t y = 2 * first_y + dy, x = 2 * first_x + dx, i = y * j.grid.width + x;
      if (y < 0 || x < 0 || y >= j.grid.height || x >= j.grid.width) continue;
      const int cell = dy / 2 * ACROSS + dx / 2, colour = 2 * (dy % 2) + dx % 2;
      for (int64_t q = offsets[i]; q < offsets[i + 1]; ++q) {
        const int direction = direction_of(j.grid.width, columns[q] - i);
        if (direction >= 0 && (CORNERS || !is_corner(direction)))
          entry(direction, colour, cell) = times(cast<A>(values[q]), unit);
      }
    }
  }

  /// From those of a five-point matrix in which every neighbour is stored: the values alone are read.
  __device__ void read_whole_rows() const {
    const T *values = static_cast<const T *>(j.values) + item * j.entries;
    const double unit = j.unit ? j.unit[2 * item] : 1;
    for (int p = static_cast<int>(threadIdx.x); p < 4 * CELLS; p += THREADS) {
      const int dy = p / (2 * ACROSS), dx = p % (2 * ACROSS);
      const int64_t y = 2 * first_y + dy, x = 2 * first_x + dx;
      if (y < 0 || x < 0 || y >= j.grid.height || x >= j.grid.width) continue;
      const int cell = dy / 2 * ACROSS + dx / 2, colour = 2 * (dy % 2) + dx % 2;
      const int up = y > 0, down = y + 1 < j.grid.height, left = x > 0, right = x + 1 < j.grid.width;
      const T *at = values + row_begin(j.grid, y, x) + up + left;  // the diagonal's
      entry(HERE, colour, cell) = times(cast<A>(at[0]), unit);
      if (left) entry(HERE - 1, colour, cell) = times(cast<A>(at[-1]), unit);
      if (right) entry(HERE + 1, colour, cell) = times(cast<A>(at[1]), unit);
      if (up) entry(HERE - 3, colour, cell) = times(cast<A>(at[-1 - left]), unit);
      if (down) entry(HERE + 3, colour, cell) = times(cast<A>(at[1 + right]), unit);
    }
  }

  /// From the planes that the level before has made.
  __device__ void read_planes() const {
    const A *from = static_cast<const A *>(j.values) + item * DIRECTIONS * room_of(j.grid);
    for_cells([&](int cell) {
      if (!is_inside(cell)) return;
      const int64_t y = cell_y(cell), x = cell_x(cell), at = place_at(j.grid, y, x);
      for (int c = 0; c < COLOURS; ++c) {
        if (!has_point(j.grid, y, x, c)) continue;
        for (int d = 0; d < DIRECTIONS; ++d) entry(d, c, cell) = from[d * room_of(j.grid) + at + c * j.grid.stride];
      }
    });
  }

  // -- interpolation -------------------------------------------------------------------------------------------------

  __device__ static double size_of(A x) { return fabs(real_of(x)) + fabs(imag_of(x)); }

  /// One over the diagonal entry, which is no smaller than half of its row; zero where there is no point.
  __device__ A inverted(int colour, int cell) const {
    const A own = entry(HERE, colour, cell);
    double half = 0;
    for (int d = 0; d < DIRECTIONS; ++d) {
      if (d != HERE && (CORNERS || !is_corner(d))) half += size_of(entry(d, colour, cell));
    }
    half /= 2;
    const double size = size_of(own), re = size > 0 ? real_of(own) : half, im = imag_of(own);
    const double by = inverted_by(size, half, re * re + im * im);
    return Number<A>::make(re * by, -im * by);
  }

  /// What a point takes from a neighbour: the real part of an entry over the diagonal, with a minus.
  __device__ double taken(int direction, int colour, int cell) const {
    if (!CORNERS && is_corner(direction)) return 0;
    const A a = entry(direction, colour, cell), by = inverse[colour * CELLS + cell];
    return imag_of(a) * imag_of(by) - real_of(a) * real_of(by);
  }

  /// Weights from the two ends to a point between them, along an axis with this step between directions.
  __device__ void between(int colour, int along, int beside_axis, int cell, int line_of) const {
    double p = 0, q = 0, middle = 1;
    for (int e = -1; e <= 1; ++e) {
      p += taken(HERE - along + e * beside_axis, colour, cell);
      q += taken(HERE + along + e * beside_axis, colour, cell);
      if (e != 0) middle -= taken(HERE + e * beside_axis, colour, cell);
    }
    const double size = fabs(p) + fabs(q), by = size == 0 ? 0 : 2 * middle >= size ? 1 / middle : 2 / size;
    line(line_of, cell) = p * by;
    line(line_of + 1, cell) = q * by;
  }

  /// Weights of the point in the middle: by its own row, from the corners and the points between these.
  __device__ void middles(int cell) const {
    double v[DIRECTIONS];
    for (int d = 0; d < DIRECTIONS; ++d) v[d] = d == HERE ? 0 : taken(d, 3, cell);
    line(CORNER, cell) = v[0] + v[1] * line(WEST, cell) + v[3] * line(ABOVE, cell);
    line(CORNER + 1, cell) = v[2] + v[1] * line(EAST, cell) + v[5] * line(ABOVE, cell + 1);
    line(CORNER + 2, cell) = v[6] + v[7] * line(WEST, cell + ACROSS) + v[3] * line(BELOW, cell);
    line(CORNER + 3, cell) = v[8] + v[7] * line(EAST, cell + ACROSS) + v[5] * line(BELOW, cell + 1);
  }

  __device__ void interpolate() const {
    for_cells([&](int cell) {
      for (int c = 0; c < COLOURS; ++c) inverse[c * CELLS + cell] = inverted(c, cell);
      between(1, 1, 3, cell, WEST);
      between(2, 3, 1, cell, ABOVE);
    });
    __syncthreads();
    for_cells([&](int cell) {
      if (cell / ACROSS <= OWN_Y && cell % ACROSS <= OWN_X) middles(cell);
    });
    __syncthreads();
  }

  // -- what the cycle reads ------------------------------------------------------------------------------------------

  /// `plane` may be NULL.
  __device__ void keep_inverse(int cell, H *plane, double *largest) const {
    for (int c = 0; c < COLOURS; ++c) {
      const A own = inverse[c * CELLS + cell];
      const double size = size_of(own);
      *largest = fmax(*largest, size);
      if (plane) plane[c * j.grid.stride] = cast<H>(times(own, within_range<H>(size)));
    }
  }

  /// Sizes are not negative, so that their bits are ordered as they are. Most warps find that there is a larger one.
  __device__ void note_largest(double mine) const {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) mine = fmax(mine, __shfl_xor_sync(0xffffffffu, mine, d));
    const unsigned long long bits = static_cast<unsigned long long>(__double_as_longlong(mine));
    if (threadIdx.x % 32 == 0 && bits > *static_cast<volatile unsigned long long *>(j.largest))
      atomicMax(j.largest, bits);
  }

  __device__ void keep() const {
    const int64_t room = room_of(j.grid);
    H *planes = j.planes ? static_cast<H *>(j.planes) + item * planes_of(CORNERS, j.is_half) * room : nullptr;
    Real *to = static_cast<Real *>(j.weights) + item * WEIGHTS * cells_of(j.grid);
    double largest = 0;
    for_own([&](int cell) {
      const int64_t y = cell_y(cell), x = cell_x(cell), at = place_at(j.grid, y, x);
      keep_inverse(cell, planes ? planes + at : nullptr, &largest);
      for (int d = 0; planes && d < DIRECTIONS; ++d) {
        if (d == HERE || (!CORNERS && is_corner(d)) || (j.is_half && d < HERE)) continue;
        for (int c = 0; c < COLOURS; ++c)
          planes[plane_of(CORNERS, d) * room + at + c * j.grid.stride] = cast<H>(entry(d, c, cell));
      }
      for (int w = 0; w < WEIGHTS; ++w)
        to[w * cells_of(j.grid) + cell_at(j.grid, y, x)] = static_cast<Real>(line(w < 2 ? w : w + 2, cell));
    });
    note_largest(largest);
  }

  // -- the next matrix -----------------------------------------------------------------------------------------------

  /// The weight from a point of the next grid, so many cells down and across, to a point.
  __device__ double weight(int colour, int down, int across, int cell) const {
    if (colour == 0) return 1;
    return line(colour == 1 ? WEST + across : colour == 2 ? ABOVE + down : CORNER + 2 * down + across, cell);
  }

  /// Adds what a point of a colour has to do with the points of the next grid around, nine numbers, times `by`.
  template <int COLOUR, int DOWN_TO, int ACROSS_TO>
  __device__ void add_point(int cell, A out[DIRECTIONS]) const {
    const double by = weight(COLOUR, DOWN_TO, ACROSS_TO, cell);
#pragma unroll
    for (int d = 0; d < DIRECTIONS; ++d) {
      if (!CORNERS && is_corner(d)) continue;
      const Beside n = beside(COLOUR, d);
      const A a = times(entry(d, COLOUR, cell), by);
      const int other = cell + n.down * ACROSS + n.across;
#pragma unroll
      for (int down = 0; down <= n.colour / 2; ++down) {
#pragma unroll
        for (int across = 0; across <= n.colour % 2; ++across) {
          const int to = (n.down + down - DOWN_TO + 1) * 3 + n.across + across - ACROSS_TO + 1;
          out[to] = out[to] + times(a, weight(n.colour, down, across, other));
        }
      }
    }
  }

  __device__ void next_row(int cell, A out[DIRECTIONS]) const {
#pragma unroll
    for (int d = 0; d < DIRECTIONS; ++d) out[d] = zero<A>();
    add_point<0, 0, 0>(cell, out);
    add_point<1, 0, 0>(cell, out);
    add_point<1, 0, 1>(cell - 1, out);
    add_point<2, 0, 0>(cell, out);
    add_point<2, 1, 0>(cell - ACROSS, out);
    add_point<3, 0, 0>(cell, out);
    add_point<3, 0, 1>(cell - 1, out);
    add_point<3, 1, 0>(cell - ACROSS, out);
    add_point<3, 1, 1>(cell - ACROSS - 1, out);
  }

  __device__ void give_next() const {
    A *to = static_cast<A *>(j.out) + item * DIRECTIONS * room_of(j.next);
    for_own([&](int cell) {
      A out[DIRECTIONS];
      next_row(cell, out);
      const int64_t at = point_at(j.next, cell_y(cell), cell_x(cell));
#pragma unroll
      for (int d = 0; d < DIRECTIONS; ++d) to[d * room_of(j.next) + at] = out[d];
    });
  }
};

template <class T, class H, bool CORNERS, class O, class C>
__global__ void __launch_bounds__(THREADS)
    set_up(const __grid_constant__ cuda_grid_setup j, const O *offsets, const C *columns, int64_t tiles) {
  extern __shared__ __align__(16) unsigned char shared[];
  for (int64_t item = blockIdx.y; item < j.items; item += gridDim.y) {
    for (int64_t at = blockIdx.x; at < tiles; at += gridDim.x) {
      Tile<T, H, CORNERS> tile(j, item, at, shared);
      __syncthreads();
      tile.clear();
      __syncthreads();
      if (!CORNERS && j.is_whole) {
        tile.read_whole_rows();
      } else if (offsets) {
        tile.read_rows(offsets, columns);
      } else if constexpr (CORNERS) {
        tile.read_planes();
      }
      __syncthreads();
      tile.interpolate();
      tile.keep();
      tile.give_next();
    }
  }
}

template <class T, class H, bool CORNERS, class O, class C>
cudaError_t start(cudaStream_t stream, const cuda_grid_setup *j, const O *offsets, const C *columns) {
  using This = Tile<T, H, CORNERS>;
  auto kernel = set_up<T, H, CORNERS, O, C>;
  const int64_t tiles = ceil_div(j->grid.across, This::OWN_X) * ceil_div(j->grid.down, OWN_Y);
  cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, This::BYTES);
  if (error != cudaSuccess || tiles == 0 || j->items == 0) return error;
  kernel<<<dim3(blocks(tiles, MAX_X), blocks(j->items, MAX_YZ)), THREADS, This::BYTES, stream>>>(*j, offsets, columns,
                                                                                                 tiles);
  return cudaGetLastError();
}

/// The levels below the finest are computed in one width of integers, of which they read none.
template <class T, class H>
cudaError_t with_matrix(cudaStream_t stream, const cuda_grid_setup *j) {
  if (!j->rows) return start<T, H, true, int32_t, int32_t>(stream, j, nullptr, nullptr);
  return with_width(j->rows, [&](auto offset, auto column) {
    using O = decltype(offset);
    using C = decltype(column);
    const O *offsets = integers<O>(j->rows->offsets);
    const C *columns = integers<C>(j->rows->columns);
    return j->grid.has_corners ? start<T, H, true>(stream, j, offsets, columns)
                               : start<T, H, false>(stream, j, offsets, columns);
  });
}

}  // namespace

cudaError_t cuda_launch_grid_setup(cudaStream_t stream, lac_dtype wide, lac_dtype narrow, const cuda_grid_setup *job) {
  cudaError_t error = cudaMemsetAsync(job->largest, 0, sizeof *job->largest, stream);
  if (error != cudaSuccess) return error;
  return with_dtype(narrow, [&](auto number) {
    using H = decltype(number);
    using Wide = typename Number<H>::Wide;
    return wide == narrow ? with_matrix<H, H>(stream, job) : with_matrix<Wide, H>(stream, job);
  });
}
