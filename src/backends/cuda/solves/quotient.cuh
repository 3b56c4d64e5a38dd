// SPDX-License-Identifier: Apache-2.0
/// @file quotient.cuh
/// What elimination and substitution do with numbers: quotients that no size disturbs, s - a x, sizes of pivots.

#ifndef LACUNA_BACKENDS_CUDA_SOLVES_QUOTIENT_CUH
#define LACUNA_BACKENDS_CUDA_SOLVES_QUOTIENT_CUH

#include "backends/cuda/number.cuh"

namespace lac_cuda {

template <class R>
__device__ bool is_zero(R x) {
  return x == 0;
}
template <class R>
__device__ bool is_zero(Complex<R> x) {
  return x.re == 0 && x.im == 0;
}

/// |re| + |im|: within sqrt(2) of the modulus, and costs no root.
template <class R>
__device__ double size_of(R x) {
  return fabs(static_cast<double>(x));
}
template <class R>
__device__ double size_of(Complex<R> x) {
  return fabs(static_cast<double>(x.re)) + fabs(static_cast<double>(x.im));
}

template <class R>
__device__ double real_of(R x) {
  return x;
}
template <class R>
__device__ double real_of(Complex<R> x) {
  return x.re;
}

/// s - a x
template <class R>
__device__ R take_off(R s, R a, R x) {
  return fma(-a, x, s);
}
template <class R>
__device__ Complex<R> take_off(Complex<R> s, Complex<R> a, Complex<R> x) {
  return {fma(a.im, x.im, fma(-a.re, x.re, s.re)), fma(-a.im, x.re, fma(-a.re, x.im, s.im))};
}

// -- quotients -------------------------------------------------------------------------------------------------------

/// fraction * 2^power
struct Scaled {
  double fraction;
  int power;
};

__device__ inline Scaled scaled_of(double x) {
  Scaled s = {0, -10000};  // zero: below the power of every product
  if (x != 0) s.fraction = frexp(x, &s.power);
  return s;
}

/// x y + u v
__device__ inline Scaled scaled_products(Scaled x, Scaled y, Scaled u, Scaled v) {
  constexpr int APART = 200;  // powers of two between products that do not feel each other
  int power = x.power + y.power;
  Scaled other = {u.fraction * v.fraction, u.power + v.power};
  if (other.power - power > APART) return other;
  return {fma(x.fraction, y.fraction, ldexp(other.fraction, other.power - power)), power};
}

__device__ inline double scaled_quotient(Scaled x, Scaled y) {
  return ldexp(x.fraction / y.fraction, x.power - y.power);
}

/// Not inlined: it is rare, and its registers are wanted elsewhere.
__device__ __noinline__ inline Complex<double> quotient_scaled(Complex<double> x, Complex<double> y) {
  if (isinf(y.re) || isinf(y.im)) {
    double size = fabs(y.re) + fabs(y.im);  // NaN where a part is
    return {0 * x.re / size, 0 * x.im / size};
  }
  Scaled a = scaled_of(x.re), b = scaled_of(x.im), c = scaled_of(y.re), d = scaled_of(y.im);
  Scaled minus_d = {-d.fraction, d.power}, square = scaled_products(c, c, d, d);
  return {scaled_quotient(scaled_products(a, c, b, d), square),
          scaled_quotient(scaled_products(b, c, a, minus_d), square)};
}

/// Neither 0 nor between 2^-500 and 2^500.
__device__ inline bool is_extreme(double x) {
  double size = fabs(x);
  return !(size == 0 || (size >= 0x1p-500 && size <= 0x1p500));
}

/// x / y as the CPU divides (core/numbers/numbers.h): doubles hold every square of a float; of doubles the products of
/// parts between 2^-500 and 2^500 stay in range. A number over an infinite one is 0.
__device__ inline float quotient(float x, float y) { return x / y; }
__device__ inline double quotient(double x, double y) { return x / y; }
__device__ inline Complex<float> quotient(Complex<float> x, Complex<float> y) {
  double a = x.re, b = x.im, c = y.re, d = y.im, square = fma(c, c, d * d);
  bool is_finite = !isinf(square) && !isnan(square);
  double re = is_finite ? fma(a, c, b * d) : 0 * a, im = is_finite ? fma(b, c, -(a * d)) : 0 * b;
  return {static_cast<float>(re / square), static_cast<float>(im / square)};
}
__device__ inline Complex<double> quotient(Complex<double> x, Complex<double> y) {
  if (is_extreme(x.re) || is_extreme(x.im) || is_extreme(y.re) || is_extreme(y.im)) return quotient_scaled(x, y);
  double square = fma(y.re, y.re, y.im * y.im);
  return {fma(x.re, y.re, x.im * y.im) / square, fma(x.im, y.re, -(x.re * y.im)) / square};
}

}  // namespace lac_cuda

#endif
