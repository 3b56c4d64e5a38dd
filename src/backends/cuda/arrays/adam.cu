// SPDX-License-Identifier: Apache-2.0
/// @file adam.cu
/// One step of Adam, real number by real number; the parts of complex numbers are numbers of their own.

#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

__device__ float fused(float x, float y, float s) { return fmaf(x, y, s); }
__device__ double fused(double x, double y, double s) { return fma(x, y, s); }

/// The numbers of a step in the precision of the arrays.
template <class R>
struct Numbers {
  R beta1, rest1, beta2, rest2, step, root, epsilon, decay, shrink;
};

template <class R>
Numbers<R> numbers_of(const lac_adam &a) {
  return {static_cast<R>(a.beta1),     static_cast<R>(1 - a.beta1), static_cast<R>(a.beta2),
          static_cast<R>(1 - a.beta2), static_cast<R>(a.step),      static_cast<R>(a.root),
          static_cast<R>(a.epsilon),   static_cast<R>(a.decay),     static_cast<R>(a.shrink)};
}

template <class R>
__global__ void __launch_bounds__(BLOCK)
    adam(const __grid_constant__ Numbers<R> a, int64_t count, const R *g, R *m, R *v, R *x) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < count; i += step) {
    R old = x[i], gradient = fused(a.decay, old, g ? g[i] : R(0));
    R mean = fused(a.beta1, m[i], a.rest1 * gradient), square = fused(a.beta2, v[i], a.rest2 * gradient * gradient);
    m[i] = mean;
    v[i] = square;
    x[i] = fused(a.shrink, old, -(a.step * mean / fused(sqrt(square), a.root, a.epsilon)));
  }
}

template <class R>
cudaError_t start_adam(cudaStream_t stream, const lac_adam &a, int64_t count, const void *g, void *m, void *v,
                       void *x) {
  if (count == 0) return cudaSuccess;
  return launch(adam<R>, blocks(ceil_div(count, BLOCK), MAX_X), stream, numbers_of<R>(a), count,
                static_cast<const R *>(g), static_cast<R *>(m), static_cast<R *>(v), static_cast<R *>(x));
}

}  // namespace

cudaError_t cuda_launch_adam(cudaStream_t stream, int is_single, const lac_adam *a, int64_t count, const void *g,
                             void *m, void *v, void *x) {
  return is_single ? start_adam<float>(stream, *a, count, g, m, v, x)
                   : start_adam<double>(stream, *a, count, g, m, v, x);
}
