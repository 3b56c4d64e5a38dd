// SPDX-License-Identifier: Apache-2.0
/// @file map.cu
/// Arrays number by number:
///
///     y_i = map(x_i, z_i)         fill, copy, scale, conj, axpy, add, sub, mul
///
/// Where both operands run along with y, or stay on one number, 16 bytes are moved at a time.

#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

template <class T>
struct Map {
  cuda_map kind;
  T alpha;

  __device__ T operator()(T x, T z) const {
    switch (kind) {
      case CUDA_FILL:
        return alpha;
      case CUDA_COPY:
        return x;
      case CUDA_SCALE:
        return alpha * x;
      case CUDA_CONJ:
        return conj_of(x);
      case CUDA_AXPY:
        return alpha * x + z;
      case CUDA_ADD:
        return x + z;
      case CUDA_SUB:
        return x - z;
      default:
        return x * z;
    }
  }
};

/// An operand that runs along with the output, stays on one number, or is not read.
template <class T>
struct Operand {
  const T *data;
  int64_t stride;  // 1 or 0

  template <int V>
  __device__ Pack<T, V> take(int64_t i) const {
    Pack<T, V> pack;
    if (data && stride) return load<V>(data + i);
    T one = data ? data[0] : zero<T>();
#pragma unroll
    for (int v = 0; v < V; ++v) pack.at[v] = one;
    return pack;
  }
};

template <int V, class T>
__device__ void map_pack(const Map<T> &map, const Operand<T> &x, const Operand<T> &z, T *y, int64_t i) {
  Pack<T, V> px = x.template take<V>(i), pz = z.template take<V>(i);
#pragma unroll
  for (int v = 0; v < V; ++v) px.at[v] = map(px.at[v], pz.at[v]);
  store<V>(y + i, px);
}

template <int V, class T>
__global__ void __launch_bounds__(BLOCK) map_along(int64_t count, Map<T> map, Operand<T> x, Operand<T> z, T *y) {
  int64_t thread = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x,
          step = static_cast<int64_t>(gridDim.x) * BLOCK;
  int64_t packs = count / V;
  for (int64_t p = thread; p < packs; p += step) map_pack<V>(map, x, z, y, p * V);
  for (int64_t i = packs * V + thread; i < count; i += step) map_pack<1>(map, x, z, y, i);
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    map_strided(const __grid_constant__ cuda_axes axes, Map<T> map, const T *x, const T *z, T *y) {
  int64_t thread = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x,
          step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = thread; i < axes.count; i += step) {
    Offsets at = locate(axes, i);
    y[i] = map(x[at.x], z ? z[at.y] : zero<T>());
  }
}

template <class T>
cudaError_t start_map(cudaStream_t stream, const Map<T> &map, const cuda_axes *axes, const T *x, const T *z, T *y) {
  if (axes->ndim > 1)
    return launch(map_strided<T>, blocks(ceil_div(axes->count, BLOCK), MAX_X), stream, *axes, map, x, z, y);
  Operand<T> ox = {x, axes->ndim ? axes->stride[0][0] : 0}, oz = {z, axes->ndim ? axes->stride[1][0] : 0};
  bool wide = is_aligned(y) && (!ox.stride || is_aligned(x)) && (!oz.stride || is_aligned(z));
  constexpr int V = wide_pack<T>();
  int64_t packs = wide ? axes->count / V + V : axes->count;
  return launch(wide ? map_along<V, T> : map_along<1, T>, blocks(ceil_div(packs, BLOCK), MAX_X), stream, axes->count,
                map, ox, oz, y);
}

}  // namespace

cudaError_t cuda_launch_map(cudaStream_t stream, lac_dtype dtype, cuda_map map, const double alpha[2],
                            const cuda_axes *axes, const void *x, const void *z, void *y) {
  if (axes->count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    Map<T> typed = {map, alpha ? Number<T>::make(alpha[0], alpha[1]) : zero<T>()};
    return start_map(stream, typed, axes, static_cast<const T *>(x), static_cast<const T *>(z), static_cast<T *>(y));
  });
}
