// SPDX-License-Identifier: Apache-2.0
/// @file lu_values.cu
/// L\U of a matrix on its pattern, by rows, and the adjoint of that, a warp to a row.
///
///     for k < i in row i:   l_ik = c_ik / u_kk,  c_ij -= l_ik u_kj
///
///     for i > k in column k:      c_bar_kj = lu_bar_kj - sum_i conj(l_ik) c_bar_ij                   j >= k
///     for j < k in row k, backwards:  c_bar_kj = (lu_bar_kj - sum_m conj(u_jm) c_bar_km) / conj(u_jj)    m > j
///
/// Rows are taken up in the order of levels and wait for the rows that they take from; a row is ready when all of it
/// is in memory. Both sums run over what two rows have in common: lanes share the shorter one and look up the longer.

#include "backends/cuda/solves/quotient.cuh"
#include "backends/cuda/solves/solves.h"
#include "backends/cuda/solves/wait.cuh"

using namespace lac_cuda;

namespace {

struct Structure {
  int64_t rows, entries;
  cuda_index offsets, columns, diagonal, order;

  __device__ int64_t begin(int64_t i) const { return get(offsets, i); }
  __device__ int64_t end(int64_t i) const { return get(offsets, i + 1); }
};

/// Slots of a row, columns ascending.
struct Run {
  int64_t begin, end;
};

/// The place of a column in a run, or -1.
__device__ int64_t find(const Structure &m, Run run, int64_t column) {
  int64_t low = run.begin, high = run.end;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (get(m.columns, middle) < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < run.end && get(m.columns, low) == column ? low : -1;
}

/// f(p, q) for the slots p of one run and q of another with the same column, shared by the lanes.
template <class F>
__device__ void meet(const Structure &m, Run one, Run other, int lane, F f) {
  bool swapped = one.end - one.begin > other.end - other.begin;
  Run few = swapped ? other : one, many = swapped ? one : other;
  for (int64_t p = few.begin + lane; p < few.end; p += 32) {
    int64_t q = find(m, many, get(m.columns, p));
    if (q >= 0) f(swapped ? q : p, swapped ? p : q);
  }
}

// -- rows that wait for rows -----------------------------------------------------------------------------------------

__device__ void await_row(const int *ready, int lane) {
  if (lane == 0) {
    int is_ready;
    do {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(is_ready) : "l"(ready) : "memory");
    } while (!is_ready);
  }
  __syncwarp();
}

__device__ void give_row(int *ready, int lane) {
  __threadfence();
  __syncwarp();
  if (lane == 0) asm volatile("st.release.gpu.global.s32 [%0], %1;" : : "l"(ready), "r"(1) : "memory");
}

/// A number that a warp elsewhere has written: past the nearest cache, which may have its neighbours from before.
template <class R>
__device__ R read(const R *from) {
  return __ldcg(from);
}
__device__ Complex<float> read(const Complex<float> *from) {
  float2 pair = __ldcg(reinterpret_cast<const float2 *>(from));
  return {pair.x, pair.y};
}
__device__ Complex<double> read(const Complex<double> *from) {
  double2 pair = __ldcg(reinterpret_cast<const double2 *>(from));
  return {pair.x, pair.y};
}

/// f(row, item) for the rows that a warp takes up.
template <class F>
__device__ void for_rows(const Structure &m, int64_t items, cuda_solve_words *words, F f) {
  for (int64_t ticket; (ticket = next_ticket(&words->ticket)) < m.rows * items;) {
    int64_t place = ticket / items;
    f(get(m.order, place), ticket - place * items);
  }
}

// -- elimination -----------------------------------------------------------------------------------------------------

/// Row i of L\U, in place. A pivot that does not do is noted by the row that meets it.
template <class T>
__device__ void eliminate(const Structure &m, int64_t i, const int *ready, int positive, T *lu, int lane, bool *fails) {
  const int64_t diagonal = get(m.diagonal, i), end = m.end(i);
  for (int64_t p = m.begin(i); p < diagonal; ++p) {
    const int64_t k = get(m.columns, p), pivot_at = get(m.diagonal, k);
    await_row(ready + k, lane);
    const T pivot = read(lu + pivot_at), l = quotient(lu[p], pivot);
    *fails = *fails || is_zero(pivot);
    meet(m, {p + 1, end}, {pivot_at + 1, m.end(k)}, lane,
         [&](int64_t mine, int64_t other) { lu[mine] = take_off(lu[mine], l, read(lu + other)); });
    __syncwarp();
    if (lane == 0) lu[p] = l;
  }
  __syncwarp();
  if (positive) *fails = !(real_of(lu[diagonal]) > 0);
}

template <class T>
__global__ void __launch_bounds__(BLOCK) lu_rows(Structure m, const __grid_constant__ cuda_axes items, int positive,
                                                 const T *__restrict__ c, T *lu, int *ready, cuda_solve_words *words) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for_rows(m, items.count, words, [&](int64_t i, int64_t item) {
    const T *from = c + locate(items, item).x;
    T *to = lu + item * m.entries;
    bool fails = false;
    for (int64_t p = m.begin(i) + lane; p < m.end(i); p += 32) to[p] = from[p];
    __syncwarp();
    eliminate(m, i, ready + item * m.rows, positive, to, lane, &fails);
    give_row(ready + item * m.rows + i, lane);
    if (fails && lane == 0) note_least(&words->fault, item * m.rows + i);
  });
}

