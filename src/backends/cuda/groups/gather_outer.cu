// SPDX-License-Identifier: Apache-2.0
/// @file gather_outer.cu
/// Outer products of rows, summed over those that name the same matrix:
///
///     w[j] = sum over the sources i of j of conj(u[i, :])^T v[i, :]        w[j] has d rows and e columns
///
/// The places, in the order of the groups, are cut into pieces of one length; a block has a piece and a tile of w. What
/// a piece has of a group that goes on behind it is carried, and added by a second kernel in the order of the pieces.
/// Sums are taken in f64.

#include "backends/cuda/groups/groups.h"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

constexpr int TILE = 64, DEPTH = 16;
constexpr int SIDE = 4;                    // a thread has SIDE x SIDE numbers of a tile
constexpr int64_t MOST_PIECES = 1024;      // that fill a large device
constexpr int64_t MOST_BYTES = 256 << 20;  // carried

struct Outer {
  int64_t inputs, outputs, d, e;
  int64_t length, pieces;  // places of a piece
  int64_t across, tiles;   // tiles beside each other in w, and all
  cuda_batch batch;
};

Outer outer_of(lac_dtype dtype, const cuda_gather *g) {
  int64_t wide = dtype == LAC_F32 || dtype == LAC_F64 ? 8 : 16, inputs = g->groups.inputs;
  int64_t matrices = g->d * g->e * g->batch.kept.count * wide, pieces = ceil_div(inputs, 4 * DEPTH);
  if (pieces > MOST_PIECES) pieces = MOST_PIECES;
  if (pieces > MOST_BYTES / matrices) pieces = MOST_BYTES / matrices;
  if (pieces < 1) pieces = 1;
  int64_t length = inputs > 0 ? ceil_div(inputs, pieces) : 1, across = ceil_div(g->e, TILE);
  return {inputs,  g->groups.outputs,        g->d,   g->e,
          length,  ceil_div(inputs, length), across, ceil_div(g->d, TILE) * across,
          g->batch};
}

/// The map as kernels take it.
template <class I>
struct Map {
  const I *__restrict__ target;
  const I *__restrict__ offsets;
  const I *__restrict__ sources;

  __device__ int64_t row(int64_t place) const { return sources ? sources[place] : place; }
  __device__ int64_t group(int64_t place) const { return target[row(place)]; }
};

template <class T>
struct Tile {
  T u[DEPTH][TILE], v[DEPTH][TILE];
};

/// Bring the rows of `count` places to shared memory: TILE numbers of each from r0 and c0 on, zeros behind the last.
template <class T, class I>
__device__ void tile_load(Tile<T> &tile, const Outer &job, const Map<I> &map, int64_t place, int count, int64_t r0,
                          int64_t c0, const T *__restrict__ u, const T *__restrict__ v) {
  for (int n = static_cast<int>(threadIdx.x); n < count * TILE; n += BLOCK) {
    int l = n / TILE, i = n % TILE;
    int64_t row = map.row(place + l);
    tile.u[l][i] = r0 + i < job.d ? conj_of(u[row * job.d + r0 + i]) : zero<T>();
    tile.v[l][i] = c0 + i < job.e ? v[row * job.e + c0 + i] : zero<T>();
  }
}

template <class T, class W>
__device__ void tile_add(const Tile<T> &tile, int count, int row, int column, W (&sum)[SIDE][SIDE]) {
  for (int l = 0; l < count; ++l) {
    W u[SIDE], v[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; ++i)
      u[i] = cast<W>(tile.u[l][row + i]), v[i] = cast<W>(tile.v[l][column + i * (TILE / SIDE)]);
#pragma unroll
    for (int i = 0; i < SIDE; ++i) {
#pragma unroll
      for (int k = 0; k < SIDE; ++k) sum[i][k] = sum[i][k] + u[i] * v[k];
    }
  }
}

/// The thread's numbers of places [begin, end), all of one group. All threads of the block come here.
template <class T, class I, class W>
__device__ void run_sum(Tile<T> &tile, const Outer &job, const Map<I> &map, int64_t item, int64_t begin, int64_t end,
                        int64_t r0, int64_t c0, int row, int column, const T *__restrict__ u, const T *__restrict__ v,
                        W (&sum)[SIDE][SIDE]) {
#pragma unroll
  for (int n = 0; n < SIDE * SIDE; ++n) sum[n / SIDE][n % SIDE] = zero<W>();
  for_summands<true>(job.batch.summed, locate(job.batch.kept, item), [&](Offsets at) {
    for (int64_t place = begin; place < end; place += DEPTH) {
      int count = end - place < DEPTH ? static_cast<int>(end - place) : DEPTH;
      tile_load(tile, job, map, place, count, r0, c0, u + at.x, v + at.y);
      __syncthreads();
      tile_add(tile, count, row, column, sum);
      __syncthreads();
    }
  });
}

template <class To, class W>
__device__ void tile_store(const Outer &job, int64_t r0, int64_t c0, int row, int column, const W (&sum)[SIDE][SIDE],
                           To *__restrict__ to) {
#pragma unroll
  for (int n = 0; n < SIDE * SIDE; ++n) {
    int64_t r = r0 + row + n / SIDE, c = c0 + column + n % SIDE * (TILE / SIDE);
    if (r < job.d && c < job.e) to[r * job.e + c] = cast<To>(sum[n / SIDE][n % SIDE]);
  }
}

