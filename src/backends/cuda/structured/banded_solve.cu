// SPDX-License-Identifier: Apache-2.0
/// @file banded_solve.cu
/// op(A) x = b for a band: elimination with partial pivoting, the right-hand sides along with it.
///
/// A block has one system and some of its right-hand sides. The rows that elimination can still exchange, those from
/// the pivot's to `lower` below it, are a window in shared memory, or in device memory where that is too small. Column
/// c stands in place c mod width of its row, so that nothing moves when the window does; rows are exchanged by their
/// places. Pivot rows leave the window: those of U for memory, where a second kernel finds them, the right-hand sides
/// for x.

#include "backends/cuda/shared.cuh"
#include "backends/cuda/solves/quotient.cuh"
#include "backends/cuda/solves/wait.cuh"
#include "backends/cuda/structured/structured.h"

using namespace lac_cuda;

namespace {

constexpr int64_t SHARED_BYTES = 40960;
constexpr int64_t RIGHT_SIDES = 16;  // of a block

template <class T>
struct Band {
  int64_t n, lower, upper, width, k, sides, chunks;  // width: lower + upper + 1, the numbers in a row of U
  int64_t stored_upper;
  int transposed, conj;
  const T *__restrict__ ab, *__restrict__ b;
  T *u, *x;
  T *windows;  // one for each block where shared memory is too small, or NULL

  /// op(A)[i, j], which is in the band.
  __device__ T at(int64_t base, int64_t i, int64_t j) const {
    int64_t place = transposed ? (stored_upper + j - i) * n + i : (stored_upper + i - j) * n + j;
    return conj_if(conj, ab[base + place]);
  }
};

/// What a block works on: an item, and the right-hand sides from `first` on.
struct Share {
  int64_t item, first, sides;
  Offsets at;
};

template <class T>
__device__ Share share_of(const Band<T> &m, const cuda_axes &items, int64_t index) {
  const int64_t item = index / m.chunks, first = (index - item * m.chunks) * m.sides;
  return {item, first, m.k - first < m.sides ? m.k - first : m.sides, locate(items, item)};
}

/// i mod size for i below twice the size.
__device__ int64_t wrap(int64_t i, int64_t size) { return i < size ? i : i - size; }

/// The rows from that of the pivot on. `top` is the place of its row among `places`, `left` that of its column.
template <class T>
struct Window {
  int64_t rows, numbers, top, left;
  T *at, *factors;
  int *places;

