// SPDX-License-Identifier: Apache-2.0
/// @file hash.cu
/// The hash of an array's bits (kernels/hash.h): a warp takes a block of words, 16 bytes a lane, and integers are
/// summed atomically, which no order changes.

#define LAC_DEVICE __host__ __device__

#include <cstring>

#include "backends/cuda/grid.cuh"
#include "kernels/hash.h"

using namespace lac_cuda;

namespace {

constexpr int WARPS = BLOCK / 32;
constexpr int PAIRS = LAC_HASH_WORDS / 2;  // of words, in a block

/// An integer of 128 bits.
struct Wide {
  uint64_t low, high;
};

__device__ Wide add(Wide x, Wide y) {
  uint64_t low = x.low + y.low;
  return {low, x.high + y.high + (low < x.low)};
}

__device__ Wide product(uint64_t x, uint64_t y) { return {x * y, __umul64hi(x, y)}; }

__device__ Wide warp_sum(Wide x) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2)
    x = add(x, {__shfl_xor_sync(0xffffffffu, x.low, d), __shfl_xor_sync(0xffffffffu, x.high, d)});
  return x;
}

/// Two words, of which `bytes` are there.
__device__ ulonglong2 part_of_pair(const char *from, int64_t bytes) {
  uint32_t words[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4 && 4 * i < bytes; ++i) words[i] = reinterpret_cast<const uint32_t *>(from)[i];
  return {words[0] | static_cast<uint64_t>(words[1]) << 32, words[2] | static_cast<uint64_t>(words[3]) << 32};
}

template <bool ALIGNED>
__device__ ulonglong2 pair_at(const char *from, int64_t bytes) {
  if (ALIGNED && bytes >= 16) return *reinterpret_cast<const ulonglong2 *>(from);
  return part_of_pair(from, bytes);
}

template <bool ALIGNED>
__global__ void __launch_bounds__(BLOCK) hash_blocks(const char *data, int64_t bytes, unsigned long long *leaves) {
  __shared__ __align__(16) uint64_t keys[LAC_HASH_WORDS];
  const ulonglong2 *key = reinterpret_cast<const ulonglong2 *>(keys);
  __shared__ unsigned long long sums[2];
  int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  int64_t count = (bytes + LAC_HASH_BYTES - 1) / LAC_HASH_BYTES, step = static_cast<int64_t>(gridDim.x) * WARPS;
  uint64_t own = 0;

  for (int i = static_cast<int>(threadIdx.x); i < LAC_HASH_WORDS; i += BLOCK) keys[i] = lac_hash_key(i);
  if (threadIdx.x < 2) sums[threadIdx.x] = 0;
  __syncthreads();
  for (int64_t block = static_cast<int64_t>(blockIdx.x) * WARPS + warp; block < count; block += step) {
    Wide a = {0, 0};
    int64_t base = block * LAC_HASH_BYTES;
#pragma unroll
    for (int p = lane; p < PAIRS; p += 32) {
      int64_t at = base + 16 * p;
      if (at >= bytes) continue;
      ulonglong2 w = pair_at<ALIGNED>(data + at, bytes - at);
      a = add(a, product(w.x + key[p].x, w.y + key[p].y));
    }
    a = warp_sum(a);
    const uint64_t sum[2] = {a.low, a.high};
    own += lac_hash_leaf(lane & 1, block, sum);
  }
  if (lane < 2) atomicAdd(&sums[lane], static_cast<unsigned long long>(own));
  __syncthreads();
  if (threadIdx.x < 2) atomicAdd(&leaves[threadIdx.x], sums[threadIdx.x]);
}

}  // namespace

cudaError_t cuda_launch_hash(cudaStream_t stream, const void *data, size_t bytes, uint64_t *leaves) {
  cudaError_t error = cudaMemsetAsync(leaves, 0, 2 * sizeof *leaves, stream);
  if (error != cudaSuccess || bytes == 0) return error;
  int64_t count = ceil_div(static_cast<int64_t>(bytes), LAC_HASH_BYTES);
  return launch(is_aligned(data) ? hash_blocks<true> : hash_blocks<false>, blocks(ceil_div(count, WARPS), 2048), stream,
                static_cast<const char *>(data), static_cast<int64_t>(bytes),
                reinterpret_cast<unsigned long long *>(leaves));
}
