// SPDX-License-Identifier: Apache-2.0
/// @file cumsum.cu
/// Running sums of x [outer, n, inner] along n, in f64:
///
///     y_i = x_0 + ... + x_i       or, backwards,       y_i = x_i + ... + x_n-1
///
/// Where there are few runs, each is cut into chunks: their sums, then the sums of all chunks before each, then running
/// sums that begin there. The cut depends on the shape alone, so the bits never change. A run along which memory runs
/// on is taken by a block of threads, a tile at a time; others by one thread, beside its neighbours.

#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

/// Runs of n numbers, each cut into `chunks` of `length`.
struct Runs {
  int64_t outer, n, inner;
  int64_t chunks, length;
  bool backwards, by_blocks;
  bool is_wide;  // a block moves packs

  __host__ __device__ int64_t columns() const { return outer * inner; }
  /// Where the i-th number of a run stands, from its one end or from the other.
  __device__ int64_t at(int64_t column, int64_t i) const {
    int64_t before = column / inner, place = backwards ? n - 1 - i : i;
    return (before * n + place) * inner + (column - before * inner);
  }
};

constexpr int FEW = 4;                  // neighbours that a thread of a block takes at a time
constexpr int64_t TILE = BLOCK * FEW;   // that a block takes
constexpr int64_t MANY = 2048 * BLOCK;  // threads that keep a large device busy

Runs runs_of(int64_t outer, int64_t n, int64_t inner, int backwards) {
  Runs runs = {outer, n, inner, 1, n, backwards != 0, inner == 1 && n > 64, false};
  int64_t threads = runs.columns() * (runs.by_blocks ? BLOCK : 1), least = runs.by_blocks ? 4 * TILE : 64;
  int64_t chunks = threads > 0 ? ceil_div(MANY, threads) : 1;
  if (chunks > ceil_div(n, least)) chunks = ceil_div(n, least);
  if (chunks > 2048) chunks = 2048;
  if (chunks < 2) return runs;
  runs.length = ceil_div(n, chunks);
  if (runs.by_blocks) runs.length = ceil_div(runs.length, TILE) * TILE;
  runs.chunks = ceil_div(n, runs.length);
  return runs;
}

// -- one thread for a chunk ------------------------------------------------------------------------------------------

/// Item i is column i % columns of chunk i / columns: neighbours read neighbouring numbers. With y, running sums from
/// starts[i] on, or from 0 on; without, sums[i].
template <class T, class W>
__global__ void __launch_bounds__(BLOCK)
    scan_columns(const __grid_constant__ Runs runs, const T *x, const W *starts, T *y, W *sums) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK, columns = runs.columns();
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < columns * runs.chunks; i += step) {
    int64_t chunk = i / columns, begin = chunk * runs.length, left = runs.n - begin;
    int64_t count = left < runs.length ? left : runs.length, at = runs.at(i - chunk * columns, begin);
    int64_t stride = runs.backwards ? -runs.inner : runs.inner;
    W sum = starts ? starts[i] : zero<W>();
#pragma unroll 4
    for (int64_t k = 0; k < count; ++k, at += stride) {
      sum = sum + cast<W>(x[at]);
      if (y) y[at] = cast<T>(sum);
    }
    if (sums) sums[i] = sum;
  }
}

// -- a block for a chunk ---------------------------------------------------------------------------------------------

/// The number of the lane `distance` before.
template <class R>
__device__ R shift_up(R x, int distance) {
  return __shfl_up_sync(0xffffffffu, x, distance);
}
template <class R>
__device__ Complex<R> shift_up(Complex<R> x, int distance) {
  return {shift_up(x.re, distance), shift_up(x.im, distance)};
}

/// What stands before each thread of a block, and the sum of all. Nothing is subtracted: what comes later is not seen.
template <class W>
__device__ W sum_before(W own, W *total) {
  __shared__ W warps[BLOCK / 32];
  int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  W sum = own;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    W other = shift_up(sum, d);
    if (lane >= d) sum = other + sum;
  }
  if (lane == 31) warps[warp] = sum;
  W before = shift_up(sum, 1), earlier = zero<W>(), all = zero<W>();
  __syncthreads();
#pragma unroll
  for (int w = 0; w < BLOCK / 32; ++w) {
    if (w == warp) earlier = all;
    all = all + warps[w];
  }
  __syncthreads();
  *total = all;
  return lane ? earlier + before : earlier;
}

/// The numbers `first`, first + 1, .. of a run, before `end`; zeros behind it.
template <class T>
__device__ void take_few(const Runs &runs, int64_t run, int64_t first, int64_t end, const T *x, T few[FEW]) {
  constexpr int V = wide_pack<T>();
#pragma unroll
  for (int v = 0; v < FEW; v += V) {
    bool is_whole = runs.is_wide && first + v + V <= end;
    Pack<T, V> pack;
    if (is_whole) pack = load<V>(x + run * runs.n + first + v);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      int64_t place = first + v + i;
      few[v + i] = is_whole ? pack.at[i] : place < end ? x[runs.at(run, place)] : zero<T>();
    }
  }
}

template <class T>
__device__ void put_few(const Runs &runs, int64_t run, int64_t first, int64_t end, const T few[FEW], T *y) {
  constexpr int V = wide_pack<T>();
#pragma unroll
  for (int v = 0; v < FEW; v += V) {
    bool is_whole = runs.is_wide && first + v + V <= end;
    Pack<T, V> pack;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      int64_t place = first + v + i;
      pack.at[i] = few[v + i];
      if (!is_whole && place < end) y[runs.at(run, place)] = few[v + i];
    }
    if (is_whole) store<V>(y + run * runs.n + first + v, pack);
  }
}

