// SPDX-License-Identifier: Apache-2.0
/// @file magnitudes.cu
/// Scales by the magnitudes of vectors: maxima, which no order changes.

#include <cfloat>

#include "backends/cuda/grid.cuh"
#include "backends/cuda/magnitudes.h"

using namespace lac_cuda;

namespace {

using Word = unsigned long long;

/// Sizes are not negative, so that their bits are ordered as they are; NaN is the largest.
__device__ Word bits_of(double size) { return static_cast<Word>(__double_as_longlong(size)); }
__device__ double size_of_bits(Word bits) { return __longlong_as_double(static_cast<long long>(bits)); }

__device__ Word larger(Word a, Word b) { return a > b ? a : b; }

/// The largest of a block, in its first thread.
__device__ Word block_largest(Word mine) {
  __shared__ Word of_warps[BLOCK / 32];
#pragma unroll
  for (int d = 16; d > 0; d /= 2) mine = larger(mine, __shfl_down_sync(0xffffffffu, mine, d));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  for (int w = 1; threadIdx.x == 0 && w < BLOCK / 32; ++w) mine = larger(mine, of_warps[w]);
  return mine;
}

__device__ double largest_part(double x) { return fabs(x); }
template <class R>
__device__ double largest_part(Complex<R> x) {
  double re = fabs(static_cast<double>(x.re)), im = fabs(static_cast<double>(x.im));
  return re <= im || isnan(im) ? im : re;  // NaN where a part is
}

/// One column: of [items, rows].
template <class T>
__global__ void __launch_bounds__(BLOCK) largest_of_column(int64_t rows, const T *x, Word *words) {
  const int64_t item = blockIdx.y, step = static_cast<int64_t>(gridDim.x) * BLOCK;
  Word most = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < rows; i += step)
    most = larger(most, bits_of(largest_part(x[item * rows + i])));
  most = block_largest(most);
  if (threadIdx.x == 0 && most) atomicMax(&words[item], most);
}

/// Several: a thread has rows of one column.
template <class T>
__global__ void __launch_bounds__(BLOCK)
    largest_of_columns(int64_t rows, int64_t k, int64_t lines, const T *x, Word *words) {
  const int64_t item = blockIdx.y, at = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x;
  const int64_t column = at % k;
  Word most = 0;
  if (at >= lines * k) return;
  for (int64_t i = at / k; i < rows; i += lines)
    most = larger(most, bits_of(largest_part(x[(item * rows + i) * k + column])));
  if (most) atomicMax(&words[item * k + column], most);
}

/// The two scales of a column from the largest part in it.
__global__ void __launch_bounds__(BLOCK)
    set_scales(int64_t items, int64_t k, const Word *words, const double *unit, double *scale) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; at < items * k; at += step) {
    const int64_t item = at / k, column = at % k;
    const double most = size_of_bits(words[at]);
    double u = 1;
    if (most > 0 && most <= DBL_MAX) {
      int exponent = ilogb(most);
      exponent = exponent > 999 ? 999 : exponent < -1001 ? -1001 : exponent;  // the reciprocal is a normal number
      u = ldexp(1.0, exponent);
    }
    scale[2 * item * k + column] = 1 / u;
    scale[(2 * item + 1) * k + column] = u * (unit ? unit[2 * item] : 1);
  }
}

template <class T>
cudaError_t start_largest(cudaStream_t stream, int64_t items, int64_t rows, int64_t k, const void *x, Word *words) {
  const T *numbers = static_cast<const T *>(x);
  const unsigned batch = static_cast<unsigned>(items);
  if (k == 1) {
    const dim3 grid(blocks(ceil_div(rows, 8 * BLOCK), 2048), batch);
    return launch(largest_of_column<T>, grid, stream, rows, numbers, words);
  }
  const int64_t most = ceil_div(int64_t{1 << 18}, k), lines = rows < most ? rows : most;
  return launch(largest_of_columns<T>, dim3(blocks(ceil_div(lines * k, BLOCK), MAX_X), batch), stream, rows, k, lines,
                numbers, words);
}

}  // namespace

cudaError_t cuda_launch_magnitudes(cudaStream_t stream, lac_dtype dtype, int64_t items, int64_t rows, int64_t k,
                                   const void *x, const double *unit, unsigned long long *words, double *scale) {
  if (items * k == 0) return cudaSuccess;
  cudaError_t error = cudaMemsetAsync(words, 0, static_cast<size_t>(items * k) * sizeof *words, stream);
  if (error == cudaSuccess && rows > 0) {
    error = with_dtype(dtype,
                       [&](auto number) { return start_largest<decltype(number)>(stream, items, rows, k, x, words); });
  }
  if (error != cudaSuccess) return error;
  return launch(set_scales, blocks(ceil_div(items * k, BLOCK), 4096), stream, items, k,
                static_cast<const Word *>(words), unit, scale);
}
