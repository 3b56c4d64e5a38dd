// SPDX-License-Identifier: Apache-2.0
/// @file unary.cu
/// Functions of one array, number by number: y = op(x), x^p, x within bounds, x in another dtype.

#include "backends/cuda/arrays/functions.cuh"
#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

/// As many numbers as fill 16 bytes of the larger of both dtypes.
template <class To, class T>
__host__ __device__ constexpr int both_pack() {
  return wide_pack<T>() < wide_pack<To>() ? wide_pack<T>() : wide_pack<To>();
}

/// y_i = f(x_i), where y may be x. `is_wide`: both may be moved in packs.
template <class To, class T, class F>
__global__ void __launch_bounds__(BLOCK) apply(int64_t count, F f, const T *x, To *y, bool is_wide) {
  constexpr int V = both_pack<To, T>();
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK, packs = (count + V - 1) / V;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; p < packs; p += step) {
    bool is_whole = is_wide && (p + 1) * V <= count;
    Pack<T, V> in;
    Pack<To, V> out;
    if (is_whole) in = load<V>(x + p * V);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (!is_whole) in.at[v] = p * V + v < count ? x[p * V + v] : zero<T>();
      out.at[v] = f(in.at[v]);
      if (!is_whole && p * V + v < count) y[p * V + v] = out.at[v];
    }
    if (is_whole) store<V>(y + p * V, out);
  }
}

template <class To, class T, class F>
cudaError_t start_apply(cudaStream_t stream, int64_t count, F f, const void *x, void *y) {
  constexpr int V = both_pack<To, T>();
  if (count == 0) return cudaSuccess;
  return launch(apply<To, T, F>, blocks(ceil_div(ceil_div(count, V), BLOCK), MAX_X), stream, count, f,
                static_cast<const T *>(x), static_cast<To *>(y), is_aligned(x) && is_aligned(y));
}

// -- functions -------------------------------------------------------------------------------------------------------

/// Functions whose values are real.
template <lac_unary OP, class T>
struct Measure {
  __device__ typename Number<T>::Real operator()(T x) const {
    if constexpr (OP == LAC_ABS) return size_of(x);
    if constexpr (OP == LAC_REAL) return re_of(x);
    if constexpr (OP == LAC_IMAG) return im_of(x);
    if constexpr (OP == LAC_MAGNITUDE) return magnitude(x);
  }
};

template <lac_unary OP, class T>
struct Function {
  __device__ T operator()(T x) const {
    if constexpr (OP == LAC_SIGN) return sign(x);
    if constexpr (OP == LAC_EXP) return exp_of(x);
    if constexpr (OP == LAC_LOG) return log_of(x);
    if constexpr (OP == LAC_SQRT) return sqrt_of(x);
    if constexpr (OP == LAC_SIN) return sin_of(x);
    if constexpr (OP == LAC_COS) return cos_of(x);
    if constexpr (OP == LAC_SIGMOID) return sigmoid_of(x);
    if constexpr (OP == LAC_TANH) return tanh_of(x);
  }
};

/// Functions of reals alone.
template <lac_unary OP, class R>
struct Real {
  __device__ R operator()(R x) const {
    if constexpr (OP == LAC_EXPM1) return expm1_of(x);
    if constexpr (OP == LAC_LOG1P) return log1p_of(x);
    if constexpr (OP == LAC_SOFTPLUS) return softplus_of(x);
    if constexpr (OP == LAC_RELU) return x <= 0 ? 0 : x;  // NaN stays
    if constexpr (OP == LAC_HEAVISIDE) return x > 0;
  }
};

template <class T>
struct Square {
  __device__ T operator()(T x) const { return x * x; }
};
template <class T>
struct Reciprocal {
  __device__ T operator()(T x) const { return quotient(Number<T>::make(1, 0), x); }
};
template <class T>
struct Power {
  double exponent;
  __device__ T operator()(T x) const { return power_of(x, exponent); }
};

