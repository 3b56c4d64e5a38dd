// SPDX-License-Identifier: Apache-2.0
/// @file grid.cuh
/// What launchers and kernels share: from words to types, the size of grids, the way through broadcast axes.

#ifndef LACUNA_BACKENDS_CUDA_GRID_CUH
#define LACUNA_BACKENDS_CUDA_GRID_CUH

#include <type_traits>

#include "backends/cuda/launch.h"
#include "backends/cuda/number.cuh"

namespace lac_cuda {

constexpr int BLOCK = 256;             // threads
constexpr int64_t MAX_X = 0x7fffffff;  // blocks along x; kernels loop over what a grid cannot hold
constexpr int64_t MAX_YZ = 65535;      // and along y and z

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline unsigned blocks(int64_t wanted, int64_t most) {
  return static_cast<unsigned>(wanted < 1 ? 1 : wanted > most ? most : wanted);
}

/// Start a kernel, and say if it could not be started.
template <class... P, class... A>
cudaError_t launch(void (*kernel)(P...), dim3 grid, cudaStream_t stream, A... arguments) {
  kernel<<<grid, BLOCK, 0, stream>>>(arguments...);
  return cudaGetLastError();
}

/// f(T{}) for the type T that a dtype means.
template <class F>
cudaError_t with_dtype(lac_dtype dtype, F f) {
  switch (dtype) {
    case LAC_F32:
      return f(float{});
    case LAC_F64:
      return f(double{});
    case LAC_C64:
      return f(Complex<float>{});
    default:
      return f(Complex<double>{});
  }
}

/// f(I{}) for an index type.
template <class F>
cudaError_t with_index(lac_index_type type, F f) {
  return type == LAC_I32 ? f(int32_t{}) : f(int64_t{});
}

/// f(O{}, C{}) for offsets and columns: 32/32, 64/32 or 64/64.
template <class F>
cudaError_t with_width(const cuda_rows *rows, F f) {
  if (rows->offsets.type == LAC_I32) return f(int32_t{}, int32_t{});
  return with_index(rows->columns.type, [&](auto column) { return f(int64_t{}, column); });
}

template <class I>
const I *integers(cuda_index index) {
  return static_cast<const I *>(index.data);
}

inline bool is_aligned(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

/// Integers whose width is only known at run time, for kernels that walk several patterns at once.
__device__ inline int64_t get(const cuda_index &index, int64_t i) {
  return index.type == LAC_I32 ? static_cast<const int32_t *>(index.data)[i]
                               : static_cast<const int64_t *>(index.data)[i];
}

struct Offsets {
  int64_t x, y;
};

/// Where the i-th index of `axes` lies in both operands. Not unrolled: this is rare, and its registers are wanted
/// elsewhere. Unsigned divisions are short where their operands are.
__device__ inline Offsets locate(const cuda_axes &axes, int64_t index) {
  Offsets at = {0, 0};
  uint64_t i = static_cast<uint64_t>(index);
#pragma unroll 1
  for (int d = axes.ndim - 1; d > 0; --d) {
    uint64_t size = static_cast<uint64_t>(axes.shape[d]), quotient = i / size;
    int64_t rest = static_cast<int64_t>(i - quotient * size);
    at.x += rest * axes.stride[0][d];
    at.y += rest * axes.stride[1][d];
    i = quotient;
  }
  if (axes.ndim > 0) {
    at.x += static_cast<int64_t>(i) * axes.stride[0][0];
    at.y += static_cast<int64_t>(i) * axes.stride[1][0];
  }
  return at;
}

/// f(offsets) for each summand of an output whose item begins at `base`, in order; without SUMS there is one.
template <bool SUMS, class F>
__device__ void for_summands(const cuda_axes &summed, Offsets base, F f) {
  if constexpr (SUMS) {
    for (int64_t s = 0; s < summed.count; ++s) {
      Offsets at = locate(summed, s);
      f(Offsets{base.x + at.x, base.y + at.y});
    }
  } else {
    f(base);
  }
}

/// f(std::bool_constant) by whether outputs sum over a batch: what is rare must not cost registers elsewhere.
template <class F>
cudaError_t with_sums(const cuda_batch *batch, F f) {
  return batch->summed.count == 1 ? f(std::false_type{}) : f(std::true_type{});
}

/// Groups of G threads, 32 / G of them in a warp. A warp steps through items together, so that all its lanes take part
/// in each shuffle: `item` may lie behind the end.
template <int G>
struct Groups {
  int lane;
  int64_t first, step;

  __device__ Groups() {
    lane = static_cast<int>(threadIdx.x) % G;
    first = static_cast<int64_t>(blockIdx.x) * (BLOCK / G) + static_cast<int>(threadIdx.x) / G;
    step = static_cast<int64_t>(gridDim.x) * (BLOCK / G);
  }
  /// The item of the warp's first group: it decides whether the warp goes on.
  __device__ int64_t warp(int64_t item) const { return item - (static_cast<int>(threadIdx.x) % 32) / G; }
};

}  // namespace lac_cuda

#endif
