// SPDX-License-Identifier: Apache-2.0
/// @file spmm.cu
/// Sparse times dense, row by row:
///
///     y[i, :] = sum over the entries p of row i of a[slot p] x[column p, :]
///
/// One column, short rows: a block multiplies the entries of its rows side by side into shared memory, from where each
/// thread adds up a row. Longer rows: a part of a warp, or a warp, to a row. Several columns: neighbouring threads take
/// neighbouring columns of x, 16 bytes each where they are aligned, and all read the same entry. A^T is walked by its
/// own rows through slots: no atomics.

#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

/// The sparse factor as kernels take it.
template <class T, class O, class C>
struct Rows {
  int64_t rows;
  const O *__restrict__ offsets;
  const C *__restrict__ columns;
  const O *__restrict__ slots;
  const T *__restrict__ a;
  int conj;

  __device__ T value(int64_t base, int64_t p) const { return conj_if(conj, a[base + (slots ? slots[p] : p)]); }
};

/// The terms of one row that a lane adds up: `U` entries are on their way at a time. Unsigned, for the last step to
/// overshoot.
template <int G, int U, class T, class O, class C>
__device__ T row_sum(const Rows<T, O, C> &m, Offsets at, O begin, O end_of_row, const T *__restrict__ x, T sum) {
  using Count = std::make_unsigned_t<O>;
  Count end = static_cast<Count>(end_of_row);
  for (Count p = static_cast<Count>(begin); p < end; p += G * U) {
    T value[U];
    C column[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (p + u * G < end) {
        column[u] = m.columns[p + u * G];
        value[u] = m.value(at.x, p + u * G);
      }
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (p + u * G < end) sum = sum + value[u] * x[at.y + column[u]];
    }
  }
  return sum;
}

/// The terms of all rows of a block, a chunk at a time; a thread adds up those of its own row, [begin, end), in order.
template <class T, class O, class C>
__device__ T block_rows_sum(const Rows<T, O, C> &m, Offsets at, O first, O last, O begin, O end,
                            const T *__restrict__ x, T sum) {
  constexpr int CHUNK = 16384 / sizeof(T);
  __shared__ T terms[CHUNK];
  for (int64_t chunk = first; chunk < last; chunk += CHUNK) {
    int count = last - chunk < CHUNK ? static_cast<int>(last - chunk) : CHUNK;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < count; i += BLOCK) {
      terms[i] = m.value(at.x, chunk + i) * x[at.y + m.columns[chunk + i]];
    }
    __syncthreads();
    int from = begin > chunk ? static_cast<int>(begin - chunk) : 0;
    int to = end < chunk + count ? static_cast<int>(end - chunk) : count;
    for (int i = from; i < to; ++i) sum = sum + terms[i];
    __syncthreads();
  }
  return sum;
}

template <class T, class O, class C, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    spmv_short(Rows<T, O, C> m, const __grid_constant__ cuda_batch batch, const T *__restrict__ x, T *__restrict__ y) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t top = static_cast<int64_t>(blockIdx.x) * BLOCK; top < m.rows; top += step) {
      int64_t row = top + threadIdx.x, bottom = top + BLOCK < m.rows ? top + BLOCK : m.rows;
      O first = m.offsets[top], last = m.offsets[bottom];
      O begin = row < bottom ? m.offsets[row] : last, end = row < bottom ? m.offsets[row + 1] : last;
      T sum = zero<T>();
      for_summands<SUMS>(batch.summed, base,
                         [&](Offsets at) { sum = block_rows_sum(m, at, first, last, begin, end, x, sum); });
      if (row < bottom) y[b * m.rows + row] = sum;
    }
  }
}

template <class T, class O, class C, int G, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    spmv(Rows<T, O, C> m, const __grid_constant__ cuda_batch batch, const T *__restrict__ x, T *__restrict__ y) {
  constexpr int U = sizeof(T) <= 8 ? 4 : 2;
  Groups<G> groups;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t row = groups.first; groups.warp(row) < m.rows; row += groups.step) {
      T sum = zero<T>();
      if (row < m.rows) {
        O begin = m.offsets[row] + groups.lane, end = m.offsets[row + 1];
        for_summands<SUMS>(batch.summed, base, [&](Offsets at) { sum = row_sum<G, U>(m, at, begin, end, x, sum); });
      }
      sum = group_sum<G>(sum);
      if (row < m.rows && groups.lane == 0) y[b * m.rows + row] = sum;
    }
  }
}