  __device__ T *row(int64_t below_pivot) const { return at + places[wrap(top + below_pivot, rows)] * numbers; }
};

/// Row i of op(A) and b, as it stands in a window whose pivot has column `column`, in place `left`.
template <class T>
__device__ void load_row(const Band<T> &m, const Share &s, int64_t i, int64_t column, int64_t left, T *row) {
  for (int64_t c = threadIdx.x; c < m.width; c += blockDim.x) {
    const int64_t j = column + c;
    const bool is_inside = j < m.n && j >= i - m.lower && j <= i + m.upper;
    row[wrap(left + c, m.width)] = is_inside ? m.at(s.at.x, i, j) : zero<T>();
  }
  for (int64_t c = threadIdx.x; c < s.sides; c += blockDim.x) row[m.width + c] = m.b[s.at.y + i * m.k + s.first + c];
}

/// Bring the row of the pivot, the first of the largest, to the top; the first warp does. False: there is none.
template <class T>
__device__ bool choose_pivot(const Window<T> &w, int64_t below) {
  double most = -1;
  int pivot = 0;
  for (int64_t i = 1 + threadIdx.x; i <= below; i += 32) {
    double mine = size_of(w.row(i)[w.left]);
    if (mine > most) most = mine, pivot = static_cast<int>(i);
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    double other = __shfl_down_sync(ALL_LANES, most, d);
    int other_pivot = __shfl_down_sync(ALL_LANES, pivot, d);
    if (other > most || (other == most && other_pivot < pivot)) most = other, pivot = other_pivot;
  }
  double size = size_of(w.row(0)[w.left]);
  __syncwarp();
  if (threadIdx.x == 0 && most > size) {
    int *top = w.places + w.top, *other = w.places + wrap(w.top + pivot, w.rows), kept = *top;
    *top = *other;
    *other = kept;
    size = most;
  }
  return size != 0;
}

/// The pivot's row off the `below` rows under it, in the `after` columns behind it and in the right-hand sides. The
/// place of its column is then that of the column which enters the window.
template <class T>
__device__ void eliminate(const Window<T> &w, int64_t width, int64_t sides, int64_t below, int64_t after) {
  const T *pivot_row = w.row(0);
  for (int64_t i = threadIdx.x; i < below; i += blockDim.x) {
    T *eliminated = w.row(i + 1) + w.left;
    w.factors[i] = quotient(*eliminated, pivot_row[w.left]);
    *eliminated = zero<T>();
  }
  __syncthreads();
  for (int64_t i = threadIdx.x / 32; i < below; i += blockDim.x / 32) {
    T *row = w.row(i + 1);
    for (int64_t c = threadIdx.x % 32; c < after + sides; c += 32) {
      const int64_t place = c < after ? wrap(w.left + 1 + c, width) : width + c - after;
      row[place] = take_off(row[place], w.factors[i], pivot_row[place]);
    }
  }
  __syncthreads();
}

/// The pivot's row, that of column j, leaves, and the next row takes its place.
template <class T>
__device__ void move_on(const Band<T> &m, const Share &s, Window<T> &w, int64_t j) {
  T *row = w.row(0);
  if (s.first == 0) {
    T *u = m.u + (s.item * m.n + j) * m.width;
    for (int64_t c = threadIdx.x; c < m.width; c += blockDim.x) u[c] = row[wrap(w.left + c, m.width)];
  }
  T *x = m.x + (s.item * m.n + j) * m.k + s.first;
  for (int64_t c = threadIdx.x; c < s.sides; c += blockDim.x) x[c] = row[m.width + c];
  __syncthreads();
  w.left = wrap(w.left + 1, m.width);
  if (j + w.rows < m.n) load_row(m, s, j + w.rows, j + 1, w.left, row);
  w.top = wrap(w.top + 1, w.rows);
  __syncthreads();
}

/// The window of a block, in `shared` or in device memory.
template <class T>
__device__ Window<T> window_of(const Band<T> &m, unsigned char *shared) {
  const int64_t rows = m.lower + 1, numbers = m.width + m.sides;
  T *factors = m.windows ? m.windows + blockIdx.x * rows * (numbers + 1) : reinterpret_cast<T *>(shared);
  T *at = factors + rows;
  int *places = reinterpret_cast<int *>(m.windows ? shared : reinterpret_cast<unsigned char *>(at + rows * numbers));
  return {rows, numbers, 0, 0, at, factors, places};
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    band_down(Band<T> m, const __grid_constant__ cuda_axes items, unsigned long long *fault) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ int has_pivot;
  for (int64_t index = blockIdx.x; index < items.count * m.chunks; index += gridDim.x) {
    const Share s = share_of(m, items, index);
    Window<T> w = window_of(m, shared);
    for (int64_t i = threadIdx.x; i < w.rows; i += blockDim.x) w.places[i] = static_cast<int>(i);
    for (int64_t i = 0; i < w.rows; ++i) load_row(m, s, i, 0, 0, w.at + i * w.numbers);
    __syncthreads();
    for (int64_t j = 0; j < m.n; ++j) {
      const int64_t left = m.n - 1 - j, below = left < m.lower ? left : m.lower;
      if (threadIdx.x < 32) {
        bool is_there = choose_pivot(w, below);
        if (threadIdx.x == 0) has_pivot = is_there;
      }
      __syncthreads();
      if (!has_pivot) {
        if (threadIdx.x == 0) atomicMin(fault, static_cast<unsigned long long>(s.item * m.n + j));
        break;
      }
      eliminate(w, m.width, s.sides, below, left < m.width - 1 ? left : m.width - 1);
      move_on(m, s, w, j);
    }
    __syncthreads();
  }
}

/// x = U^-1 x: each unknown, once found, is taken off the rows above it.
template <class T>
__global__ void __launch_bounds__(BLOCK) band_up(Band<T> m, const __grid_constant__ cuda_axes items) {
  for (int64_t index = blockIdx.x; index < items.count * m.chunks; index += gridDim.x) {
    const Share s = share_of(m, items, index);
    const T *u = m.u + s.item * m.n * m.width;
    T *x = m.x + s.item * m.n * m.k + s.first;
    for (int64_t j = m.n - 1; j >= 0; --j) {
      const int64_t above = j < m.width - 1 ? j : m.width - 1;
      T *found = x + j * m.k;
      for (int64_t c = threadIdx.x; c < s.sides; c += blockDim.x) found[c] = quotient(found[c], u[j * m.width]);
      __syncthreads();
      for (uint32_t e = threadIdx.x; e < above * s.sides; e += blockDim.x) {
        const uint32_t i = e / static_cast<uint32_t>(s.sides), c = e - i * static_cast<uint32_t>(s.sides);
        T *to = x + (j - 1 - i) * m.k + c;
        *to = take_off(*to, u[(j - 1 - i) * m.width + i + 1], found[c]);
      }
      __syncthreads();
    }
  }
}

/// One diagonal.
template <class T>
__global__ void __launch_bounds__(BLOCK)
    band_divide(Band<T> m, const __grid_constant__ cuda_axes items, unsigned long long *fault) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t item = blockIdx.y; item < items.count; item += gridDim.y) {
    const Offsets at = locate(items, item);
    for (int64_t e = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; e < m.n * m.k; e += step) {
      const int64_t i = e / m.k;
      const T d = m.at(at.x, i, i);
      m.x[item * m.n * m.k + e] = quotient(m.b[at.y + e], d);
      if (is_zero(d)) atomicMin(fault, static_cast<unsigned long long>(item * m.n + i));
    }
  }
}

