// SPDX-License-Identifier: Apache-2.0
/// @file reduce.cu
/// Sums over axes and inner products:
///
///     out_j = sum over r of x[j, r]    or    conj(x[j, r]) y[j, r]        in f64
///
/// The range of r is cut into segments, each summed by a group of threads that adds every G-th term in order and then
/// folds by a tree; a second pass sums the segments. The cut depends on the shape alone, so the bits never change.

#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

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

/// The sum over a group of 1, 32 or BLOCK threads; its first has it.
template <int G, class W>
__device__ W fold(W sum) {
  sum = group_sum<(G < 32 ? G : 32)>(sum);
  if constexpr (G == BLOCK) return block_sum(sum);
  return sum;
}

template <class W, class T>
__device__ W term(const T *x, const T *y, Offsets at) {
  W value = cast<W>(x[at.x]);
  return y ? conj_of(value) * cast<W>(y[at.y]) : value;
}

/// The terms [begin, end) of one output, every G-th from the lane's on. One axis needs no division, and its loads
/// overlap.
template <int G, class W, class T>
__device__ W segment_sum(const cuda_axes &summed, Offsets base, int lane, int64_t begin, int64_t end, const T *x,
                         const T *y) {
  W sum = zero<W>();
  if (summed.ndim <= 1) {
    int64_t sx = summed.stride[0][0], sy = summed.stride[1][0];
#pragma unroll 4
    for (int64_t r = begin + lane; r < end; r += G) sum = sum + term<W>(x, y, {base.x + r * sx, base.y + r * sy});
  } else {
    for (int64_t r = begin + lane; r < end; r += G) {
      Offsets at = locate(summed, r);
      sum = sum + term<W>(x, y, {base.x + at.x, base.y + at.y});
    }
  }
  return sum;
}

/// Item i is output i % outputs, segment i / outputs: neighbours in a column sum read neighbouring numbers.
template <int G, class To, class T>
__global__ void __launch_bounds__(BLOCK)
    reduce(const __grid_constant__ cuda_batch axes, int64_t segments, int64_t length, const T *x, const T *y, To *out) {
  using W = typename Number<T>::Wide;
  Groups<G> groups;
  int64_t outputs = axes.kept.count, items = outputs * segments;
  for (int64_t item = groups.first; groups.warp(item) < items; item += groups.step) {
    W sum = zero<W>();
    if (item < items) {
      int64_t segment = item / outputs, begin = segment * length, end = begin + length;
      if (end > axes.summed.count) end = axes.summed.count;
      sum = segment_sum<G, W>(axes.summed, locate(axes.kept, item - segment * outputs), groups.lane, begin, end, x, y);
    }
    sum = fold<G>(sum);
    if (item < items && groups.lane == 0) out[item] = cast<To>(sum);
  }
}

/// How the work is cut: threads to a segment, segments to an output, terms to a segment.
struct Plan {
  int group;
  int64_t segments, length;
};

Plan plan(const cuda_batch &axes) {
  int64_t outputs = axes.kept.count, terms = axes.summed.count;
  const cuda_axes &summed = axes.summed;
  bool along = summed.ndim > 0 && summed.stride[0][summed.ndim - 1] == 1;  // the terms of an output lie side by side
  int group = !along && outputs >= 32 ? 1 : terms <= 4 ? 1 : terms <= 1024 ? 32 : BLOCK;
  int64_t least = static_cast<int64_t>(group) * 32;                              // terms that are worth a segment
  int64_t wanted = ceil_div(2048 * BLOCK, (outputs > 0 ? outputs : 1) * group);  // segments that fill a large device
  int64_t segments = ceil_div(terms, least);
  if (segments > wanted) segments = wanted;
  if (segments > 4096) segments = 4096;
  if (segments < 1) segments = 1;
  int64_t length = terms > 0 ? ceil_div(terms, segments) : 1;
  return {group, terms > 0 ? ceil_div(terms, length) : 1, length};
}

/// The second pass: numbers [segments, outputs] to be summed over the first axis.
cuda_batch second_pass(int64_t segments, int64_t outputs) {
  cuda_batch axes = {};
  axes.kept.count = axes.kept.shape[0] = outputs;
  axes.summed.count = axes.summed.shape[0] = segments;
  axes.kept.ndim = axes.summed.ndim = 1;
  axes.kept.stride[0][0] = 1;
  axes.summed.stride[0][0] = outputs;
  return axes;
}

template <class To, class T>
cudaError_t start_reduce(cudaStream_t stream, const cuda_batch &axes, const Plan &cut, const T *x, const T *y,
                         To *out) {
  auto kernel = cut.group == 1 ? reduce<1, To, T> : cut.group == 32 ? reduce<32, To, T> : reduce<BLOCK, To, T>;
  dim3 grid = blocks(ceil_div(axes.kept.count * cut.segments, BLOCK / cut.group), MAX_X);
  return launch(kernel, grid, stream, axes, cut.segments, cut.length, x, y, out);
}

template <class T>
cudaError_t start_passes(cudaStream_t stream, const cuda_batch &axes, const T *x, const T *y, void *scratch, T *out) {
  using W = typename Number<T>::Wide;
  Plan cut = plan(axes);
  if (cut.segments == 1) return start_reduce(stream, axes, cut, x, y, out);

  W *parts = static_cast<W *>(scratch);
  cudaError_t error = start_reduce(stream, axes, cut, x, y, parts);
  if (error != cudaSuccess) return error;
  Plan rest = {axes.kept.count >= 2048 ? 1 : cut.segments <= 128 ? 32 : BLOCK, 1, cut.segments};
  return start_reduce(stream, second_pass(cut.segments, axes.kept.count), rest, static_cast<const W *>(parts),
                      static_cast<const W *>(nullptr), out);
}

}  // namespace

size_t cuda_reduce_scratch(lac_dtype dtype, const cuda_batch *axes) {
  Plan cut = plan(*axes);
  size_t wide = dtype == LAC_F32 || dtype == LAC_F64 ? sizeof(double) : 2 * sizeof(double);
  return cut.segments == 1 ? 0 : static_cast<size_t>(cut.segments * axes->kept.count) * wide;
}

cudaError_t cuda_launch_reduce(cudaStream_t stream, lac_dtype dtype, const cuda_batch *axes, const void *x,
                               const void *y, void *scratch, void *out) {
  if (axes->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    return start_passes(stream, *axes, static_cast<const T *>(x), static_cast<const T *>(y), scratch,
                        static_cast<T *>(out));
  });
}
