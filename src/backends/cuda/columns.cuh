// SPDX-License-Identifier: Apache-2.0
/// @file columns.cuh
/// How threads share vectors [items, n, k] whose columns are independent: a thread keeps to one column. Sums over rows
/// are taken by threads, blocks and then over blocks, each by a tree; the cut depends on the shape alone, so the bits
/// never change.

#ifndef LACUNA_BACKENDS_CUDA_COLUMNS_CUH
#define LACUNA_BACKENDS_CUDA_COLUMNS_CUH

#include "backends/cuda/grid.cuh"

namespace lac_cuda {

/// Of all numbers of a pass: a block takes `wide` columns of an item, from `tile` times as many on, and every so many
/// rows.
struct ColumnCut {
  int64_t items, n, k;
  int64_t tiles, blocks;  // of columns; of rows
  int wide, rows;         // threads along columns and along rows
};

inline ColumnCut column_cut(int64_t items, int64_t n, int64_t k) {
  ColumnCut cut = {items, n, k, 0, 0, 0, 0};
  cut.wide = static_cast<int>(k < BLOCK ? k : BLOCK);
  cut.rows = BLOCK / cut.wide;
  cut.tiles = ceil_div(k, cut.wide);
  int64_t wanted = ceil_div(2048, items * cut.tiles), most = ceil_div(n, static_cast<int64_t>(cut.rows) * 4);
  cut.blocks = wanted < most ? wanted : most;
  if (cut.blocks < 1) cut.blocks = 1;
  return cut;
}

/// The sum over the rows of threads of each column: those of the first row have it.
template <class W>
__device__ W column_sum(W sum, int wide, int rows) {
  __shared__ W parts[BLOCK];
  int row = static_cast<int>(threadIdx.x) / wide;
  parts[threadIdx.x] = sum;
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row < half && row + half < rows) parts[threadIdx.x] = parts[threadIdx.x] + parts[threadIdx.x + half * wide];
  }
  sum = parts[threadIdx.x];
  __syncthreads();
  return sum;
}

}  // namespace lac_cuda

#endif
