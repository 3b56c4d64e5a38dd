// SPDX-License-Identifier: Apache-2.0
/// @file columns.cu
/// What Krylov methods do to vectors [items, n, k] (kernels/columns.h): all operations of a pass on a number before the
/// next one, so that every vector comes from memory once; and steps, a thread for each column.
///
/// A thread keeps to one column. Inner products are summed by threads, blocks and then over blocks, each by a tree; the
/// cut depends on the shape alone, so the bits never change.

#define LAC_DEVICE __device__

#include "backends/cuda/columns.cuh"
#include "solvers/krylov/steps/column_steps.h"

using namespace lac_cuda;

namespace {

constexpr int MOST = CUDA_COLUMN_OPS;

template <class T>
__device__ bool is_zero(T x) {
  return x == 0;
}
template <class R>
__device__ bool is_zero(Complex<R> x) {
  return x.re == 0 && x.im == 0;
}

__device__ lac_pair pair_of(double x) { return {x, 0}; }
__device__ lac_pair pair_of(Complex<double> x) { return {x.re, x.im}; }

/// One operation on one number. A coefficient of zero shuts out what it multiplies.
template <class T, class W>
__device__ void operate(const cuda_column_op &op, int64_t at, T c, W &sum) {
  const T *x = static_cast<const T *>(op.x) + at;
  T *y = static_cast<T *>(op.y) + at;
  bool shut = is_zero(c);
  switch (op.what) {
    case LAC_COLUMN_ADD:
      if (!shut) *y = *y + c * *x;
      break;
    case LAC_COLUMN_TURN:
      *y = shut ? *x : *x + c * *y;
      break;
    case LAC_COLUMN_SCALE:
      *y = shut ? zero<T>() : c * *x;
      break;
    case LAC_COLUMN_TAKE:
      if (!shut) *y = *x;
      break;
    case LAC_COLUMN_DOT:
      sum = sum + conj_of(cast<W>(*x)) * cast<W>(*y);
      break;
  }
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    pass(const __grid_constant__ ColumnCut cut, const __grid_constant__ cuda_column_pass ops, const lac_pair *state,
         typename Number<T>::Wide *partial) {
  using W = typename Number<T>::Wide;
  int row = static_cast<int>(threadIdx.x) / cut.wide, lane = static_cast<int>(threadIdx.x) % cut.wide;
  for (int64_t unit = blockIdx.y; unit < cut.items * cut.tiles; unit += gridDim.y) {
    int64_t item = unit / cut.tiles, column = unit % cut.tiles * cut.wide + lane;
    bool takes_part = row < cut.rows && column < cut.k;
    T c[MOST];
    W sums[MOST];
#pragma unroll
    for (int o = 0; o < MOST; ++o) {
      sums[o] = zero<W>();
      c[o] = zero<T>();
      if (o >= ops.count || !takes_part) continue;
      lac_pair from = state[(ops.op[o].slot * cut.items + item) * cut.k + column];
      c[o] = Number<T>::make(ops.op[o].sign * from.re, ops.op[o].sign * from.im);
    }
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * cut.rows + row; takes_part && i < cut.n;
         i += cut.blocks * cut.rows) {
#pragma unroll
      for (int o = 0; o < MOST; ++o) {
        if (o < ops.count) operate(ops.op[o], (item * cut.n + i) * cut.k + column, c[o], sums[o]);
      }
    }
    int dot = 0;
#pragma unroll
    for (int o = 0; o < MOST; ++o) {
      if (o >= ops.count || ops.op[o].what != LAC_COLUMN_DOT) continue;
      W sum = column_sum(sums[o], cut.wide, cut.rows);
      if (row == 0 && takes_part) partial[((dot * cut.items + item) * cut.blocks + blockIdx.x) * cut.k + column] = sum;
      ++dot;
    }
  }
}

/// state[slot] of a column = the sum over the blocks; a block of threads for each.
template <class W>
__global__ void __launch_bounds__(BLOCK)
    finish(const __grid_constant__ ColumnCut cut, int slot, const W *partial, lac_pair *state) {
  for (int64_t at = blockIdx.x; at < cut.items * cut.k; at += gridDim.x) {
    const W *from = partial + at / cut.k * cut.blocks * cut.k + at % cut.k;
    W sum = zero<W>();
    for (int64_t b = threadIdx.x; b < cut.blocks; b += BLOCK) sum = sum + from[b * cut.k];
    sum = column_sum(sum, 1, BLOCK);
    if (threadIdx.x == 0) state[slot * cut.items * cut.k + at] = pair_of(sum);
  }
}

__global__ void __launch_bounds__(BLOCK)
    step(lac_column_step which, const __grid_constant__ lac_step_numbers numbers, int64_t columns, lac_pair *state) {
  int64_t stride = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < columns; i += stride) {
    lac_column_step_run(which, state + i, columns, &numbers);
  }
}

template <class T>
cudaError_t start_pass(cudaStream_t stream, const ColumnCut &cut, const cuda_column_pass &ops, lac_pair *state,
                       void *scratch) {
  using W = typename Number<T>::Wide;
  W *partial = static_cast<W *>(scratch);
  dim3 grid(blocks(cut.blocks, MAX_X), blocks(cut.items * cut.tiles, MAX_YZ));
  cudaError_t error = launch(pass<T>, grid, stream, cut, ops, static_cast<const lac_pair *>(state), partial);
  for (int o = 0, dot = 0; o < ops.count && error == cudaSuccess; ++o) {
    if (ops.op[o].what != LAC_COLUMN_DOT) continue;
    const W *from = partial + dot++ * cut.items * cut.blocks * cut.k;
    error = launch(finish<W>, dim3(blocks(cut.items * cut.k, MAX_X)), stream, cut, ops.op[o].slot, from, state);
  }
  return error;
}

}  // namespace

size_t cuda_columns_scratch(int64_t items, int64_t n, int64_t k, int dots) {
  ColumnCut cut = column_cut(items, n, k);
  return static_cast<size_t>(dots * items * cut.blocks * k) * sizeof(lac_pair);
}

cudaError_t cuda_launch_columns(cudaStream_t stream, lac_dtype dtype, int64_t items, int64_t n, int64_t k,
                                const cuda_column_pass *ops, lac_pair *state, void *scratch) {
  ColumnCut cut = column_cut(items, n, k);
  return with_dtype(dtype,
                    [&](auto number) { return start_pass<decltype(number)>(stream, cut, *ops, state, scratch); });
}

cudaError_t cuda_launch_column_step(cudaStream_t stream, lac_column_step which, const lac_step_numbers *numbers,
                                    int64_t columns, lac_pair *state) {
  return launch(step, dim3(blocks(ceil_div(columns, BLOCK), MAX_X)), stream, which, *numbers, columns, state);
}
