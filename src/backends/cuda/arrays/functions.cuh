// SPDX-License-Identifier: Apache-2.0
/// @file functions.cuh
/// The functions of one number, or two, on the device: those of backends/cpu/base/functions.h, with the same branches
/// and the same range.
///
/// Reals call CUDA's mathematical functions in their own precision. Complex functions are written out here for doubles;
/// of complex floats they are taken in doubles too, which hold every square of a float. Functions of reals alone read
/// the real part, so that one text serves all dtypes.

#ifndef LACUNA_BACKENDS_CUDA_ARRAYS_FUNCTIONS_CUH
#define LACUNA_BACKENDS_CUDA_ARRAYS_FUNCTIONS_CUH

#ifndef LAC_DEVICE
#define LAC_DEVICE __device__
#endif
#define LAC_FUSED(x, y, s) fma(x, y, s)

#include <math.h>
#include <stdint.h>

#include "backends/cuda/number.cuh"
#include "core/numbers/quotient.h"

namespace lac_cuda {

using c128 = Complex<double>;

__device__ inline float re_of(float x) { return x; }
__device__ inline double re_of(double x) { return x; }
template <class R>
__device__ R re_of(Complex<R> x) {
  return x.re;
}
__device__ inline float im_of(float) { return 0; }
__device__ inline double im_of(double) { return 0; }
template <class R>
__device__ R im_of(Complex<R> x) {
  return x.im;
}

template <class T>
__device__ bool is_zero(T x) {
  return re_of(x) == 0 && im_of(x) == 0;
}
template <class T>
__device__ bool equals(T x, T y) {
  return re_of(x) == re_of(y) && im_of(x) == im_of(y);
}

// -- quotients -------------------------------------------------------------------------------------------------------

/// Neither 0 nor between 2^-500 and 2^500: the sign is shifted out, and what is left compares as an integer.
__device__ inline bool is_extreme(double x) {
  uint64_t bits = static_cast<uint64_t>(__double_as_longlong(x)) << 1;
  return bits != 0 && bits - (static_cast<uint64_t>(1023 - 500) << 53) > static_cast<uint64_t>(1000) << 53;
}

__device__ inline float quotient(float x, float y) { return x / y; }
__device__ inline double quotient(double x, double y) { return x / y; }

/// Doubles hold every square of a float. A number over an infinite one is 0.
__device__ inline Complex<float> quotient(Complex<float> x, Complex<float> y) {
  double a = x.re, b = x.im, c = y.re, d = y.im, square = fma(c, c, d * d);
  bool is_finite = square < static_cast<double>(INFINITY);
  double re = is_finite ? fma(a, c, b * d) : 0 * a, im = is_finite ? fma(b, c, -(a * d)) : 0 * b;
  return {static_cast<float>(re / square), static_cast<float>(im / square)};
}

/// Products of parts between 2^-500 and 2^500 stay in range; the others are left to a function that no size disturbs.
__device__ inline c128 quotient(c128 x, c128 y) {
  if (is_extreme(x.re) || is_extreme(x.im) || is_extreme(y.re) || is_extreme(y.im)) {
    c128 z;
    lac_quotient(x.re, x.im, y.re, y.im, &z.re, &z.im);
    return z;
  }
  double square = fma(y.re, y.re, y.im * y.im);
  return {fma(x.re, y.re, x.im * y.im) / square, fma(x.im, y.re, -(x.re * y.im)) / square};
}

// -- sizes -----------------------------------------------------------------------------------------------------------

/// |x|, without overflow of squares
__device__ inline float size_of(float x) { return fabsf(x); }
__device__ inline double size_of(double x) { return fabs(x); }
__device__ inline float size_of(Complex<float> x) {
  if (isinf(x.re) || isinf(x.im)) return INFINITY;
  double re = x.re, im = x.im;
  return static_cast<float>(sqrt(fma(re, re, im * im)));
}
__device__ inline double size_of(c128 x) { return hypot(x.re, x.im); }

/// The power of two at or below x >= 0, but no less than the smallest normal number, whose reciprocal is finite; 1 at
/// 0.
__device__ inline double power_below(double x) {
  if (x == 0) return 1;
  if (isnan(x)) return x;
  return __longlong_as_double(__double_as_longlong(x < 0x1p-1022 ? 0x1p-1022 : x) & 0x7ffll << 52);
}
__device__ inline float power_below(float x) {
  return x < 0x1p-126f && x != 0 ? 0x1p-126f : static_cast<float>(power_below(static_cast<double>(x)));
}
template <class T>
__device__ typename Number<T>::Real magnitude(T x) {
  return power_below(size_of(x));
}

/// x / |x|, and 0 at 0; doubles are first brought near 1.
__device__ inline float sign(float x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
__device__ inline double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
__device__ inline Complex<float> sign(Complex<float> x) {
  double a = x.re, b = x.im, size = sqrt(fma(a, a, b * b));
  if (size == 0) return {0, 0};
  return {static_cast<float>(a / size), static_cast<float>(b / size)};
}
__device__ inline c128 sign(c128 x) {
  double most = fmax(fabs(x.re), fabs(x.im));
  if (most == 0) return x;
  double a = x.re / most, b = x.im / most, size = sqrt(fma(a, a, b * b));
  return {a / size, b / size};
}

// -- complex functions of doubles ------------------------------------------------------------------------------------

/// e^x c, where e^x alone may be too large.
__device__ inline double exp_times(double x, double c) {
  if (c == 0) return c;
  if (x < 700) return exp(x) * c;
  double root = exp(0.5 * x);
  return root * c * root;
}

__device__ inline c128 exp_of(c128 z) {
  double sine, cosine;
  if (z.im == 0) return {exp(z.re), z.im};
  if (z.re == -static_cast<double>(INFINITY)) return {0, 0};
  sincos(z.im, &sine, &cosine);
  return {exp_times(z.re, cosine), exp_times(z.re, sine)};
}

/// a + b = sum + error, exactly.
__device__ inline double two_sum(double a, double b, double *error) {
  double sum = a + b, part = sum - a;
  *error = (a - (sum - part)) + (b - part);
  return sum;
}

/// log|z| for |z| near 1: of |z|^2 - 1, in which much cancels, with the rounding errors of its terms.
__device__ inline double log_near_one(double a, double b) {
  double square_a = __dmul_rn(a, a), square_b = __dmul_rn(b, b), lost_first, lost_second;
  double first = two_sum(square_a, -1, &lost_first), sum = two_sum(first, square_b, &lost_second);
  double lost = fma(a, a, -square_a) + fma(b, b, -square_b) + lost_first + lost_second;
  return 0.5 * log1p(sum + lost);
}

/// log|z|: sizes at the ends of the range are moved inwards by a power of two, which comes back as its logarithm.
__device__ inline double log_size(c128 z) {
  const double of_two = 0x1.62e42fefa39efp-1;
  double a = fmax(fabs(z.re), fabs(z.im)), b = fmin(fabs(z.re), fabs(z.im));
  if (isinf(z.re) || isinf(z.im)) return INFINITY;
  if (isnan(z.re) || isnan(z.im)) return z.re + z.im;
  if (a > 0.3 && a < 2) return log_near_one(a, b);
  if (a > 0x1p1000) return log(hypot(a * 0x1p-100, b * 0x1p-100)) + 100 * of_two;
  if (a < 0x1p-900 && a > 0) return log(hypot(a * 0x1p200, b * 0x1p200)) - 200 * of_two;
  return log(hypot(z.re, z.im));
}

__device__ inline c128 log_of(c128 z) { return {log_size(z), atan2(z.im, z.re)}; }

/// The root with a real part that is not negative:
///
///     t = sqrt((|re| + |z|) / 2)        t + i im / 2t, or |im| / 2t +- i t where re < 0
///
/// t is taken of parts near 1, and the other part is divided by t as it is.
__device__ inline c128 sqrt_of(c128 z) {
  if (isinf(z.im)) return {INFINITY, z.im};
  if (isinf(z.re)) return z.re > 0 ? c128{z.re, z.im * 0} : c128{fabs(z.im) * 0, copysign(z.re, z.im)};
  double most = fmax(fabs(z.re), fabs(z.im));
  if (most == 0) return {0, z.im};
  int half = ilogb(most) / 2;
  double re = fabs(scalbn(z.re, -2 * half)), im = scalbn(z.im, -2 * half);
  double t = scalbn(sqrt(0.5 * (re + hypot(re, im))), half);
  if (z.re < 0) return {fabs(z.im) / t * 0.5, copysign(t, z.im)};
  return {t, z.im / t * 0.5};
}

/// cosh(y) c and sinh(y) c, where e^|y| alone may be too large.
__device__ inline double cosh_times(double y, double c) {
  return fabs(y) < 700 ? cosh(y) * c : exp_times(fabs(y), 0.5 * c);
}
__device__ inline double sinh_times(double y, double c) {
  return fabs(y) < 700 ? sinh(y) * c : exp_times(fabs(y), copysign(0.5, y) * c);
}

__device__ inline c128 sin_of(c128 z) {
  double sine, cosine;
  sincos(z.re, &sine, &cosine);
  return {cosh_times(z.im, sine), sinh_times(z.im, cosine)};
}
__device__ inline c128 cos_of(c128 z) {
  double sine, cosine;
  sincos(z.re, &sine, &cosine);
  return {cosh_times(z.im, cosine), -sinh_times(z.im, sine)};
}

/// tanh(x + iy) = (sinh x cosh x + i sin y cos y) / (sinh(x)^2 + cos(y)^2), where nothing cancels; for large |x| that
/// is 1 + i 4 sin y cos y e^-2|x|.
__device__ inline c128 tanh_of(c128 z) {
  double sine, cosine;
  sincos(z.im, &sine, &cosine);
  if (fabs(z.re) > 20) return {copysign(1.0, z.re), 4 * sine * cosine * exp(-2 * fabs(z.re))};
  double s = sinh(z.re), c = cosh(z.re), below = fma(s, s, cosine * cosine);
  return {s * c / below, sine * cosine / below};
}

/// 1 / (1 + exp(-z)), with an exponential that never exceeds 1
__device__ inline c128 sigmoid_of(c128 z) {
  bool is_left = z.re < 0;
  c128 e = exp_of(is_left ? z : c128{-z.re, -z.im});
  return quotient(is_left ? e : c128{1, 0}, c128{1 + e.re, e.im});
}

/// exp(y log x), with 0^0 = 1 and 0^y = 0 where the real part of y is positive
__device__ inline c128 pow_of(c128 x, c128 y) {
  if (is_zero(y)) return {1, 0};
  if (is_zero(x) && y.re > 0) return {0, 0};
  return exp_of(y * log_of(x));
}

/// x^n for an integer n by squaring: exact where exp(n log x) would not be.
__device__ inline c128 power_integer(c128 x, int n) {
  c128 result = {1, 0};
  if (n < 0) x = quotient(result, x);
  for (unsigned left = static_cast<unsigned>(n < 0 ? -n : n); left; left >>= 1) {
    if (left & 1) result = result * x;
    x = x * x;
  }
  return result;
}

/// x^p for a frozen p: no logarithm where it is a small integer
__device__ inline c128 power_of(c128 x, double p) {
  return fabs(p) <= 64 && p == rint(p) ? power_integer(x, static_cast<int>(p)) : pow_of(x, c128{p, 0});
}

// -- the same for all dtypes -----------------------------------------------------------------------------------------

// A function of reals, by CUDA's names, and of complex numbers, taken in doubles.
#define LAC_COMPLEX_FUNCTION(name)                                  \
  __device__ inline float name##_of(float x) { return name##f(x); } \
  __device__ inline double name##_of(double x) { return name(x); }  \
  __device__ inline Complex<float> name##_of(Complex<float> x) {    \
    return cast<Complex<float>>(name##_of(c128{x.re, x.im}));       \
  }
LAC_COMPLEX_FUNCTION(exp)
LAC_COMPLEX_FUNCTION(log)
LAC_COMPLEX_FUNCTION(sqrt)
LAC_COMPLEX_FUNCTION(sin)
LAC_COMPLEX_FUNCTION(cos)
LAC_COMPLEX_FUNCTION(tanh)
#undef LAC_COMPLEX_FUNCTION

__device__ inline float expm1_of(float x) { return expm1f(x); }
__device__ inline double expm1_of(double x) { return expm1(x); }
__device__ inline float log1p_of(float x) { return log1pf(x); }
__device__ inline double log1p_of(double x) { return log1p(x); }

template <class R>
__device__ R sigmoid_of(R x) {
  R e = exp_of(-size_of(x));
  return (x < 0 ? e : R(1)) / (1 + e);
}
__device__ inline Complex<float> sigmoid_of(Complex<float> x) {
  return cast<Complex<float>>(sigmoid_of(c128{x.re, x.im}));
}

/// max(x, 0) + log(1 + exp(-|x|)), in f64: expf would lose a digit of small results. NaN stays.
template <class R>
__device__ R softplus_of(R x) {
  const double wide = x;
  return static_cast<R>((wide < 0 ? 0 : wide) + log1p(exp(-fabs(wide))));
}

__device__ inline float pow_of(float x, float y) { return powf(x, y); }
__device__ inline double pow_of(double x, double y) { return pow(x, y); }
__device__ inline Complex<float> pow_of(Complex<float> x, Complex<float> y) {
  return cast<Complex<float>>(pow_of(c128{x.re, x.im}, c128{y.re, y.im}));
}
__device__ inline float power_of(float x, double p) { return powf(x, static_cast<float>(p)); }
__device__ inline double power_of(double x, double p) { return pow(x, p); }
__device__ inline Complex<float> power_of(Complex<float> x, double p) {
  return cast<Complex<float>>(power_of(c128{x.re, x.im}, p));
}

}  // namespace lac_cuda

#endif
