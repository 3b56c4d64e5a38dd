// SPDX-License-Identifier: Apache-2.0
/// @file lines.cu
/// The longest of the lines between offsets: how many entries it has, then the first line with so many; and where
/// pieces of uneven lines begin.
///
/// Maxima and minima of integers do not depend on the order of threads.

#include "backends/cuda/lines.cuh"

using namespace lac_cuda;

namespace {

using Word = unsigned long long;

template <class O>
__global__ void __launch_bounds__(BLOCK) longest_count(int64_t lines, const O *offsets, Word *count) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK, most = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < lines; i += step) {
    int64_t length = offsets[i + 1] - offsets[i];
    if (length > most) most = length;
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    int64_t other = __shfl_down_sync(0xffffffffu, most, d);
    if (other > most) most = other;
  }
  if (threadIdx.x % 32 == 0) atomicMax(count, static_cast<Word>(most));
}

template <class O>
__global__ void __launch_bounds__(BLOCK) longest_line(int64_t lines, const O *offsets, const Word *count, Word *line) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK, most = static_cast<int64_t>(*count);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < lines; i += step) {
    if (offsets[i + 1] - offsets[i] != most) continue;
    if (static_cast<Word>(i) < *static_cast<volatile Word *>(line)) atomicMin(line, static_cast<Word>(i));
    return;  // later lines of this thread are not the first
  }
}

}  // namespace

cudaError_t cuda_launch_longest(cudaStream_t stream, int64_t lines, cuda_index offsets, cuda_longest_line *out) {
  static_assert(sizeof(Word) == sizeof out->count, "words are 64 bits");
  Word *count = reinterpret_cast<Word *>(&out->count), *line = reinterpret_cast<Word *>(&out->line);
  cudaError_t error = cudaMemsetAsync(count, 0, sizeof *count, stream);
  if (error == cudaSuccess) error = cudaMemsetAsync(line, lines ? 0xff : 0, sizeof *line, stream);
  if (error != cudaSuccess || lines == 0) return error;
  dim3 grid(blocks(ceil_div(lines, BLOCK), 2048));
  return with_index(offsets.type, [&](auto index) {
    using O = decltype(index);
    cudaError_t first = launch(longest_count<O>, grid, stream, lines, integers<O>(offsets), count);
    if (first != cudaSuccess) return first;
    return launch(longest_line<O>, grid, stream, lines, integers<O>(offsets), static_cast<const Word *>(count), line);
  });
}

cudaError_t cuda_launch_piece_starts(cudaStream_t stream, const cuda_lengths *l, cuda_index offsets, int64_t piece,
                                     int64_t *starts) {
  return with_index(offsets.type, [&](auto index) {
    return start_starts(stream, l, integers<decltype(index)>(offsets), piece, starts);
  });
}
