// SPDX-License-Identifier: Apache-2.0
/// @file stride.cu
/// How far the rows of a matrix reach, by a sample of them.
///
/// Of a grid whose points are numbered row by row it is the width of the grid: rows this far apart share columns
/// (tiles.cuh). A median, because rows at edges, or a few that lead anywhere, do not speak for the rest.

#include "backends/cuda/grid.cuh"
#include "backends/cuda/products/products.h"

using namespace lac_cuda;

namespace {

/// One block; a thread looks at one row, and whose distance has half of the others below it reports it.
template <class O, class C>
__global__ void __launch_bounds__(BLOCK)
    median_reach(int64_t rows, const O *offsets, const C *columns, int64_t *stride) {
  __shared__ int64_t reaches[BLOCK];
  int me = static_cast<int>(threadIdx.x), before = 0;
  int64_t row = (rows - 1) / BLOCK * me, begin = offsets[row], end = offsets[row + 1], reach = 0;
  if (begin < end) {
    int64_t back = row - columns[begin], ahead = columns[end - 1] - row;
    reach = ahead > back ? ahead : back;
  }
  reaches[me] = reach;
  __syncthreads();
  for (int i = 0; i < BLOCK; ++i) before += reaches[i] < reach || (reaches[i] == reach && i < me);
  if (before == BLOCK / 2) *stride = reach;
}

}  // namespace

cudaError_t cuda_launch_stride(cudaStream_t stream, const cuda_rows *rows, int64_t *stride) {
  if (rows->rows == 0) return cudaMemsetAsync(stride, 0, sizeof *stride, stream);
  return with_width(rows, [&](auto offset, auto column) {
    using O = decltype(offset);
    using C = decltype(column);
    return launch(median_reach<O, C>, dim3(1), stream, rows->rows, integers<O>(rows->offsets),
                  integers<C>(rows->columns), stride);
  });
}