/// The sum of the numbers [begin, end) of a run; all threads of the block have it.
template <class W, class T>
__device__ W sum_of_chunk(const Runs &runs, int64_t run, int64_t begin, int64_t end, const T *x) {
  W sum = zero<W>(), all;
#pragma unroll 2
  for (int64_t first = begin + static_cast<int64_t>(threadIdx.x) * FEW; first < end; first += TILE) {
    T few[FEW];
    take_few(runs, run, first, end, x, few);
#pragma unroll
    for (int v = 0; v < FEW; ++v) sum = sum + cast<W>(few[v]);
  }
  (void)sum_before(sum, &all);
  return all;
}

/// Running sums of [begin, end), which go on from `carry`.
template <class W, class T>
__device__ void scan_chunk(const Runs &runs, int64_t run, int64_t begin, int64_t end, const T *x, W carry, T *y) {
  for (int64_t tile = begin; tile < end; tile += TILE) {
    int64_t first = tile + static_cast<int64_t>(threadIdx.x) * FEW;
    T few[FEW];
    W own[FEW], sum = zero<W>(), all;
    take_few(runs, run, first, end, x, few);
#pragma unroll
    for (int v = 0; v < FEW; ++v) own[v] = sum = sum + cast<W>(few[v]);
    W before = carry + sum_before(sum, &all);
#pragma unroll
    for (int v = 0; v < FEW; ++v) few[v] = cast<T>(before + own[v]);
    put_few(runs, run, first, end, few, y);
    carry = carry + all;
  }
}

/// Item i is run i / chunks, chunk i % chunks: one block each. inner is 1.
template <class T, class W>
__global__ void __launch_bounds__(BLOCK)
    scan_rows(const __grid_constant__ Runs runs, const T *x, const W *starts, T *y, W *sums) {
  for (int64_t item = blockIdx.x; item < runs.outer * runs.chunks; item += gridDim.x) {
    int64_t run = item / runs.chunks, begin = (item - run * runs.chunks) * runs.length, end = begin + runs.length;
    if (end > runs.n) end = runs.n;
    if (y) {
      scan_chunk(runs, run, begin, end, x, starts ? starts[item] : zero<W>(), y);
    } else {
      W sum = sum_of_chunk<W>(runs, run, begin, end, x);
      if (threadIdx.x == 0) sums[item] = sum;
    }
  }
}

// -- chunks ----------------------------------------------------------------------------------------------------------

/// sums[column, chunk] become the sums of all chunks before, a block for each column; chunks are `stride` apart.
template <class W>
__global__ void __launch_bounds__(BLOCK)
    scan_chunks(int64_t columns, int64_t chunks, int64_t next, int64_t stride, W *sums) {
  for (int64_t column = blockIdx.x; column < columns; column += gridDim.x) {
    W *of_column = sums + column * next, carry = zero<W>(), all;
    for (int64_t tile = 0; tile < chunks; tile += BLOCK) {
      int64_t chunk = tile + threadIdx.x;
      W own = chunk < chunks ? of_column[chunk * stride] : zero<W>(), before = carry + sum_before(own, &all);
      if (chunk < chunks) of_column[chunk * stride] = before;
      carry = carry + all;
    }
  }
}

template <class T, class W>
cudaError_t start_scan(cudaStream_t stream, const Runs &runs, const T *x, const W *starts, T *y, W *sums) {
  int64_t items = runs.columns() * runs.chunks;
  if (runs.by_blocks) return launch(scan_rows<T, W>, dim3(blocks(items, MAX_X)), stream, runs, x, starts, y, sums);
  return launch(scan_columns<T, W>, dim3(blocks(ceil_div(items, BLOCK), MAX_X)), stream, runs, x, starts, y, sums);
}

template <class T>
cudaError_t start_cumsum(cudaStream_t stream, const Runs &runs, const T *x, void *scratch, T *y) {
  using W = typename Number<T>::Wide;
  W *none = nullptr, *sums = static_cast<W *>(scratch);
  if (runs.chunks == 1) return start_scan(stream, runs, x, static_cast<const W *>(none), y, none);
  int64_t columns = runs.columns(), next = runs.by_blocks ? runs.chunks : 1, stride = runs.by_blocks ? 1 : columns;
  cudaError_t error = start_scan(stream, runs, x, static_cast<const W *>(none), static_cast<T *>(nullptr), sums);
  if (error == cudaSuccess)
    error = launch(scan_chunks<W>, dim3(blocks(columns, MAX_X)), stream, columns, runs.chunks, next, stride, sums);
  if (error != cudaSuccess) return error;
  return start_scan(stream, runs, x, static_cast<const W *>(sums), y, none);
}

}  // namespace

size_t cuda_cumsum_scratch(lac_dtype dtype, int64_t outer, int64_t n, int64_t inner) {
  Runs runs = runs_of(outer, n, inner, 0);
  size_t wide = dtype == LAC_F32 || dtype == LAC_F64 ? sizeof(double) : 2 * sizeof(double);
  return runs.chunks == 1 ? 0 : static_cast<size_t>(runs.columns() * runs.chunks) * wide;
}

cudaError_t cuda_launch_cumsum(cudaStream_t stream, lac_dtype dtype, int64_t outer, int64_t n, int64_t inner,
                               int backwards, const void *x, void *scratch, void *y) {
  if (outer == 0 || n == 0 || inner == 0) return cudaSuccess;
  Runs runs = runs_of(outer, n, inner, backwards);
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    runs.is_wide = !backwards && (outer == 1 || n % wide_pack<T>() == 0) && is_aligned(x) && is_aligned(y);
    return start_cumsum(stream, runs, static_cast<const T *>(x), scratch, static_cast<T *>(y));
  });
}
