// SPDX-License-Identifier: Apache-2.0
/// @file spans.cuh
/// Loops over arrays number by number, with operands that are spread along some dimensions (kernels/loop.h).
///
/// A thread takes a span: as many neighbours along the innermost dimension as fill 16 bytes. Where an operand runs
/// along and is aligned, its part of the span is one load. The last span of a row may be shorter.

#ifndef LACUNA_BACKENDS_CUDA_ARRAYS_SPANS_CUH
#define LACUNA_BACKENDS_CUDA_ARRAYS_SPANS_CUH

#include "backends/cuda/arrays/launch_arrays.h"
#include "backends/cuda/grid.cuh"

namespace lac_cuda {

/// A loop as kernels walk it.
struct Walk {
  int ndim;       // of rows
  int64_t count;  // of all spans
  int64_t spans;  // in a row
  int64_t inner;  // numbers in a row
  int64_t shape[LAC_MAX_DIMS], stride[LAC_LOOP_OPERANDS][LAC_MAX_DIMS];
  int step[LAC_LOOP_OPERANDS];      // from number to number in a row: 0 or 1
  bool is_wide[LAC_LOOP_OPERANDS];  // an operand's part of a whole span is one load
  bool is_wide_out;
};

/// Whether all rows of an operand begin at multiples of V numbers from `data`, which is aligned.
inline bool rows_are_aligned(const lac_loop &loop, int operand, const void *data, int V) {
  bool is = is_aligned(data) && loop.stride[operand][loop.ndim - 1] == 1;
  for (int d = 0; d + 1 < loop.ndim; ++d) is = is && loop.stride[operand][d] % V == 0;
  return is;
}

/// The walk over `loop` in spans of V numbers; operands that are not there are NULL.
inline Walk walk_of(const lac_loop &loop, int V, const void *const operands[LAC_LOOP_OPERANDS], const void *out) {
  Walk walk = {};
  int last = loop.ndim - 1;
  walk.ndim = last;
  walk.inner = loop.shape[last];
  walk.spans = walk.count = ceil_div(walk.inner, V);
  walk.is_wide_out = is_aligned(out) && (last == 0 || walk.inner % V == 0);
  for (int d = 0; d < last; ++d) walk.count *= walk.shape[d] = loop.shape[d];
  for (int o = 0; o < LAC_LOOP_OPERANDS; ++o) {
    for (int d = 0; d < last; ++d) walk.stride[o][d] = loop.stride[o][d];
    walk.step[o] = static_cast<int>(loop.stride[o][last]);
    walk.is_wide[o] = rows_are_aligned(loop, o, operands[o], V);
  }
  return walk;
}

/// Where a span stands: its length, its first number in the output and in N operands.
template <int N>
struct Span {
  int64_t out, in[N > 0 ? N : 1];
  int length;
};

template <int V, int N>
__device__ Span<N> span_at(const Walk &walk, int64_t index) {
  Span<N> span = {};
  uint64_t row = walk.ndim ? static_cast<uint64_t>(index) / static_cast<uint64_t>(walk.spans) : 0;
  int64_t first = (index - static_cast<int64_t>(row) * walk.spans) * V, left = walk.inner - first;
  span.out = static_cast<int64_t>(row) * walk.inner + first;
  span.length = left < V ? static_cast<int>(left) : V;
#pragma unroll
  for (int o = 0; o < N; ++o) span.in[o] = first * walk.step[o];
#pragma unroll 1
  for (int d = walk.ndim - 1; d >= 0; --d) {
    uint64_t size = static_cast<uint64_t>(walk.shape[d]), quotient = d ? row / size : 0;
    int64_t rest = static_cast<int64_t>(row - quotient * size);
#pragma unroll
    for (int o = 0; o < N; ++o) span.in[o] += rest * walk.stride[o][d];
    row = quotient;
  }
  return span;
}

/// The numbers of an operand in a span; zeros of one that is not there.
template <int V, class T>
__device__ Pack<T, V> take(const T *data, int64_t at, int step, bool is_wide, int length) {
  Pack<T, V> pack;
  if (is_wide && data && length == V) return load<V>(data + at);
#pragma unroll
  for (int v = 0; v < V; ++v) pack.at[v] = data && v < length ? data[at + v * step] : zero<T>();
  return pack;
}

template <int V, class T>
__device__ void put(T *data, int64_t at, bool is_wide, int length, const Pack<T, V> &pack) {
  if (is_wide && length == V) {
    store<V>(data + at, pack);
    return;
  }
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (v < length) data[at + v] = pack.at[v];
  }
}

/// out_i = f(operand 0 at i, .. operand N - 1 at i), which may be the memory of an operand that runs along.
template <int V, int N, class F, class T>
__global__ void __launch_bounds__(BLOCK)
    spans(const __grid_constant__ Walk walk, F f, const T *x, const T *y, const T *z, T *out) {
  const T *data[] = {x, y, z};
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x; i < walk.count; i += step) {
    Span<N> span = span_at<V, N>(walk, i);
    Pack<T, V> in[N > 0 ? N : 1], result;
#pragma unroll
    for (int o = 0; o < N; ++o) in[o] = take<V>(data[o], span.in[o], walk.step[o], walk.is_wide[o], span.length);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if constexpr (N == 0) result.at[v] = f();
      if constexpr (N == 1) result.at[v] = f(in[0].at[v]);
      if constexpr (N == 2) result.at[v] = f(in[0].at[v], in[1].at[v]);
      if constexpr (N == 3) result.at[v] = f(in[0].at[v], in[1].at[v], in[2].at[v]);
    }
    put(out, span.out, walk.is_wide_out, span.length, result);
  }
}

template <int N, class F, class T>
cudaError_t start_spans(cudaStream_t stream, const lac_loop &loop, F f, const void *const operands[LAC_LOOP_OPERANDS],
                        T *out) {
  constexpr int V = wide_pack<T>();
  Walk walk = walk_of(loop, V, operands, out);
  if (walk.count == 0) return cudaSuccess;
  return launch(spans<V, N, F, T>, blocks(ceil_div(walk.count, BLOCK), MAX_X), stream, walk, f,
                static_cast<const T *>(operands[0]), static_cast<const T *>(operands[1]),
                static_cast<const T *>(operands[2]), out);
}

}  // namespace lac_cuda

#endif
