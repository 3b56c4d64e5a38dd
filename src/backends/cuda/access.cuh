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

/// A number, an integer or a pack as a load brings it.
template <class T>
union Loaded {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "integers, numbers and packs");
  T value;
  unsigned word;
  ulonglong2 words;
  __device__ Loaded() {}
};

/// Memory that the kernel does not write: such a load may overtake any store. The compiler knows this of pointers that
/// are parameters of a kernel, but not of those within an Op.
template <class T>
__device__ T load_constant(const T *from) {
  Loaded<T> loaded;
  if constexpr (sizeof(T) == 4) {
    loaded.word = __ldg(reinterpret_cast<const unsigned *>(from));
  } else if constexpr (sizeof(T) == 8) {
    loaded.words.x = __ldg(reinterpret_cast<const unsigned long long *>(from));
  } else {
    loaded.words = __ldg(reinterpret_cast<const ulonglong2 *>(from));
  }
  return loaded.value;
}

/// The same of what no thread reads again: it takes no room in the nearest cache, which gathered numbers need.
template <class T>
__device__ T load_once(const T *from) {
  Loaded<T> loaded;
  if constexpr (sizeof(T) == 4) {
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(loaded.word) : "l"(from));
  } else if constexpr (sizeof(T) == 8) {
    asm("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(loaded.words.x) : "l"(from));
  } else {
    asm("ld.global.nc.L1::no_allocate.v2.u64 {%0, %1}, [%2];" : "=l"(loaded.words.x), "=l"(loaded.words.y) : "l"(from));
  }
  return loaded.value;
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

/// Numbers in shared memory leave gaps, so that threads which step through parts of one even length meet different
/// banks; those of an odd length do without, and worse with.
template <class T>
__host__ __device__ constexpr int with_gaps(int i) {
  return i + static_cast<int>(static_cast<unsigned>(i) / (128 / sizeof(T)));
}

}  // namespace lac_cuda

#endif
