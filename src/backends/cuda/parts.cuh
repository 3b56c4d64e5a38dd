// SPDX-License-Identifier: Apache-2.0
/// @file parts.cuh
/// The parts of numbers, in f64, and products with reals.

#ifndef LACUNA_BACKENDS_CUDA_PARTS_CUH
#define LACUNA_BACKENDS_CUDA_PARTS_CUH

#include "backends/cuda/number.cuh"

namespace lac_cuda {

template <class R>
__device__ R times(R x, R by) {
  return x * by;
}
template <class R>
__device__ Complex<R> times(Complex<R> x, R by) {
  return {x.re * by, x.im * by};
}

__device__ inline double real_of(double x) { return x; }
__device__ inline double imag_of(double) { return 0; }
template <class R>
__device__ double real_of(Complex<R> x) {
  return x.re;
}
template <class R>
__device__ double imag_of(Complex<R> x) {
  return x.im;
}

}  // namespace lac_cuda

#endif
