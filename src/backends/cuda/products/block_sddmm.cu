// SPDX-License-Identifier: Apache-2.0
/// @file block_sddmm.cu
/// Dense times dense at the blocks of a pattern:
///
///     s_z[r, c] = sum over j of u[row z br + r, j] conj(v[column z bc + c, j])
///
/// A thread to a number where columns are few, else a group of lanes, which folds by a fixed tree. The numbers of a
/// block share rows of u and v, which are in the cache of its threads.

#include "backends/cuda/grid.cuh"
#include "backends/cuda/products/products.h"

using namespace lac_cuda;

namespace {

struct BlockSlots {
  int64_t count;  // numbers: slots times those of a block
  cuda_index rows_of, columns;
  cuda_block block;
  cuda_batch batch;
  int64_t k;
};

/// Where the rows of u and v begin that number n is the product of.
__device__ Offsets rows_at(const BlockSlots &slots, int64_t n) {
  uint64_t bc = static_cast<uint64_t>(slots.block.bc), size = static_cast<uint64_t>(slots.block.br) * bc;
  uint64_t slot = static_cast<uint64_t>(n) / size, at = static_cast<uint64_t>(n) - slot * size, r = at / bc;
  int64_t row = get(slots.rows_of, static_cast<int64_t>(slot)) * slots.block.br + static_cast<int64_t>(r);
  int64_t column = get(slots.columns, static_cast<int64_t>(slot)) * slots.block.bc + static_cast<int64_t>(at - r * bc);
  return {row * slots.k, column * slots.k};
}

template <class T, int G, int V>
__global__ void __launch_bounds__(BLOCK) block_sddmm(const __grid_constant__ BlockSlots slots, const T *__restrict__ u,
                                                     const T *__restrict__ v, T *__restrict__ s) {
  Groups<G> groups;
  for (int64_t b = blockIdx.y; b < slots.batch.kept.count; b += gridDim.y) {
    Offsets base = locate(slots.batch.kept, b);
    for (int64_t n = groups.first; groups.warp(n) < slots.count; n += groups.step) {
      T sum = zero<T>();
      if (n < slots.count) {
        Offsets rows = rows_at(slots, n);
        for_summands<true>(slots.batch.summed, base, [&](Offsets at) {
          const T *left = u + at.x + rows.x, *right = v + at.y + rows.y;
          for (int64_t j = groups.lane * V; j < slots.k; j += G * V) {
            Pack<T, V> of_u = load<V>(left + j), of_v = load<V>(right + j);
#pragma unroll
            for (int i = 0; i < V; ++i) sum = sum + of_u.at[i] * conj_of(of_v.at[i]);
          }
        });
      }
      sum = group_sum<G>(sum);
      if (n < slots.count && groups.lane == 0) s[b * slots.count + n] = sum;
    }
  }
}

template <int V, class T>
cudaError_t start(cudaStream_t stream, const BlockSlots &slots, const T *u, const T *v, T *s) {
  int group = slots.k <= 4 * V ? 1 : 8;
  dim3 grid(blocks(ceil_div(slots.count, BLOCK / group), MAX_X), blocks(slots.batch.kept.count, MAX_YZ));
  return launch(group == 1 ? block_sddmm<T, 1, V> : block_sddmm<T, 8, V>, grid, stream, slots, u, v, s);
}

}  // namespace

cudaError_t cuda_launch_block_sddmm(cudaStream_t stream, lac_dtype dtype, int64_t slots, cuda_index rows_of,
                                    cuda_index columns, cuda_block block, const cuda_batch *batch, int64_t k,
                                    const void *u, const void *v, void *s) {
  BlockSlots job = {slots * block.br * block.bc, rows_of, columns, block, *batch, k};
  if (job.count == 0 || batch->kept.count == 0) return cudaSuccess;
  return with_dtype(dtype, [&](auto number) {
    using T = decltype(number);
    constexpr int V = wide_pack<T>();
    const T *left = static_cast<const T *>(u), *right = static_cast<const T *>(v);
    T *to = static_cast<T *>(s);
    if (k % V == 0 && is_aligned(u) && is_aligned(v)) return start<V>(stream, job, left, right, to);
    return start<1>(stream, job, left, right, to);
  });
}
