// SPDX-License-Identifier: Apache-2.0
/// @file sddmm.cu
/// Dense times dense at the slots of a pattern:
///
///     s_z = sum over c of u[row z, c] conj(v[column z, c])
///
/// One column: a thread to a slot. Several: a group of threads shares a slot and folds by a fixed tree.

#include "backends/cuda/grid.cuh"

using namespace lac_cuda;

namespace {

/// The slots of a pattern as kernels take them.
template <class C>
struct Slots {
  int64_t count;
  const C *__restrict__ rows_of;
  const C *__restrict__ columns;
};

/// A block takes SLOTS times as many slots as it has threads, so that several loads of a thread are on their way.
constexpr int SLOTS = 4;

template <class T, class C, bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    sddmm_one(Slots<C> slots, const __grid_constant__ cuda_batch batch, const T *__restrict__ u,
              const T *__restrict__ v, T *__restrict__ s) {
  int64_t step = static_cast<int64_t>(gridDim.x) * BLOCK * SLOTS;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * BLOCK * SLOTS; first < slots.count; first += step) {
      int64_t last = first + BLOCK * SLOTS < slots.count ? first + BLOCK * SLOTS : slots.count;
#pragma unroll SLOTS
      for (int64_t z = first + threadIdx.x; z < last; z += BLOCK) {
        C row = slots.rows_of[z], column = slots.columns[z];
        T sum = zero<T>();
        for_summands<SUMS>(batch.summed, base,
                           [&](Offsets at) { sum = sum + u[at.x + row] * conj_of(v[at.y + column]); });
        s[b * slots.count + z] = sum;
      }
    }
  }
}

template <class T, class C, int G, int V, bool SUMS>
__global__ void __launch_bounds__(BLOCK) sddmm(Slots<C> slots, const __grid_constant__ cuda_batch batch, int64_t k,
                                               const T *__restrict__ u, const T *__restrict__ v, T *__restrict__ s) {
  Groups<G> groups;
  for (int64_t b = blockIdx.y; b < batch.kept.count; b += gridDim.y) {
    Offsets base = locate(batch.kept, b);
    for (int64_t z = groups.first; groups.warp(z) < slots.count; z += groups.step) {
      T sum = zero<T>();
      if (z < slots.count) {
        int64_t row = slots.rows_of[z] * k, column = slots.columns[z] * k;
        for_summands<SUMS>(batch.summed, base, [&](Offsets at) {
          for (int64_t c = groups.lane * V; c < k; c += G * V) {
            Pack<T, V> pu = load<V>(u + at.x + row + c), pv = load<V>(v + at.y + column + c);
#pragma unroll
            for (int i = 0; i < V; ++i) sum = sum + pu.at[i] * conj_of(pv.at[i]);
          }
        });
      }
      sum = group_sum<G>(sum);
      if (z < slots.count && groups.lane == 0) s[b * slots.count + z] = sum;
    }
  }
}

template <bool SUMS, int V, class T, class C>
cudaError_t start_sddmm(cudaStream_t stream, const Slots<C> &slots, const cuda_batch *batch, int64_t k, const T *u,
                        const T *v, T *s) {
  int group = k <= 2 * V ? 1 : k <= 16 * V ? 8 : 32;
  auto kernel = group == 1 ? sddmm<T, C, 1, V, SUMS> : group == 8 ? sddmm<T, C, 8, V, SUMS> : sddmm<T, C, 32, V, SUMS>;
  dim3 grid(blocks(ceil_div(slots.count, BLOCK / group), MAX_X), blocks(batch->kept.count, MAX_YZ));
  return launch(kernel, grid, stream, slots, *batch, k, u, v, s);
}

template <bool SUMS, class T, class C>
cudaError_t start(cudaStream_t stream, const Slots<C> &slots, const cuda_batch *batch, int64_t k, const T *u,
                  const T *v, T *s) {
  if (k == 1) {
    dim3 grid(blocks(ceil_div(slots.count, SLOTS * BLOCK), MAX_X), blocks(batch->kept.count, MAX_YZ));
    return launch(sddmm_one<T, C, SUMS>, grid, stream, slots, *batch, u, v, s);
  }
  constexpr int V = wide_pack<T>();
  if (k % V == 0 && is_aligned(u) && is_aligned(v)) return start_sddmm<SUMS, V>(stream, slots, batch, k, u, v, s);
  return start_sddmm<SUMS, 1>(stream, slots, batch, k, u, v, s);
}

}  // namespace

cudaError_t cuda_launch_sddmm(cudaStream_t stream, lac_dtype dtype, int64_t slots, cuda_index rows_of,
                              cuda_index columns, const cuda_batch *batch, int64_t k, const void *u, const void *v,
                              void *s) {
  if (slots == 0 || batch->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    return with_index(columns.type, [&](auto index) {
      using T = decltype(number);
      using C = decltype(index);
      Slots<C> typed = {slots, integers<C>(rows_of), integers<C>(columns)};
      return with_sums(batch, [&](auto sums) {
        return start<sums.value>(stream, typed, batch, k, static_cast<const T *>(u), static_cast<const T *>(v),
                                 static_cast<T *>(s));
      });
    });
  });
}
