// SPDX-License-Identifier: Apache-2.0
/// @file levels.cu
/// The levels of a triangle, by rows that wait for rows: a row's level is one more than the highest of those it needs.
///
/// A warp takes up 32 rows by a ticket, in the order of substitution, a lane to a row: a row only waits for rows of
/// running warps, or of its own, whose lanes go round together. A level below 0 is not found yet.

#include "backends/cuda/solves/solves.h"
#include "backends/cuda/solves/wait.cuh"

using namespace lac_cuda;

namespace {

struct Walk {
  int64_t rows;
  cuda_index offsets, columns;
  int is_lower;
};

/// Take what is found of the entries from p on; false: the level of one of them is not there yet.
__device__ bool climb(const Walk &m, int64_t row, int64_t *p, int64_t end, const uint32_t *level, int *mine) {
  for (; *p < end; ++*p) {
    int64_t j = get(m.columns, *p);
    if (m.is_lower ? j >= row : j <= row) continue;
    int found = static_cast<int>(word_load(level + j));
    if (found < 0) return false;
    if (found >= *mine) *mine = found + 1;
  }
  return true;
}

__global__ void __launch_bounds__(BLOCK) find_levels(Walk m, uint32_t *level, cuda_level_words *words) {
  for (int64_t first; (first = next_ticket(&words->ticket) * 32) < m.rows;) {
    const int64_t n = first + threadIdx.x % 32, row = m.is_lower ? n : m.rows - 1 - n;
    bool is_open = n < m.rows;
    int64_t p = is_open ? get(m.offsets, row) : 0, end = is_open ? get(m.offsets, row + 1) : 0;
    int mine = 0;
    while (__any_sync(ALL_LANES, is_open)) {
      if (is_open && climb(m, row, &p, end, level, &mine)) {
        word_store(level + row, static_cast<uint32_t>(mine));
        is_open = false;
      }
      __syncwarp();
    }
    int most = __reduce_max_sync(ALL_LANES, mine);
    if (threadIdx.x % 32 == 0) atomicMax(&words->highest, most);
  }
}

}  // namespace

cudaError_t cuda_launch_levels(cudaStream_t stream, const cuda_rows *rows, int is_lower, int32_t *level,
                               cuda_level_words *words) {
  cudaError_t error = cudaMemsetAsync(level, 0xff, static_cast<size_t>(rows->rows) * sizeof *level, stream);
  if (error == cudaSuccess) error = cudaMemsetAsync(words, 0xff, sizeof *words, stream);
  if (error != cudaSuccess || rows->rows == 0) return error;
  return launch(find_levels, blocks(ceil_div(rows->rows, BLOCK), 8 * processors()), stream,
                Walk{rows->rows, rows->offsets, rows->columns, is_lower}, reinterpret_cast<uint32_t *>(level), words);
}
