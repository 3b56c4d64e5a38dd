// SPDX-License-Identifier: Apache-2.0
/// @file gather_mm.cu
/// Rows times the matrix that each of them names:
///
///     y[i, :] = a[i, :] op(b[target i])        op(b) has p rows and q columns
///
/// Few rows to a matrix: a warp to a row, which reads its matrix once. Many: tiles of ROWS places in the order of the
/// groups and COLUMNS columns of y; the rows of a tile that name one matrix are multiplied together, through shared
/// memory.

#include "backends/cuda/groups/groups.h"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

struct Products {
  int64_t inputs, outputs, p, q;
  int turned, conj;
  cuda_batch batch;
};

/// Number (l, c) of op(b), where b is the matrix of one row.
template <class T>
__device__ T factor(const Products &job, const T *__restrict__ b, int64_t l, int64_t c) {
  return conj_if(job.conj, b[job.turned ? c * job.p + l : l * job.q + c]);
}

// -- a warp to a row -------------------------------------------------------------------------------------------------

/// y[i, c] for every 32nd column from the lane's on.
template <class T>
__device__ T column_sum(const Products &job, const T *__restrict__ a, const T *__restrict__ b, int64_t c, T sum) {
#pragma unroll 4
  for (int64_t l = 0; l < job.p; ++l) sum = sum + a[l] * factor(job, b, l, c);
  return sum;
}

/// y[i, c] of a turned matrix, whose columns lie along memory: the lanes share each of them.
template <class T>
__device__ T lanes_sum(const Products &job, const T *__restrict__ a, const T *__restrict__ b, int64_t c, int lane,
                       T sum) {
#pragma unroll 4
  for (int64_t l = lane; l < job.p; l += 32) sum = sum + a[l] * factor(job, b, l, c);
  return sum;
}

template <class T, class I>
__global__ void __launch_bounds__(BLOCK)
    gather_rows(const __grid_constant__ Products job, const I *__restrict__ target, const T *__restrict__ a,
                const T *__restrict__ b, T *__restrict__ y) {
  Groups<32> warps;
  for (int64_t item = blockIdx.y; item < job.batch.kept.count; item += gridDim.y) {
    Offsets base = locate(job.batch.kept, item);
    for (int64_t i = warps.first; i < job.inputs; i += warps.step) {
      int64_t j = target[i], matrix = j * job.p * job.q;
      T *to = y + (item * job.inputs + i) * job.q;
      for (int64_t c = job.turned ? 0 : warps.lane; c < job.q; c += job.turned ? 1 : 32) {
        T sum = zero<T>();
        if (j >= 0) {
          for_summands<true>(job.batch.summed, base, [&](Offsets at) {
            const T *row = a + at.x + i * job.p, *from = b + at.y + matrix;
            sum = job.turned ? lanes_sum(job, row, from, c, warps.lane, sum) : column_sum(job, row, from, c, sum);
          });
        }
        if (job.turned) sum = group_sum<32>(sum);
        if (!job.turned || warps.lane == 0) to[c] = sum;
      }
    }
  }
}

// -- tiles -----------------------------------------------------------------------------------------------------------

constexpr int ROWS = 64, COLUMNS = 64, DEPTH = 16;
constexpr int SIDE = 4;  // a thread has SIDE x SIDE numbers of a tile

template <class T>
struct Tile {
  T a[DEPTH][ROWS];
  T b[DEPTH][COLUMNS + 1];  // a gap, for turned matrices, which are written along the other axis
  int64_t row[ROWS];
  int64_t group[ROWS];
};

/// Bring DEPTH columns of rows [begin, end) of the tile, and as many rows of op(b), to shared memory.
template <class T>
__device__ void tile_load(Tile<T> &tile, const Products &job, int begin, int end, int64_t l0, int64_t c0,
                          const T *__restrict__ a, const T *__restrict__ b) {
  int thread = static_cast<int>(threadIdx.x);
  for (int n = thread; n < ROWS * DEPTH; n += BLOCK) {
    int i = n / DEPTH, l = n % DEPTH;
    if (i >= begin && i < end) tile.a[l][i] = l0 + l < job.p ? a[tile.row[i] * job.p + l0 + l] : zero<T>();
  }
  for (int n = thread; n < DEPTH * COLUMNS; n += BLOCK) {
    int l = job.turned ? n % DEPTH : n / COLUMNS, c = job.turned ? n / DEPTH : n % COLUMNS;
    bool is_here = l0 + l < job.p && c0 + c < job.q;
    tile.b[l][c] = is_here ? factor(job, b, l0 + l, c0 + c) : zero<T>();
  }
}

/// Add what the tile in shared memory gives to the thread's numbers.
template <class T>
__device__ void tile_multiply(const Tile<T> &tile, int row, int column, T (&sum)[SIDE][SIDE]) {
#pragma unroll 4
  for (int l = 0; l < DEPTH; ++l) {
    T a[SIDE], b[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; ++i) a[i] = tile.a[l][row + i], b[i] = tile.b[l][column + i * (COLUMNS / SIDE)];
#pragma unroll
    for (int i = 0; i < SIDE; ++i) {
#pragma unroll
      for (int k = 0; k < SIDE; ++k) sum[i][k] = sum[i][k] + a[i] * b[k];
    }
  }
}

