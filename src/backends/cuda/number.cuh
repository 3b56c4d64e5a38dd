// SPDX-License-Identifier: Apache-2.0
/// @file number.cuh
/// Numbers on the device: float, double and a complex of each under one set of names, so that kernels are written once.

#ifndef LACUNA_BACKENDS_CUDA_NUMBER_CUH
#define LACUNA_BACKENDS_CUDA_NUMBER_CUH

#include <cuda_runtime.h>

namespace lac_cuda {

template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};

/// Real: the type of the parts. Wide: what sums over whole arrays accumulate in.
template <class T>
struct Number {
  using Real = T;
  using Wide = double;
  static __host__ __device__ T make(double re, double) { return static_cast<T>(re); }
};
template <class R>
struct Number<Complex<R>> {
  using Real = R;
  using Wide = Complex<double>;
  static __host__ __device__ Complex<R> make(double re, double im) { return {static_cast<R>(re), static_cast<R>(im)}; }
};

template <class T>
__host__ __device__ T zero() {
  return Number<T>::make(0, 0);
}

template <class R>
__device__ Complex<R> operator+(Complex<R> x, Complex<R> y) {
  return {x.re + y.re, x.im + y.im};
}
template <class R>
__device__ Complex<R> operator-(Complex<R> x, Complex<R> y) {
  return {x.re - y.re, x.im - y.im};
}
template <class R>
__device__ Complex<R> operator*(Complex<R> x, Complex<R> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

template <class R>
__device__ R conj_of(R x) {
  return x;
}
template <class R>
__device__ Complex<R> conj_of(Complex<R> x) {
  return {x.re, -x.im};
}

/// conj(x) if `conj`, which all threads agree on.
template <class T>
__device__ T conj_if(int conj, T x) {
  return conj ? conj_of(x) : x;
}

/// To another precision.
template <class To>
__device__ To cast(double x) {
  return static_cast<To>(x);
}
template <class To, class R>
__device__ To cast(Complex<R> x) {
  return Number<To>::make(x.re, x.im);
}

/// The number of the lane `distance` further in groups of `width` lanes.
template <class R>
__device__ R shift_down(R x, int distance, int width) {
  return __shfl_down_sync(0xffffffffu, x, distance, width);
}
template <class R>
__device__ Complex<R> shift_down(Complex<R> x, int distance, int width) {
  return {shift_down(x.re, distance, width), shift_down(x.im, distance, width)};
}

/// The sum over a group of G lanes, by a fixed tree; lane 0 has it. All lanes of the warp take part.
template <int G, class T>
__device__ T group_sum(T x) {
#pragma unroll
  for (int d = G / 2; d > 0; d /= 2) x = x + shift_down(x, d, G);
  return x;
}

/// V numbers that are loaded and stored at once.
template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
  T at[V];
};

template <int V, class T>
__device__ Pack<T, V> load(const T *from) {
  return *reinterpret_cast<const Pack<T, V> *>(from);
}
template <int V, class T>
__device__ void store(T *to, const Pack<T, V> &pack) {
  *reinterpret_cast<Pack<T, V> *>(to) = pack;
}

/// How many numbers fill 16 bytes.
template <class T>
__host__ __device__ constexpr int wide_pack() {
  return 16 / static_cast<int>(sizeof(T));
}

}  // namespace lac_cuda

#endif