// -- launchers -------------------------------------------------------------------------------------------------------

template <class T>
struct Plan {
  Band<T> m;
  unsigned grid;
  int threads;
  size_t shared, bytes;
};

/// Numbers of a window with its factors.
template <class T>
int64_t window_numbers(const Band<T> &m) {
  return (m.lower + 1) * (m.width + m.sides + 1);
}

template <class T>
Plan<T> plan_of(const cuda_banded_solve_job *job, void *scratch) {
  constexpr int64_t SIZE = static_cast<int64_t>(sizeof(T));
  Plan<T> plan = {};
  Band<T> &m = plan.m;
  const int64_t items = job->batch.kept.count;
  m.n = job->band.cols, m.lower = job->lower, m.upper = job->upper, m.width = m.lower + m.upper + 1, m.k = job->k;
  m.stored_upper = job->band.upper, m.transposed = job->band.transposed, m.conj = job->band.conj;
  m.ab = static_cast<const T *>(job->ab), m.b = static_cast<const T *>(job->b), m.x = static_cast<T *>(job->x);
  m.sides = m.k < RIGHT_SIDES ? m.k : RIGHT_SIDES;
  m.chunks = ceil_div(m.k, m.sides);
  const int64_t places = (m.lower + 1) * static_cast<int64_t>(sizeof(int)), window = window_numbers(m) * SIZE;
  const bool is_shared = window + places <= SHARED_BYTES;
  plan.threads = m.lower * (m.width + m.sides) <= 128 ? 32 : m.lower * (m.width + m.sides) <= 1024 ? 128 : BLOCK;
  plan.grid = blocks(items * m.chunks, is_shared ? MAX_X : 1024);
  plan.shared = static_cast<size_t>(is_shared ? window + places : places);
  const int64_t of_u = items * m.n * m.width, of_windows = is_shared ? 0 : plan.grid * window_numbers(m);
  plan.bytes = static_cast<size_t>((of_u + of_windows) * SIZE);
  m.u = static_cast<T *>(scratch);
  m.windows = is_shared || !scratch ? nullptr : m.u + of_u;
  return plan;
}

template <class T>
cudaError_t run(cudaStream_t stream, const cuda_banded_solve_job *job, void *scratch) {
  const cuda_axes &items = job->batch.kept;
  Plan<T> plan = plan_of<T>(job, scratch);
  unsigned long long *fault = reinterpret_cast<unsigned long long *>(job->fault);
  if (plan.m.width == 1) {
    dim3 grid(blocks(ceil_div(plan.m.n * plan.m.k, BLOCK), MAX_X), blocks(items.count, MAX_YZ));
    return launch(band_divide<T>, grid, stream, plan.m, items, fault);
  }
  if (plan.shared > SHARED_BYTES) {  // places alone
    cudaError_t error = let_share(band_down<T>);
    if (error != cudaSuccess) return error;
  }
  band_down<T><<<plan.grid, plan.threads, plan.shared, stream>>>(plan.m, items, fault);
  band_up<T><<<plan.grid, plan.threads, 0, stream>>>(plan.m, items);
  return cudaGetLastError();
}

}  // namespace

size_t cuda_banded_solve_scratch(const cuda_banded_solve_job *job) {
  size_t bytes = 0;
  if (job->lower + job->upper == 0) return 0;
  (void)with_dtype(job->dtype, [&](auto number) {
    bytes = plan_of<decltype(number)>(job, nullptr).bytes;
    return cudaSuccess;
  });
  return bytes;
}

cudaError_t cuda_launch_banded_solve(cudaStream_t stream, const cuda_banded_solve_job *job, void *scratch) {
  cudaError_t error = cudaMemsetAsync(job->fault, 0xff, sizeof *job->fault, stream);
  if (error != cudaSuccess) return error;
  return with_dtype(job->dtype, [&](auto number) { return run<decltype(number)>(stream, job, scratch); });
}
