// SPDX-License-Identifier: Apache-2.0
/// @file access.cuh
/// How kernels reach memory and the numbers of other lanes.

#ifndef LACUNA_BACKENDS_CUDA_ACCESS_CUH
#define LACUNA_BACKENDS_CUDA_ACCESS_CUH

#include "backends/cuda/grid.cuh"

namespace lac_cuda {

constexpr int WARPS = BLOCK / 32;            // of a block
constexpr unsigned ALL_LANES = 0xffffffffu;  // of a warp

/// The number of a lane in groups of `width` lanes.
template <class R>
__device__ R shift_from(R x, int lane, int width) {
  return __shfl_sync(ALL_LANES, x, lane, width);
}
template <class R>
__device__ Complex<R> shift_from(Complex<R> x, int lane, int width) {
  return {shift_from(x.re, lane, width), shift_from(x.im, lane, width)};
}

/// What no thread reads again takes no room in the nearest cache, which gathered numbers need. Not for memory that the
/// kernel writes.
template <class T>
__device__ T load_once(const T *from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "integers, numbers and packs");
  union Bits {
    T value;
    unsigned word;
    unsigned long long words[2];
    __device__ Bits() {}
  } bits;
  if constexpr (sizeof(T) == 4) {
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(bits.word) : "l"(from));
  } else if constexpr (sizeof(T) == 8) {
    asm("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(bits.words[0]) : "l"(from));
  } else {
    asm("ld.global.nc.L1::no_allocate.v2.u64 {%0, %1}, [%2];" : "=l"(bits.words[0]), "=l"(bits.words[1]) : "l"(from));
  }
  return bits.value;
}

/// What this kernel does not read again is the first to leave the caches.
template <class T>
__device__ void store_once(T *to, const T &value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "numbers and packs");
  if constexpr (sizeof(T) == 4) {
    __stcs(reinterpret_cast<unsigned *>(to), *reinterpret_cast<const unsigned *>(&value));
  } else if constexpr (sizeof(T) == 8) {
    __stcs(reinterpret_cast<unsigned long long *>(to), *reinterpret_cast<const unsigned long long *>(&value));
  } else {
    __stcs(reinterpret_cast<ulonglong2 *>(to), *reinterpret_cast<const ulonglong2 *>(&value));
  }
}

/// Numbers in shared memory leave gaps, so that threads which step through parts of one length meet different banks.
template <class T>
__host__ __device__ constexpr int with_gaps(int i) {
  return i + static_cast<int>(static_cast<unsigned>(i) / (128 / sizeof(T)));
}

}  // namespace lac_cuda

#endif
