// SPDX-License-Identifier: Apache-2.0
/// @file binary.cu
/// Arithmetic and comparisons of two arrays, number by number.

#include "backends/cuda/arrays/functions.cuh"
#include "backends/cuda/arrays/spans.cuh"

using namespace lac_cuda;

namespace {

template <class T>
__device__ T one_if(bool is) {
  return Number<T>::make(is ? 1 : 0, 0);
}

template <lac_binary OP, class T>
struct Binary {
  __device__ T operator()(T x, T y) const {
    if constexpr (OP == LAC_ADD) return x + y;
    if constexpr (OP == LAC_SUB) return x - y;
    if constexpr (OP == LAC_MUL) return x * y;
    if constexpr (OP == LAC_DIV) return quotient(x, y);
    if constexpr (OP == LAC_DIV_OR_ZERO) return is_zero(y) ? zero<T>() : quotient(x, y);
    if constexpr (OP == LAC_POW) return pow_of(x, y);
    if constexpr (OP == LAC_COMPARE_EQ) return one_if<T>(equals(x, y));
    if constexpr (OP == LAC_COMPARE_NE) return one_if<T>(!equals(x, y));
    if constexpr (OP == LAC_COMPARE_LT) return one_if<T>(re_of(x) < re_of(y));
    if constexpr (OP == LAC_COMPARE_LE) return one_if<T>(re_of(x) <= re_of(y));
    if constexpr (OP == LAC_COMPARE_GT) return one_if<T>(re_of(x) > re_of(y));
    if constexpr (OP == LAC_COMPARE_GE) return one_if<T>(re_of(x) >= re_of(y));
  }
};

}  // namespace

#define BINARY_CASE(OP) \
  case OP:              \
    return start_spans<2>(stream, *loop, Binary<OP, T>{}, operands, out)

cudaError_t cuda_launch_binary(cudaStream_t stream, lac_dtype dtype, lac_binary op, const lac_loop *loop, const void *x,
                               const void *y, void *z) {
  const void *const operands[] = {x, y, nullptr};
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    T *out = static_cast<T *>(z);
    switch (op) {
      BINARY_CASE(LAC_ADD);
      BINARY_CASE(LAC_SUB);
      BINARY_CASE(LAC_MUL);
      BINARY_CASE(LAC_DIV);
      BINARY_CASE(LAC_DIV_OR_ZERO);
      BINARY_CASE(LAC_POW);
      BINARY_CASE(LAC_COMPARE_EQ);
      BINARY_CASE(LAC_COMPARE_NE);
      BINARY_CASE(LAC_COMPARE_LT);
      BINARY_CASE(LAC_COMPARE_LE);
      BINARY_CASE(LAC_COMPARE_GT);
      BINARY_CASE(LAC_COMPARE_GE);
    }
    return cudaErrorInvalidValue;
  });
}