template <class T, class I>
__global__ void __launch_bounds__(BLOCK)
    gather_outer(const __grid_constant__ Outer job, Map<I> map, const T *__restrict__ u, const T *__restrict__ v,
                 typename Number<T>::Wide *__restrict__ carried, T *__restrict__ w) {
  using W = typename Number<T>::Wide;
  __shared__ Tile<T> tile;
  int row = static_cast<int>(threadIdx.x) / (TILE / SIDE) * SIDE,
      column = static_cast<int>(threadIdx.x) % (TILE / SIDE);
  int64_t places = map.offsets[job.outputs], size = job.d * job.e;
  W sum[SIDE][SIDE];
  for (int64_t item = blockIdx.z; item < job.batch.kept.count; item += gridDim.z) {
    for (int64_t t = blockIdx.y; t < job.tiles; t += gridDim.y) {
      int64_t r0 = t / job.across * TILE, c0 = t % job.across * TILE;
      for (int64_t piece = blockIdx.x; piece < job.pieces; piece += gridDim.x) {
        int64_t begin = piece * job.length, last = begin + job.length < places ? begin + job.length : places;
        while (begin < last) {
          int64_t j = map.group(begin), stop = map.offsets[j + 1], end = stop < last ? stop : last;
          run_sum(tile, job, map, item, begin, end, r0, c0, row, column, u, v, sum);
          if (end == stop) {
            tile_store(job, r0, c0, row, column, sum, w + (item * job.outputs + j) * size);
          } else {
            tile_store(job, r0, c0, row, column, sum, carried + (item * job.pieces + piece) * size);
          }
          begin = end;
        }
      }
    }
  }
}

/// The group that goes on behind a piece, or -1.
template <class I>
__device__ int64_t carried_group(const Outer &job, const Map<I> &map, int64_t places, int64_t piece) {
  int64_t last = (piece + 1) * job.length;
  if (piece < 0 || last >= places) return -1;
  int64_t j = map.group(last - 1);
  return map.offsets[j + 1] > last ? j : -1;
}

/// What was carried of a group is added to it, a thread to a number.
template <class T, class I>
__global__ void __launch_bounds__(BLOCK)
    outer_carry(const __grid_constant__ Outer job, Map<I> map, const typename Number<T>::Wide *__restrict__ carried,
                T *__restrict__ w) {
  using W = typename Number<T>::Wide;
  int64_t places = map.offsets[job.outputs], size = job.d * job.e, step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t item = blockIdx.z; item < job.batch.kept.count; item += gridDim.z) {
    for (int64_t piece = blockIdx.y; piece < job.pieces; piece += gridDim.y) {
      int64_t j = carried_group(job, map, places, piece);
      if (j < 0 || carried_group(job, map, places, piece - 1) == j) continue;
      int64_t stop = map.offsets[j + 1];
      for (int64_t n = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; n < size; n += step) {
        const W *from = carried + item * job.pieces * size + n;
        W sum = zero<W>();
#pragma unroll 4
        for (int64_t i = piece; (i + 1) * job.length < stop; ++i) sum = sum + from[i * size];
        T &to = w[(item * job.outputs + j) * size + n];
        to = cast<T>(sum + cast<W>(to));
      }
    }
  }
}

template <class T, class I>
cudaError_t start(cudaStream_t stream, const Outer &job, const Map<I> &map, const T *u, const T *v, void *scratch,
                  T *w) {
  using W = typename Number<T>::Wide;
  int64_t items = job.batch.kept.count, size = job.d * job.e;
  size_t bytes = static_cast<size_t>(items * job.outputs * size) * sizeof(T);
  cudaError_t error = cudaMemsetAsync(w, 0, bytes, stream);  // groups without sources
  if (error != cudaSuccess || job.inputs == 0) return error;
  W *carried = static_cast<W *>(scratch);
  dim3 grid(blocks(job.pieces, MAX_X), blocks(job.tiles, MAX_YZ), blocks(items, MAX_YZ));
  error = launch(gather_outer<T, I>, grid, stream, job, map, u, v, carried, w);
  if (error != cudaSuccess || job.pieces == 1) return error;
  dim3 carry(blocks(ceil_div(size, BLOCK), 64), blocks(job.pieces, MAX_YZ), blocks(items, MAX_YZ));
  return launch(outer_carry<T, I>, carry, stream, job, map, static_cast<const W *>(carried), w);
}

}  // namespace

size_t cuda_gather_outer_scratch(lac_dtype dtype, const cuda_gather *g) {
  if (g->groups.inputs == 0 || g->d * g->e * g->batch.kept.count == 0) return 0;
  Outer job = outer_of(dtype, g);
  size_t wide = dtype == LAC_F32 || dtype == LAC_F64 ? sizeof(double) : 2 * sizeof(double);
  return job.pieces == 1 ? 0 : static_cast<size_t>(job.pieces * g->batch.kept.count * g->d * g->e) * wide;
}

cudaError_t cuda_launch_gather_outer(cudaStream_t stream, lac_dtype dtype, const cuda_gather *g, const void *u,
                                     const void *v, void *scratch, void *w) {
  if (g->groups.outputs == 0 || g->d * g->e * g->batch.kept.count == 0) return cudaSuccess;
  Outer job = outer_of(dtype, g);
  return with_dtype(dtype, [&](auto number) {
    return with_index(g->groups.target.type, [&](auto index) {
      using T = decltype(number);
      using I = decltype(index);
      Map<I> map = {integers<I>(g->groups.target), integers<I>(g->groups.offsets), integers<I>(g->groups.sources)};
      return start<T, I>(stream, job, map, static_cast<const T *>(u), static_cast<const T *>(v), scratch,
                         static_cast<T *>(w));
    });
  });
}
