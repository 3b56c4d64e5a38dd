// SPDX-License-Identifier: Apache-2.0
/// @file map.cu
/// Arrays number by number, without more arithmetic than a product:
///
///     y_i = map(x_i, z_i)         fill, copy, scale, conj, axpy; where

#include "backends/cuda/arrays/functions.cuh"
#include "backends/cuda/arrays/spans.cuh"

using namespace lac_cuda;

namespace {

template <class T>
struct Fill {
  T alpha;
  __device__ T operator()() const { return alpha; }
};
template <class T>
struct Copy {
  __device__ T operator()(T x) const { return x; }
};
template <class T>
struct Scale {
  T alpha;
  __device__ T operator()(T x) const { return alpha * x; }
};
template <class T>
struct Conj {
  __device__ T operator()(T x) const { return conj_of(x); }
};
template <class T>
struct Axpy {
  T alpha;
  __device__ T operator()(T x, T z) const { return alpha * x + z; }
};
template <class T>
struct Where {
  __device__ T operator()(T c, T x, T y) const { return is_zero(c) ? y : x; }
};

}  // namespace

cudaError_t cuda_launch_map(cudaStream_t stream, lac_dtype dtype, cuda_map map, const double alpha[2],
                            const lac_loop *loop, const void *x, const void *z, void *y) {
  const void *const operands[] = {x, z, nullptr};
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    T factor = alpha ? Number<T>::make(alpha[0], alpha[1]) : zero<T>(), *out = static_cast<T *>(y);
    switch (map) {
      case CUDA_FILL:
        return start_spans<0>(stream, *loop, Fill<T>{factor}, operands, out);
      case CUDA_COPY:
        return start_spans<1>(stream, *loop, Copy<T>{}, operands, out);
      case CUDA_SCALE:
        return start_spans<1>(stream, *loop, Scale<T>{factor}, operands, out);
      case CUDA_CONJ:
        return start_spans<1>(stream, *loop, Conj<T>{}, operands, out);
      default:
        return start_spans<2>(stream, *loop, Axpy<T>{factor}, operands, out);
    }
  });
}

cudaError_t cuda_launch_where(cudaStream_t stream, lac_dtype dtype, const lac_loop *loop, const void *c, const void *x,
                              const void *y, void *z) {
  const void *const operands[] = {c, x, y};
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return start_spans<3>(stream, *loop, Where<T>{}, operands, static_cast<T *>(z));
  });
}
