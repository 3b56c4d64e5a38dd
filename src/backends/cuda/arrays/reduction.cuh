// SPDX-License-Identifier: Apache-2.0
/// @file reduction.cuh
/// What all reductions over axes share: how the work is cut, the way of a group of threads through the terms of an
/// output, sums over a group.
///
/// The terms of an output are cut into segments, each taken by a group of threads; a second pass joins the segments. A
/// thread takes its terms in order, a few neighbours at a time where terms lie side by side. The cut depends on the
/// shape alone, so the bits never change.

#ifndef LACUNA_BACKENDS_CUDA_ARRAYS_REDUCTION_CUH
#define LACUNA_BACKENDS_CUDA_ARRAYS_REDUCTION_CUH

#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/grid.cuh"

namespace lac_cuda {

// -- the cut ---------------------------------------------------------------------------------------------------------

/// Threads to a segment, segments to an output, terms to a segment.
struct Cut {
  int group;  // 1, 8, 32 or BLOCK
  int64_t segments, length;
};

inline Cut cut_of(const cuda_batch &axes) {
  int64_t outputs = axes.kept.count > 0 ? axes.kept.count : 1, terms = axes.summed.count;
  const cuda_axes &summed = axes.summed;
  bool along = summed.ndim > 0 && summed.stride[0][summed.ndim - 1] == 1;  // the terms of an output lie side by side
  int group = BLOCK;
  if ((!along && outputs >= 32) || terms <= 4) {
    group = 1;
  } else if (terms <= 1024) {
    group = terms <= 64 ? 8 : 32;
  }
  int64_t segments = ceil_div(terms, static_cast<int64_t>(group) * 32);  // where each has terms enough
  int64_t wanted = ceil_div(2048 * BLOCK, outputs * group);              // that fill a large device
  if (segments > wanted) segments = wanted;
  if (segments > 4096) segments = 4096;
  if (segments < 1) segments = 1;
  int64_t length = terms > 0 ? ceil_div(ceil_div(terms, segments), 4) * 4 : 4;  // whole packs
  return {group, terms > 0 ? ceil_div(terms, length) : 1, length};
}

/// The second pass: [segments, outputs], to be reduced over the first axis.
inline cuda_batch second_pass(int64_t segments, int64_t outputs) {
  cuda_batch axes = {};
  axes.kept.count = axes.kept.shape[0] = outputs;
  axes.summed.count = axes.summed.shape[0] = segments;
  axes.kept.ndim = axes.summed.ndim = 1;
  axes.kept.stride[0][0] = 1;
  axes.summed.stride[0][0] = outputs;
  return axes;
}
inline Cut second_cut(int64_t segments, int64_t outputs) {
  return {outputs >= 2048 ? 1 : segments <= 128 ? 32 : BLOCK, 1, segments};
}

/// f(std::integral_constant) for the size of a group.
template <class F>
cudaError_t with_group(int group, F f) {
  switch (group) {
    case 1:
      return f(std::integral_constant<int, 1>{});
    case 8:
      return f(std::integral_constant<int, 8>{});
    case 32:
      return f(std::integral_constant<int, 32>{});
    default:
      return f(std::integral_constant<int, BLOCK>{});
  }
}

inline dim3 grid_of(const cuda_batch &axes, const Cut &cut) {
  return dim3(blocks(ceil_div(axes.kept.count * cut.segments, BLOCK / cut.group), MAX_X));
}

/// Whether whole packs of an operand can be loaded at once from where its terms begin.
template <class T>
bool has_packs(const cuda_batch &axes, int operand, const T *data) {
  bool is = is_aligned(data) && axes.summed.ndim <= 1;
  for (int d = 0; d < axes.kept.ndim; ++d) is = is && axes.kept.stride[operand][d] % wide_pack<T>() == 0;
  return is;
}

// -- terms -----------------------------------------------------------------------------------------------------------

/// Up to V neighbours; zeros behind the end.
template <int V, class T>
__device__ Pack<T, V> take_terms(const T *from, int64_t left, bool is_wide) {
  Pack<T, V> pack;
  if (is_wide && left >= V) return load<V>(from);
#pragma unroll
  for (int v = 0; v < V; ++v) pack.at[v] = v < left ? from[v] : zero<T>();
  return pack;
}

/// f(x) for the terms [begin, end) of an output that fall to a lane, in order. Whether packs are loaded at once changes
/// no bit.
template <int G, class T, class F>
__device__ void for_terms(const cuda_axes &summed, int64_t base, int lane, int64_t begin, int64_t end, const T *x,
                          bool is_wide, F f) {
  constexpr int V = wide_pack<T>();
  int64_t stride = summed.ndim ? summed.stride[0][0] : 1;
  x += base;
  if (summed.ndim <= 1 && stride == 1) {
#pragma unroll 2
    for (int64_t r = begin + lane * V; r < end; r += G * V) {
      Pack<T, V> pack = take_terms<V>(x + r, end - r, is_wide);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (v < end - r) f(pack.at[v]);
      }
    }
  } else if (summed.ndim <= 1) {
#pragma unroll 4
    for (int64_t r = begin + lane; r < end; r += G) f(x[r * stride]);
  } else {
    for (int64_t r = begin + lane; r < end; r += G) f(x[locate(summed, r).x]);
  }
}

/// Item i is output i % outputs, segment i / outputs: neighbours in a column sum read neighbouring numbers. `f(base,
/// lane, begin, end)` takes the terms of a lane and `finish(item)` what its group made of them; all lanes of a warp
/// call finish together, for items behind the end too.
template <int G, class F, class E>
__device__ void for_items(const cuda_batch &axes, int64_t segments, int64_t length, F f, E finish) {
  Groups<G> groups;
  int64_t outputs = axes.kept.count, items = outputs * segments;
  for (int64_t item = groups.first; groups.warp(item) < items; item += groups.step) {
    if (item < items) {
      int64_t segment = item / outputs, begin = segment * length, end = begin + length;
      if (end > axes.summed.count) end = axes.summed.count;
      f(locate(axes.kept, item - segment * outputs), groups.lane, begin, end);
    }
    finish(item, item < items && groups.lane == 0);
  }
}

// -- groups ----------------------------------------------------------------------------------------------------------

/// The sum over the block's warps of what each warp's lane 0 has; thread 0 has it.
template <class W>
__device__ W block_sum(W sum) {
  __shared__ W parts[BLOCK / 32];
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  W part = threadIdx.x < BLOCK / 32 ? parts[threadIdx.x] : zero<W>();
  __syncthreads();
  return group_sum<BLOCK / 32>(part);
}

/// The sum over a group; its first thread has it.
template <int G, class W>
__device__ W fold(W sum) {
  sum = group_sum<(G < 32 ? G : 32)>(sum);
  if constexpr (G == BLOCK) return block_sum(sum);
  return sum;
}

}  // namespace lac_cuda

#endif
