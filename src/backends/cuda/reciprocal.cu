// SPDX-License-Identifier: Apache-2.0
/// @file reciprocal.cu
/// Reciprocals, and the place of the first zero: a minimum of integers, which no order changes.

#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

template <class R>
__device__ R over_one(R x) {
  return R(1) / x;
}

/// conj(x) / |x|^2 of x brought near 1 by a power of two: the reciprocal leaves the range only where its own parts do.
template <class R>
__device__ Complex<R> over_one(Complex<R> x) {
  double most = fmax(fabs(static_cast<double>(x.re)), fabs(static_cast<double>(x.im)));
  if (isnan(x.re) || isnan(x.im)) return {x.re + x.im, x.re + x.im};
  if (isinf(most)) return {0, 0};
  int power = most > 0 ? -ilogb(most) : 0;
  int last = power > 1000 ? 4 : 0;  // kept back: the quotient may be in range where what is divided is not
  double re = scalbn(static_cast<double>(x.re), power), im = scalbn(static_cast<double>(x.im), power);
  double square = re * re + im * im;
  return {static_cast<R>(scalbn(scalbn(re, power - last) / square, last)),
          static_cast<R>(scalbn(scalbn(-im, power - last) / square, last))};
}

template <class R>
__device__ bool is_finite(R x) {
  return isfinite(x);
}
template <class R>
__device__ bool is_finite(Complex<R> x) {
  return isfinite(x.re) && isfinite(x.im);
}

template <class T>
__global__ void __launch_bounds__(BLOCK) reciprocals(int64_t count, const T *x, T *y, unsigned long long *first) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < count; i += step) {
    T inverse = over_one(x[i]);
    y[i] = inverse;
    if (!is_finite(inverse)) atomicMin(first, static_cast<unsigned long long>(i));
  }
}

}  // namespace

cudaError_t cuda_launch_reciprocal(cudaStream_t stream, lac_dtype dtype, int64_t count, const void *x, void *y,
                                   uint64_t *first) {
  cudaError_t error = cudaMemsetAsync(first, 0xff, sizeof *first, stream);
  if (error != cudaSuccess || count == 0) return error;
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return launch(reciprocals<T>, blocks(ceil_div(count, BLOCK), 4096), stream, count, static_cast<const T *>(x),
                  static_cast<T *>(y), reinterpret_cast<unsigned long long *>(first));
  });
}