/// What the first row that failed met: its own pivot, or the first zero that it is divided by.
template <class T>
__global__ void lu_explain(Structure m, int positive, const T *lu, cuda_solve_words *words, double *pivot) {
  if (words->fault == ~uint64_t(0)) return;
  const int64_t item = static_cast<int64_t>(words->fault) / m.rows, i = static_cast<int64_t>(words->fault) % m.rows;
  const T *of_item = lu + item * m.entries;
  int64_t row = i;
  for (int64_t p = m.begin(i); !positive && p < get(m.diagonal, i); ++p) {
    row = get(m.columns, p);
    if (is_zero(of_item[get(m.diagonal, row)])) break;
  }
  words->fault = static_cast<uint64_t>(item * m.rows + row);
  *pivot = real_of(of_item[get(m.diagonal, row)]);
}

// -- the adjoint -----------------------------------------------------------------------------------------------------

/// The part of row k from the diagonal on, from the rows below that took from it.
template <class T>
__device__ void gather_upper(const Structure &m, const cuda_rows &columns, int64_t k, const int *ready, const T *lu,
                             T *bar, int lane) {
  const Run mine = {get(m.diagonal, k), m.end(k)};
  for (int64_t t = get(columns.offsets, k + 1) - 1; t >= get(columns.offsets, k); --t) {
    const int64_t i = get(columns.columns, t);
    if (i <= k) break;
    await_row(ready + i, lane);
    const T l = conj_of(lu[columns.slots.data ? get(columns.slots, t) : t]);
    meet(m, mine, {m.begin(i), m.end(i)}, lane,
         [&](int64_t p, int64_t other) { bar[p] = take_off(bar[p], l, read(bar + other)); });
    __syncwarp();
  }
}

/// The part before the diagonal, from the row's own end.
template <class T>
__device__ void solve_lower(const Structure &m, int64_t k, const T *lu, T *bar, int lane) {
  for (int64_t p = get(m.diagonal, k) - 1; p >= m.begin(k); --p) {
    const int64_t j = get(m.columns, p), pivot_at = get(m.diagonal, j);
    T sum = zero<T>();
    meet(m, {p + 1, m.end(k)}, {pivot_at + 1, m.end(j)}, lane,
         [&](int64_t mine, int64_t other) { sum = sum + conj_of(lu[other]) * bar[mine]; });
    sum = group_sum<32>(sum);
    if (lane == 0) bar[p] = quotient(bar[p] - sum, conj_of(lu[pivot_at]));
    __syncwarp();
  }
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    lu_adjoint_rows(Structure m, const __grid_constant__ cuda_rows columns, const __grid_constant__ cuda_axes items,
                    const T *__restrict__ lu, const T *__restrict__ lu_bar, T *c_bar, int *ready,
                    cuda_solve_words *words) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for_rows(m, items.count, words, [&](int64_t k, int64_t item) {
    Offsets at = locate(items, item);
    T *bar = c_bar + item * m.entries;
    int *of_item = ready + item * m.rows;
    for (int64_t p = m.begin(k) + lane; p < m.end(k); p += 32) bar[p] = lu_bar[at.y + p];
    __syncwarp();
    gather_upper(m, columns, k, of_item, lu + at.x, bar, lane);
    solve_lower(m, k, lu + at.x, bar, lane);
    give_row(of_item + k, lane);
  });
}

// -- launchers -------------------------------------------------------------------------------------------------------

Structure structure_of(const cuda_lu_job *job) {
  return {job->rows.rows, job->rows.entries, job->rows.offsets, job->rows.columns, job->diagonal, job->order};
}

cudaError_t clear(cudaStream_t stream, const cuda_lu_job *job) {
  size_t rows = static_cast<size_t>(job->rows.rows * job->batch.kept.count);
  cudaError_t error = cudaMemsetAsync(job->ready, 0, rows * sizeof *job->ready, stream);
  return error == cudaSuccess ? cudaMemsetAsync(job->words, 0xff, sizeof *job->words, stream) : error;
}

unsigned grid_of(const cuda_lu_job *job) {
  return blocks(ceil_div(job->rows.rows * job->batch.kept.count, BLOCK / 32), 8 * processors());
}

}  // namespace

cudaError_t cuda_launch_lu(cudaStream_t stream, const cuda_lu_job *job, int positive, const void *c, void *lu,
                           double *pivot) {
  cudaError_t error = clear(stream, job);
  if (error != cudaSuccess) return error;
  return with_dtype(job->dtype, [&](auto number) {
    using T = decltype(number);
    cudaError_t started = launch(lu_rows<T>, grid_of(job), stream, structure_of(job), job->batch.kept, positive,
                                 static_cast<const T *>(c), static_cast<T *>(lu), job->ready, job->words);
    if (started != cudaSuccess) return started;
    lu_explain<T><<<1, 1, 0, stream>>>(structure_of(job), positive, static_cast<const T *>(lu), job->words, pivot);
    return cudaGetLastError();
  });
}

cudaError_t cuda_launch_lu_adjoint(cudaStream_t stream, const cuda_lu_job *job, const cuda_rows *columns,
                                   const void *lu, const void *lu_bar, void *c_bar) {
  cudaError_t error = clear(stream, job);
  if (error != cudaSuccess) return error;
  return with_dtype(job->dtype, [&](auto number) {
    using T = decltype(number);
    return launch(lu_adjoint_rows<T>, grid_of(job), stream, structure_of(job), *columns, job->batch.kept,
                  static_cast<const T *>(lu), static_cast<const T *>(lu_bar), static_cast<T *>(c_bar), job->ready,
                  job->words);
  });
}
