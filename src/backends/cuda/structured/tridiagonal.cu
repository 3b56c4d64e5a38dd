// SPDX-License-Identifier: Apache-2.0
/// @file tridiagonal.cu
/// op(A) x = b for three diagonals: elimination with exchanges of neighbouring rows, a thread to a system, and
/// substitution, a thread to a right-hand side.
///
/// What elimination leaves stands by rows of all systems, so that neighbouring threads meet neighbouring numbers. A few
/// rows are on their way at a time.

#include "backends/cuda/solves/quotient.cuh"
#include "backends/cuda/solves/wait.cuh"
#include "backends/cuda/structured/structured.h"

using namespace lac_cuda;

namespace {

constexpr int ROWS = 4;  // on their way
constexpr int THREADS = 64;

template <class T>
struct Three {
  int64_t n, k, items, stored_upper;
  int transposed, conj;
  const T *__restrict__ ab, *__restrict__ b;
  T *x;
  // Of U the diagonal and the two above it, and the factor of each step, [n, items]; whether it exchanged its rows.
  T *diagonal, *above, *far, *factor;
  unsigned char *exchanged;

  __device__ T at(int64_t base, int64_t i, int64_t j) const {
    if (j >= n) return zero<T>();
    int64_t place = transposed ? (stored_upper + j - i) * n + i : (stored_upper + i - j) * n + j;
    return conj_if(conj, ab[base + place]);
  }
};

/// Numbers of a system that elimination has at hand: the row of the next pivot.
template <class T>
struct Front {
  T diagonal, above;
};

/// Step i: below, d and up are row i + 1. False: there is no pivot.
template <class T>
__device__ bool eliminate(const Three<T> &m, int64_t place, Front<T> &front, T below, T d, T up) {
  const bool exchanges = size_of(below) > size_of(front.diagonal);
  T factor;
  if (!exchanges && is_zero(front.diagonal)) return false;
  m.exchanged[place] = exchanges;
  if (exchanges) {
    factor = quotient(front.diagonal, below);
    m.diagonal[place] = below, m.above[place] = d, m.far[place] = up;
    front = {take_off(front.above, factor, d), take_off(zero<T>(), factor, up)};
  } else {
    factor = quotient(below, front.diagonal);
    m.diagonal[place] = front.diagonal, m.above[place] = front.above, m.far[place] = zero<T>();
    front = {take_off(d, factor, front.above), up};
  }
  m.factor[place] = factor;
  return true;
}

/// Returns the column without a pivot, or -1.
template <class T>
__device__ int64_t eliminate_all(const Three<T> &m, int64_t base, int64_t item) {
  Front<T> front = {m.at(base, 0, 0), m.at(base, 0, 1)};
  for (int64_t first = 0; first + 1 < m.n; first += ROWS) {
    T below[ROWS], d[ROWS], up[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int64_t i = first + r + 1;
      if (i >= m.n) continue;
      below[r] = m.at(base, i, i - 1), d[r] = m.at(base, i, i), up[r] = m.at(base, i, i + 1);
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int64_t i = first + r;
      if (i + 1 >= m.n) continue;
      if (!eliminate(m, i * m.items + item, front, below[r], d[r], up[r])) return i;
    }
  }
  m.diagonal[(m.n - 1) * m.items + item] = front.diagonal;
  return is_zero(front.diagonal) ? m.n - 1 : -1;
}

template <class T>
__global__ void __launch_bounds__(THREADS)
    three_eliminate(Three<T> m, const __grid_constant__ cuda_axes items, unsigned long long *fault) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
  for (int64_t item = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; item < m.items; item += step) {
    const int64_t column = eliminate_all(m, locate(items, item).x, item);
    if (column >= 0) atomicMin(fault, static_cast<unsigned long long>(item * m.n + column));
  }
}