/// NaN stays.
template <class R>
struct Clamp {
  R low, high;
  __device__ R operator()(R x) const { return x < low ? low : x > high ? high : x; }
};

template <class To, class T>
struct Cast {
  __device__ To operator()(T x) const {
    return Number<To>::make(static_cast<double>(re_of(x)), static_cast<double>(im_of(x)));
  }
};

/// f(R{}) for the type of a real dtype.
template <class F>
cudaError_t with_real(lac_dtype dtype, F f) {
  return dtype == LAC_F32 ? f(float{}) : dtype == LAC_F64 ? f(double{}) : cudaErrorInvalidValue;
}

template <class T>
cudaError_t start_cast(cudaStream_t stream, lac_dtype to, int64_t count, const void *x, void *y) {
  return with_dtype(to, [&](auto number) {
    using To = decltype(number);
    return start_apply<To, T>(stream, count, Cast<To, T>{}, x, y);
  });
}

}  // namespace

#define UNARY_CASE(OP, kind, To) \
  case OP:                       \
    return start_apply<To, T>(stream, count, kind<OP, T>{}, x, y)

/// Functions of reals alone.
static cudaError_t launch_real(cudaStream_t stream, lac_dtype dtype, lac_unary op, int64_t count, const void *x,
                               void *y) {
  return with_real(dtype, [&](auto number) {
    using T = decltype(number);
    switch (op) {
      UNARY_CASE(LAC_EXPM1, Real, T);
      UNARY_CASE(LAC_LOG1P, Real, T);
      UNARY_CASE(LAC_SOFTPLUS, Real, T);
      UNARY_CASE(LAC_RELU, Real, T);
      UNARY_CASE(LAC_HEAVISIDE, Real, T);
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cuda_launch_unary(cudaStream_t stream, lac_dtype dtype, lac_unary op, int64_t count, const void *x,
                              void *y) {
  if (op > LAC_TANH) return launch_real(stream, dtype, op, count, x, y);
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    using R = typename Number<T>::Real;
    switch (op) {
      UNARY_CASE(LAC_ABS, Measure, R);
      UNARY_CASE(LAC_REAL, Measure, R);
      UNARY_CASE(LAC_IMAG, Measure, R);
      UNARY_CASE(LAC_MAGNITUDE, Measure, R);
      UNARY_CASE(LAC_SIGN, Function, T);
      UNARY_CASE(LAC_EXP, Function, T);
      UNARY_CASE(LAC_LOG, Function, T);
      UNARY_CASE(LAC_SQRT, Function, T);
      UNARY_CASE(LAC_SIN, Function, T);
      UNARY_CASE(LAC_COS, Function, T);
      UNARY_CASE(LAC_SIGMOID, Function, T);
      UNARY_CASE(LAC_TANH, Function, T);
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cuda_launch_power(cudaStream_t stream, lac_dtype dtype, double exponent, int64_t count, const void *x,
                              void *y) {
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    if (exponent == 2) return start_apply<T, T>(stream, count, Square<T>{}, x, y);
    if (exponent == -1) return start_apply<T, T>(stream, count, Reciprocal<T>{}, x, y);
    return start_apply<T, T>(stream, count, Power<T>{exponent}, x, y);
  });
}

cudaError_t cuda_launch_clamp(cudaStream_t stream, lac_dtype dtype, double low, double high, int64_t count,
                              const void *x, void *y) {
  return with_real(dtype, [&](auto number) {
    using R = decltype(number);
    return start_apply<R, R>(stream, count, Clamp<R>{static_cast<R>(low), static_cast<R>(high)}, x, y);
  });
}

cudaError_t cuda_launch_cast(cudaStream_t stream, lac_dtype from, lac_dtype to, int64_t count, const void *x, void *y) {
  return with_dtype(from, [&](auto number) { return start_cast<decltype(number)>(stream, to, count, x, y); });
}
