// SPDX-License-Identifier: Apache-2.0
/// @file reduce.cu
/// Sums over axes and inner products:
///
///     out_j = sum over r of x[j, r]    or    conj(x[j, r]) y[j, r]        in f64
///
/// The sums of the threads of a group are folded by a tree, those of segments by a second pass.

#include "backends/cuda/arrays/reduction.cuh"

using namespace lac_cuda;

namespace {

template <int G, class To, class T>
__global__ void __launch_bounds__(BLOCK)
    sums(const __grid_constant__ cuda_batch axes, int64_t segments, int64_t length, const T *x, bool is_wide, To *out) {
  using W = typename Number<T>::Wide;
  W sum = zero<W>();
  for_items<G>(
      axes, segments, length,
      [&](Offsets base, int lane, int64_t begin, int64_t end) {
        for_terms<G>(axes.summed, base.x, lane, begin, end, x, is_wide, [&](T term) { sum = sum + cast<W>(term); });
      },
      [&](int64_t item, bool writes) {
        sum = fold<G>(sum);
        if (writes) out[item] = cast<To>(sum);
        sum = zero<W>();
      });
}

/// Terms of two operands. One axis along which both run needs no division, and is read in packs.
template <int G, class W, class T>
__device__ W products(const cuda_axes &summed, Offsets base, int lane, int64_t begin, int64_t end, const T *x,
                      const T *y, bool is_wide) {
  constexpr int V = wide_pack<T>();
  W sum = zero<W>();
  if (summed.ndim <= 1 && (summed.ndim == 0 || (summed.stride[0][0] == 1 && summed.stride[1][0] == 1))) {
#pragma unroll 2
    for (int64_t r = begin + lane * V; r < end; r += G * V) {
      Pack<T, V> px = take_terms<V>(x + base.x + r, end - r, is_wide),
                 py = take_terms<V>(y + base.y + r, end - r, is_wide);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (v < end - r) sum = sum + conj_of(cast<W>(px.at[v])) * cast<W>(py.at[v]);
      }
    }
    return sum;
  }
  for (int64_t r = begin + lane; r < end; r += G) {
    Offsets at = locate(summed, r);
    sum = sum + conj_of(cast<W>(x[base.x + at.x])) * cast<W>(y[base.y + at.y]);
  }
  return sum;
}

template <int G, class To, class T>
__global__ void __launch_bounds__(BLOCK) dots(const __grid_constant__ cuda_batch axes, int64_t segments, int64_t length,
                                              const T *x, const T *y, bool is_wide, To *out) {
  using W = typename Number<T>::Wide;
  W sum = zero<W>();
  for_items<G>(
      axes, segments, length,
      [&](Offsets base, int lane, int64_t begin, int64_t end) {
        sum = products<G, W>(axes.summed, base, lane, begin, end, x, y, is_wide);
      },
      [&](int64_t item, bool writes) {
        sum = fold<G>(sum);
        if (writes) out[item] = cast<To>(sum);
        sum = zero<W>();
      });
}

template <class To, class T>
cudaError_t start_pass(cudaStream_t stream, const cuda_batch &axes, const Cut &cut, const T *x, const T *y, To *out) {
  bool is_wide = has_packs(axes, 0, x) && (!y || has_packs(axes, 1, y));
  return with_group(cut.group, [&](auto group) {
    constexpr int G = decltype(group)::value;
    dim3 grid = grid_of(axes, cut);
    if (!y) return launch(sums<G, To, T>, grid, stream, axes, cut.segments, cut.length, x, is_wide, out);
    return launch(dots<G, To, T>, grid, stream, axes, cut.segments, cut.length, x, y, is_wide, out);
  });
}

template <class T>
cudaError_t start_passes(cudaStream_t stream, const cuda_batch &axes, const T *x, const T *y, void *scratch, T *out) {
  using W = typename Number<T>::Wide;
  Cut cut = cut_of(axes);
  if (cut.segments == 1) return start_pass(stream, axes, cut, x, y, out);

  W *parts = static_cast<W *>(scratch);
  cudaError_t error = start_pass(stream, axes, cut, x, y, parts);
  if (error != cudaSuccess) return error;
  return with_group(second_cut(cut.segments, axes.kept.count).group, [&](auto group) {
    constexpr int G = decltype(group)::value;
    cuda_batch rest = second_pass(cut.segments, axes.kept.count);
    Cut whole = second_cut(cut.segments, axes.kept.count);
    return launch(sums<G, T, W>, grid_of(rest, whole), stream, rest, whole.segments, whole.length,
                  static_cast<const W *>(parts), false, out);
  });
}

}  // namespace

size_t cuda_reduce_scratch(lac_dtype dtype, const cuda_batch *axes) {
  Cut cut = cut_of(*axes);
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