/// x = L^-1 P b
template <class T>
__device__ void three_down(const Three<T> &m, int64_t item, const T *b, T *x) {
  T now = b[0];
  for (int64_t first = 0; first + 1 < m.n; first += ROWS) {
    T next[ROWS], factor[ROWS];
    bool exchanged[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int64_t i = first + r;
      if (i + 1 >= m.n) continue;
      next[r] = b[(i + 1) * m.k];
      factor[r] = m.factor[i * m.items + item], exchanged[r] = m.exchanged[i * m.items + item];
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int64_t i = first + r;
      if (i + 1 >= m.n) continue;
      const T above = exchanged[r] ? next[r] : now, below = exchanged[r] ? now : next[r];
      x[i * m.k] = above;
      now = take_off(below, factor[r], above);
    }
  }
  x[(m.n - 1) * m.k] = now;
}

/// x = U^-1 x. Rows are divided before the unknown that was found last is taken off: the chain of rows does not wait
/// for divisions.
template <class T>
__device__ void three_up(const Three<T> &m, int64_t item, T *x) {
  T found = quotient(x[(m.n - 1) * m.k], m.diagonal[(m.n - 1) * m.items + item]), before = zero<T>();
  x[(m.n - 1) * m.k] = found;
  for (int64_t last = m.n - 2; last >= 0; last -= ROWS) {
    T right[ROWS], diagonal[ROWS], above[ROWS], far[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int64_t i = last - r, place = i * m.items + item;
      if (i < 0) continue;
      right[r] = x[i * m.k];
      diagonal[r] = m.diagonal[place], above[r] = m.above[place], far[r] = m.far[place];
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int64_t i = last - r;
      if (i < 0) continue;
      T rest = i + 2 < m.n ? take_off(right[r], far[r], before) : right[r];
      before = found;
      found = take_off(quotient(rest, diagonal[r]), quotient(above[r], diagonal[r]), found);
      x[i * m.k] = found;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(THREADS) three_substitute(Three<T> m, const __grid_constant__ cuda_axes items) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
  for (int64_t e = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; e < m.items * m.k; e += step) {
    const int64_t item = e / m.k, c = e - item * m.k;
    T *x = m.x + item * m.n * m.k + c;
    three_down(m, item, m.b + locate(items, item).y + c, x);
    three_up(m, item, x);
  }
}

template <class T>
cudaError_t run(cudaStream_t stream, const cuda_banded_solve_job *job, void *scratch) {
  const cuda_axes &items = job->batch.kept;
  const int64_t n = job->band.cols, numbers = n * items.count;
  T *memory = static_cast<T *>(scratch);
  Three<T> m = {n,
                job->k,
                items.count,
                job->band.upper,
                job->band.transposed,
                job->band.conj,
                static_cast<const T *>(job->ab),
                static_cast<const T *>(job->b),
                static_cast<T *>(job->x),
                memory,
                memory + numbers,
                memory + 2 * numbers,
                memory + 3 * numbers,
                reinterpret_cast<unsigned char *>(memory + 4 * numbers)};
  three_eliminate<T><<<blocks(ceil_div(items.count, THREADS), MAX_X), THREADS, 0, stream>>>(
      m, items, reinterpret_cast<unsigned long long *>(job->fault));
  three_substitute<T><<<blocks(ceil_div(items.count * job->k, THREADS), MAX_X), THREADS, 0, stream>>>(m, items);
  return cudaGetLastError();
}

}  // namespace

size_t cuda_tridiagonal_scratch(const cuda_banded_solve_job *job) {
  size_t number = 0;
  (void)with_dtype(job->dtype, [&](auto kind) { return number = sizeof kind, cudaSuccess; });
  return static_cast<size_t>(job->band.cols * job->batch.kept.count) * (4 * number + 1);
}

cudaError_t cuda_launch_tridiagonal(cudaStream_t stream, const cuda_banded_solve_job *job, void *scratch) {
  cudaError_t error = cudaMemsetAsync(job->fault, 0xff, sizeof *job->fault, stream);
  if (error != cudaSuccess) return error;
  return with_dtype(job->dtype, [&](auto number) { return run<decltype(number)>(stream, job, scratch); });
}
