// SPDX-License-Identifier: Apache-2.0
/// @file banded.cu
/// Products of banded matrices, ab[upper + i - j, j] = A[i, j]: a thread, or a warp, to each number of the result.

#include "backends/cuda/grid.cuh"
#include "backends/cuda/structured/structured.h"

using namespace lac_cuda;

namespace {

__device__ int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
__device__ int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/// y[o, c]: output o meets input o + shift on the diagonal d = i - j.
template <class T, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    banded_mm(cuda_band band, int64_t k, const __grid_constant__ cuda_batch batch, const T *__restrict__ ab,
              const T *__restrict__ x, T *__restrict__ y) {
  const int64_t outputs = band.transposed ? band.cols : band.rows, inputs = band.transposed ? band.rows : band.cols;
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t e = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; e < outputs * k; e += step) {
      const int64_t o = k == 1 ? e : e / k, c = k == 1 ? 0 : e - o * k;
      // the d with 0 <= o + shift < inputs
      const int64_t low = band.transposed ? most(-band.upper, -o) : most(-band.upper, o - inputs + 1);
      const int64_t high = band.transposed ? least(band.lower, inputs - 1 - o) : least(band.lower, o);
      T sum = zero<T>();
      for_summands<SUMS>(batch.summed, base, [&](Offsets at) {
        for (int64_t d = low; d <= high; ++d) {
          const int64_t shift = band.transposed ? d : -d, column = band.transposed ? o : o - d;
          T value = conj_if(band.conj, ab[at.x + (band.upper + d) * band.cols + column]);
          sum = sum + value * x[at.y + (o + shift) * k + c];
        }
      });
      y[b * outputs * k + e] = sum;
    }
  }
}

/// s[upper + d, j] = sum over c of u[j + d, c] conj(v[j, c]), by G lanes each.
template <class T, int G, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    banded_outer(cuda_band band, int64_t k, const __grid_constant__ cuda_batch batch, const T *__restrict__ u,
                 const T *__restrict__ v, T *__restrict__ s) {
  using Wide = typename Number<T>::Wide;
  const int64_t count = (band.lower + band.upper + 1) * band.cols;
  Groups<G> groups;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t e = groups.first; groups.warp(e) < count; e += groups.step) {
      const int64_t r = e / band.cols, j = e - r * band.cols, i = j + r - band.upper;
      Wide sum = zero<Wide>();
      if (e < count && i >= 0 && i < band.rows) {
        for_summands<SUMS>(batch.summed, base, [&](Offsets at) {
          for (int64_t c = groups.lane; c < k; c += G) {
            sum = sum + cast<Wide>(u[at.x + i * k + c]) * conj_of(cast<Wide>(v[at.y + j * k + c]));
          }
        });
      }
      sum = group_sum<G>(sum);
      if (e < count && groups.lane == 0) s[b * count + e] = cast<T>(sum);
    }
  }
}

/// op(A)[i, j] = ab[at + j] of a square band, by the diagonal d = i - j: where `at` is.
__device__ int64_t diagonal_at(const cuda_band &band, int64_t d) {
  return band.transposed ? (band.upper - d) * band.cols + d : (band.upper + d) * band.cols;
}

/// t[upper + d, j] = sum over l of op(X)[j + d, l] op(Y)[l, j].
template <class T, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    banded_gemm(cuda_band band, cuda_band bx, cuda_band by, const __grid_constant__ cuda_batch batch,
                const T *__restrict__ x, const T *__restrict__ y, T *__restrict__ t) {
  const int64_t n = band.cols, count = (band.lower + band.upper + 1) * n;
  const int64_t down = bx.transposed ? bx.upper : bx.lower, up = bx.transposed ? bx.lower : bx.upper;
  const int64_t down_y = by.transposed ? by.upper : by.lower, up_y = by.transposed ? by.lower : by.upper;
  const int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t e = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; e < count; e += step) {
      const int64_t r = e / n, j = e - r * n, i = j + r - band.upper;
      const int64_t low = most(most(j - up_y, i - down), 0), high = least(least(j + down_y, i + up), n - 1);
      T sum = zero<T>();
      if (i >= 0 && i < n) {
        for_summands<SUMS>(batch.summed, base, [&](Offsets at) {
          for (int64_t l = low; l <= high; ++l) {
            T left = conj_if(bx.conj, x[at.x + diagonal_at(bx, i - l) + l]);
            T right = conj_if(by.conj, y[at.y + diagonal_at(by, l - j) + j]);
            sum = sum + left * right;
          }
        });
      }
      t[b * count + e] = sum;
    }
  }
}

dim3 grid_of(int64_t threads, int64_t items) {
  return dim3(blocks(ceil_div(threads, BLOCK), MAX_X), blocks(items, MAX_YZ));
}

}  // namespace

cudaError_t cuda_launch_banded_mm(cudaStream_t stream, lac_dtype dtype, const cuda_band *band, int64_t k,
                                  const cuda_batch *batch, const void *ab, const void *x, void *y) {
  int64_t outputs = (band->transposed ? band->cols : band->rows) * k;
  if (outputs * batch->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return with_sums(batch, [&](auto sums) {
      return launch(banded_mm<T, sums.value>, grid_of(outputs, batch->kept.count), stream, *band, k, *batch,
                    static_cast<const T *>(ab), static_cast<const T *>(x), static_cast<T *>(y));
    });
  });
}

cudaError_t cuda_launch_banded_outer(cudaStream_t stream, lac_dtype dtype, const cuda_band *band, int64_t k,
                                     const cuda_batch *batch, const void *u, const void *v, void *s) {
  int64_t count = (band->lower + band->upper + 1) * band->cols;
  int lanes = k >= 32 ? 32 : 1;
  if (count * batch->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return with_sums(batch, [&](auto sums) {
      auto kernel = lanes == 32 ? banded_outer<T, 32, sums.value> : banded_outer<T, 1, sums.value>;
      return launch(kernel, grid_of(count * lanes, batch->kept.count), stream, *band, k, *batch,
                    static_cast<const T *>(u), static_cast<const T *>(v), static_cast<T *>(s));
    });
  });
}

cudaError_t cuda_launch_banded_gemm(cudaStream_t stream, lac_dtype dtype, const cuda_band *band, const cuda_band *bx,
                                    const cuda_band *by, const cuda_batch *batch, const void *x, const void *y,
                                    void *t) {
  int64_t count = (band->lower + band->upper + 1) * band->cols;
  if (count * batch->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return with_sums(batch, [&](auto sums) {
      return launch(banded_gemm<T, sums.value>, grid_of(count, batch->kept.count), stream, *band, *bx, *by, *batch,
                    static_cast<const T *>(x), static_cast<const T *>(y), static_cast<T *>(t));
    });
  });
}