/// V columns of one row.
template <int V, class T, class O, class C>
__device__ void row_add(const Rows<T, O, C> &m, Offsets at, O begin, O end, int64_t k, const T *__restrict__ x,
                        Pack<T, V> &sum) {
#pragma unroll 4
  for (O p = begin; p < end; ++p) {
    T value = m.value(at.x, p);
    Pack<T, V> factor = load<V>(x + at.y + m.columns[p] * k);
#pragma unroll
    for (int v = 0; v < V; ++v) sum.at[v] = sum.at[v] + value * factor.at[v];
  }
}

/// `lanes` threads, a power of two, share a row; each has V columns side by side.
template <class T, class O, class C, int V, bool SUMS>
__global__ void __launch_bounds__(BLOCK) spmm(Rows<T, O, C> m, const __grid_constant__ cuda_batch batch, int64_t k,
                                              int lanes, const T *__restrict__ x, T *__restrict__ y) {
  int lane = static_cast<int>(threadIdx.x) & (lanes - 1), in_block = static_cast<int>(threadIdx.x) / lanes;
  int64_t first = static_cast<int64_t>(blockIdx.x) * (BLOCK / lanes) + in_block;
  int64_t row_step = static_cast<int64_t>(gridDim.x) * (BLOCK / lanes);
  int64_t column_step = static_cast<int64_t>(gridDim.y) * lanes * V;
  for (int64_t b = blockIdx.z; b < batch.kept.count; b += gridDim.z) {
    Offsets base = locate(batch.kept, b);
    for (int64_t c = (static_cast<int64_t>(blockIdx.y) * lanes + lane) * V; c < k; c += column_step) {
      for (int64_t row = first; row < m.rows; row += row_step) {
        Pack<T, V> sum;
#pragma unroll
        for (int v = 0; v < V; ++v) sum.at[v] = zero<T>();
        O begin = m.offsets[row], end = m.offsets[row + 1];
        for_summands<SUMS>(batch.summed, base, [&](Offsets at) { row_add<V>(m, at, begin, end, k, x + c, sum); });
        store<V>(y + (b * m.rows + row) * k + c, sum);
      }
    }
  }
}

template <bool SUMS, class T, class O, class C>
cudaError_t start_spmv(cudaStream_t stream, const Rows<T, O, C> &m, int64_t mean, const cuda_batch *batch, const T *x,
                       T *y) {
  int group = mean <= 8 ? 1 : mean <= 24 ? 8 : mean <= 64 ? 16 : 32;
  auto kernel = group == 1    ? spmv_short<T, O, C, SUMS>
                : group == 8  ? spmv<T, O, C, 8, SUMS>
                : group == 16 ? spmv<T, O, C, 16, SUMS>
                              : spmv<T, O, C, 32, SUMS>;
  dim3 grid(blocks(ceil_div(m.rows, BLOCK / group), MAX_X), blocks(batch->kept.count, MAX_YZ));
  return launch(kernel, grid, stream, m, *batch, x, y);
}

template <bool SUMS, class T, class O, class C>
cudaError_t start_spmm(cudaStream_t stream, const Rows<T, O, C> &m, const cuda_batch *batch, int64_t k, const T *x,
                       T *y) {
  constexpr int V = wide_pack<T>();
  bool wide = k % V == 0 && is_aligned(x) && is_aligned(y);
  int64_t packs = wide ? k / V : k;
  int lanes = 1;
  while (lanes < 32 && lanes < packs) lanes *= 2;
  dim3 grid(blocks(ceil_div(m.rows, BLOCK / lanes), MAX_X), blocks(ceil_div(packs, lanes), MAX_YZ),
            blocks(batch->kept.count, MAX_YZ));
  auto kernel = wide ? spmm<T, O, C, V, SUMS> : spmm<T, O, C, 1, SUMS>;
  return launch(kernel, grid, stream, m, *batch, k, lanes, x, y);
}

}  // namespace

cudaError_t cuda_launch_spmm(cudaStream_t stream, lac_dtype dtype, const cuda_rows *rows, int conj,
                             const cuda_batch *batch, int64_t k, const void *a, const void *x, void *y) {
  if (rows->rows == 0 || k == 0 || batch->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    return with_width(rows, [&](auto offset, auto column) {
      using T = decltype(number);
      using O = decltype(offset);
      using C = decltype(column);
      Rows<T, O, C> m = {rows->rows,
                         integers<O>(rows->offsets),
                         integers<C>(rows->columns),
                         integers<O>(rows->slots),
                         static_cast<const T *>(a),
                         conj};
      const T *tx = static_cast<const T *>(x);
      T *ty = static_cast<T *>(y);
      return with_sums(batch, [&](auto sums) {
        if (k == 1) return start_spmv<sums.value>(stream, m, rows->entries / rows->rows, batch, tx, ty);
        return start_spmm<sums.value>(stream, m, batch, k, tx, ty);
      });
    });
  });
}
