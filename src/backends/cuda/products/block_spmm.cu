// SPDX-License-Identifier: Apache-2.0
/// @file block_spmm.cu
/// op(A) x where A has blocks:
///
///     y[i br + r, :] = sum over the blocks p of block row i, and their columns c, of
///                      a[slot p][r, c] x[column p bc + c, :]
///
/// One column: a group of lanes shares a row of numbers, lane by lane along the rows of its blocks. Several columns:
/// neighbouring lanes take neighbouring columns of x, 16 bytes each where they are aligned. A^T is walked by its own
/// rows, and the blocks are read turned round.

#include "backends/cuda/grid.cuh"
#include "backends/cuda/products/products.h"

using namespace lac_cuda;

namespace {

struct Blocks {
  cuda_rows rows;
  cuda_block block;
  int conj;
  cuda_batch batch;

  __device__ int64_t slot(int64_t p) const { return rows.slots.data ? get(rows.slots, p) : p; }

  /// The number (r, c) of a block.
  template <class T>
  __device__ T value(const T *a, int64_t slot, int64_t r, int64_t c) const {
    int64_t at = block.turned ? c * block.br + r : r * block.bc + c;
    return conj_if(conj, a[slot * block.br * block.bc + at]);
  }
};

/// The terms of row r of block row i, every G-th from the lane's on.
template <int G, class T>
__device__ T row_terms(const Blocks &m, int64_t i, int64_t r, int lane, const T *__restrict__ a,
                       const T *__restrict__ x, T sum) {
  int64_t bc = m.block.bc, end = get(m.rows.offsets, i + 1), p = get(m.rows.offsets, i) + lane / bc, c = lane % bc;
  int64_t step = G / bc, beyond = G % bc;
  while (p < end) {
    sum = sum + m.value(a, m.slot(p), r, c) * x[get(m.rows.columns, p) * bc + c];
    p += step, c += beyond;
    if (c >= bc) c -= bc, ++p;
  }
  return sum;
}

template <class T, int G>
__global__ void __launch_bounds__(BLOCK)
    block_spmv(const __grid_constant__ Blocks m, const T *__restrict__ a, const T *__restrict__ x, T *__restrict__ y) {
  Groups<G> groups;
  int64_t rows = m.rows.rows * m.block.br;
  for (int64_t b = blockIdx.y; b < m.batch.kept.count; b += gridDim.y) {
    Offsets base = locate(m.batch.kept, b);
    for (int64_t row = groups.first; groups.warp(row) < rows; row += groups.step) {
      T sum = zero<T>();
      if (row < rows) {
        int64_t i = row / m.block.br, r = row - i * m.block.br;
        for_summands<true>(m.batch.summed, base,
                           [&](Offsets at) { sum = row_terms<G>(m, i, r, groups.lane, a + at.x, x + at.y, sum); });
      }
      sum = group_sum<G>(sum);
      if (row < rows && groups.lane == 0) y[b * rows + row] = sum;
    }
  }
}

/// V columns of row r of block row i.
template <int V, class T>
__device__ void row_add(const Blocks &m, int64_t i, int64_t r, int64_t k, const T *__restrict__ a,
                        const T *__restrict__ x, Pack<T, V> &sum) {
  int64_t bc = m.block.bc, end = get(m.rows.offsets, i + 1);
  for (int64_t p = get(m.rows.offsets, i); p < end; ++p) {
    int64_t slot = m.slot(p);
    const T *from = x + get(m.rows.columns, p) * bc * k;
#pragma unroll 4
    for (int64_t c = 0; c < bc; ++c) {
      T value = m.value(a, slot, r, c);
      Pack<T, V> factor = load<V>(from + c * k);
#pragma unroll
      for (int v = 0; v < V; ++v) sum.at[v] = sum.at[v] + value * factor.at[v];
    }
  }
}

/// `lanes` threads, a power of two, share a row; each has V columns side by side.
template <class T, int V>
__global__ void __launch_bounds__(BLOCK)
    block_spmm(const __grid_constant__ Blocks m, int64_t k, int lanes, const T *__restrict__ a, const T *__restrict__ x,
               T *__restrict__ y) {
  int lane = static_cast<int>(threadIdx.x) & (lanes - 1), in_block = static_cast<int>(threadIdx.x) / lanes;
  int64_t first = static_cast<int64_t>(blockIdx.x) * (BLOCK / lanes) + in_block;
  int64_t row_step = static_cast<int64_t>(gridDim.x) * (BLOCK / lanes);
  int64_t column_step = static_cast<int64_t>(gridDim.y) * lanes * V, rows = m.rows.rows * m.block.br;
  for (int64_t b = blockIdx.z; b < m.batch.kept.count; b += gridDim.z) {
    Offsets base = locate(m.batch.kept, b);
    for (int64_t j = (static_cast<int64_t>(blockIdx.y) * lanes + lane) * V; j < k; j += column_step) {
      for (int64_t row = first; row < rows; row += row_step) {
        int64_t i = row / m.block.br, r = row - i * m.block.br;
        Pack<T, V> sum;
#pragma unroll
        for (int v = 0; v < V; ++v) sum.at[v] = zero<T>();
        for_summands<true>(m.batch.summed, base,
                           [&](Offsets at) { row_add<V>(m, i, r, k, a + at.x, x + at.y + j, sum); });
        store<V>(y + (b * rows + row) * k + j, sum);
      }
    }
  }
}

template <class T>
cudaError_t start_spmv(cudaStream_t stream, const Blocks &m, const T *a, const T *x, T *y) {
  int64_t rows = m.rows.rows * m.block.br, mean = m.rows.entries / m.rows.rows * m.block.bc;
  int group = mean <= 64 ? 8 : 32;
  dim3 grid(blocks(ceil_div(rows, BLOCK / group), MAX_X), blocks(m.batch.kept.count, MAX_YZ));
  return launch(group == 8 ? block_spmv<T, 8> : block_spmv<T, 32>, grid, stream, m, a, x, y);
}

template <class T>
cudaError_t start_spmm(cudaStream_t stream, const Blocks &m, int64_t k, const T *a, const T *x, T *y) {
  constexpr int V = wide_pack<T>();
  bool wide = k % V == 0 && is_aligned(x) && is_aligned(y);
  int64_t packs = wide ? k / V : k, rows = m.rows.rows * m.block.br;
  int lanes = 1;
  while (lanes < 32 && lanes < packs) lanes *= 2;
  dim3 grid(blocks(ceil_div(rows, BLOCK / lanes), MAX_X), blocks(ceil_div(packs, lanes), MAX_YZ),
            blocks(m.batch.kept.count, MAX_YZ));
  return launch(wide ? block_spmm<T, V> : block_spmm<T, 1>, grid, stream, m, k, lanes, a, x, y);
}

}  // namespace

cudaError_t cuda_launch_block_spmm(cudaStream_t stream, lac_dtype dtype, const cuda_matrix *m, cuda_block block,
                                   const cuda_batch *batch, int64_t k, const void *a, const void *x, void *y) {
  if (m->rows.rows == 0 || k == 0 || batch->kept.count == 0) return cudaSuccess;
  Blocks job = {m->rows, block, m->conj, *batch};
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    const T *values = static_cast<const T *>(a), *from = static_cast<const T *>(x);
    T *to = static_cast<T *>(y);
    if (k == 1) return start_spmv(stream, job, values, from, to);
    return start_spmm(stream, job, k, values, from, to);
  });
}