/// Rows [begin, end) of the tile, which name one matrix, at columns from c0 on. All threads of the block come here.
template <class T>
__device__ void tile_run(Tile<T> &tile, const Products &job, int64_t item, int begin, int end, int64_t c0,
                         const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ y) {
  int row = static_cast<int>(threadIdx.x) / (COLUMNS / SIDE) * SIDE,
      column = static_cast<int>(threadIdx.x) % (COLUMNS / SIDE);
  bool takes_part = row < end && row + SIDE > begin;
  T sum[SIDE][SIDE];
#pragma unroll
  for (int n = 0; n < SIDE * SIDE; ++n) sum[n / SIDE][n % SIDE] = zero<T>();
  for_summands<true>(job.batch.summed, locate(job.batch.kept, item), [&](Offsets at) {
    const T *from = b + at.y + tile.group[begin] * job.p * job.q;
    for (int64_t l0 = 0; l0 < job.p; l0 += DEPTH) {
      tile_load(tile, job, begin, end, l0, c0, a + at.x, from);
      __syncthreads();
      if (takes_part) tile_multiply(tile, row, column, sum);
      __syncthreads();
    }
  });
#pragma unroll
  for (int i = 0; i < SIDE; ++i) {
    if (row + i < begin || row + i >= end) continue;
    T *to = y + (item * job.inputs + tile.row[row + i]) * job.q;
#pragma unroll
    for (int k = 0; k < SIDE; ++k) {
      int64_t c = c0 + column + k * (COLUMNS / SIDE);
      if (c < job.q) to[c] = sum[i][k];
    }
  }
}

template <class T, class I>
__global__ void __launch_bounds__(BLOCK)
    gather_tiles(const __grid_constant__ Products job, const I *__restrict__ target, const I *__restrict__ offsets,
                 const I *__restrict__ sources, const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ y) {
  __shared__ Tile<T> tile;
  int64_t places = offsets[job.outputs], step = static_cast<int64_t>(gridDim.x) * ROWS;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * ROWS; first < places; first += step) {
    int here = places - first < ROWS ? static_cast<int>(places - first) : ROWS;
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < here) {
      int64_t row = sources ? sources[first + threadIdx.x] : first + threadIdx.x;
      tile.row[threadIdx.x] = row, tile.group[threadIdx.x] = target[row];
    }
    __syncthreads();
    for (int64_t item = blockIdx.z; item < job.batch.kept.count; item += gridDim.z) {
      for (int64_t c0 = static_cast<int64_t>(blockIdx.y) * COLUMNS; c0 < job.q; c0 += gridDim.y * int64_t{COLUMNS}) {
        for (int begin = 0, end; begin < here; begin = end) {
          for (end = begin + 1; end < here && tile.group[end] == tile.group[begin];) ++end;
          tile_run(tile, job, item, begin, end, c0, a, b, y);
        }
      }
    }
  }
}

template <class T, class I>
cudaError_t start_rows(cudaStream_t stream, const Products &job, const cuda_groups &g, const T *a, const T *b, T *y) {
  dim3 grid(blocks(ceil_div(job.inputs, BLOCK / 32), MAX_X), blocks(job.batch.kept.count, MAX_YZ));
  return launch(gather_rows<T, I>, grid, stream, job, integers<I>(g.target), a, b, y);
}

template <class T, class I>
cudaError_t start_tiles(cudaStream_t stream, const Products &job, const cuda_groups &g, const T *a, const T *b, T *y) {
  if (g.sources.data) {  // rows may be dropped
    size_t numbers = static_cast<size_t>(job.batch.kept.count * job.inputs * job.q);
    cudaError_t error = cudaMemsetAsync(y, 0, numbers * sizeof(T), stream);
    if (error != cudaSuccess) return error;
  }
  dim3 grid(blocks(ceil_div(job.inputs, ROWS), MAX_X), blocks(ceil_div(job.q, COLUMNS), MAX_YZ),
            blocks(job.batch.kept.count, MAX_YZ));
  return launch(gather_tiles<T, I>, grid, stream, job, integers<I>(g.target), integers<I>(g.offsets),
                integers<I>(g.sources), a, b, y);
}

}  // namespace

cudaError_t cuda_launch_gather_mm(cudaStream_t stream, lac_dtype dtype, const cuda_gather *g, int turned, int conj,
                                  const void *a, const void *b, void *y) {
  Products job = {g->groups.inputs, g->groups.outputs, turned ? g->e : g->d, turned ? g->d : g->e, turned, conj,
                  g->batch};
  if (job.inputs == 0 || job.q == 0 || job.batch.kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    return with_index(g->groups.target.type, [&](auto index) {
      using T = decltype(number);
      using I = decltype(index);
      const T *rows = static_cast<const T *>(a), *matrices = static_cast<const T *>(b);
      T *to = static_cast<T *>(y);
      if (cuda_mean_length(&g->groups.lengths) < ROWS / 2)
        return start_rows<T, I>(stream, job, g->groups, rows, matrices, to);
      return start_tiles<T, I>(stream, job, g->groups, rows, matrices, to);
    });
  });
}
