// SPDX-License-Identifier: Apache-2.0
/// @file wait.cuh
/// Numbers that are found by one thread and awaited by others, without barriers: every number begins as a NaN that no
/// arithmetic gives, all bits set, and is there once it is another. A word is stored and loaded at once, so that what
/// says that it is there is the number itself, and nothing needs to be ordered.

#ifndef LACUNA_BACKENDS_CUDA_SOLVES_WAIT_CUH
#define LACUNA_BACKENDS_CUDA_SOLVES_WAIT_CUH

#include "backends/cuda/access.cuh"

namespace lac_cuda {

/// A number as words of 4 or 8 bytes.
template <class T>
struct Words {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static constexpr int COUNT = static_cast<int>(sizeof(T) / sizeof(Word));
  Word at[COUNT];
};

__device__ inline uint32_t word_load(const uint32_t *from) {
  uint32_t word;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
  return word;
}
__device__ inline uint64_t word_load(const uint64_t *from) {
  uint64_t word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  return word;
}
__device__ inline void word_store(uint32_t *to, uint32_t word) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(to), "r"(word) : "memory");
}
__device__ inline void word_store(uint64_t *to, uint64_t word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

/// Look at a number; false: it is not there yet.
template <class T>
__device__ bool look(const T *from, T *out) {
  using Word = typename Words<T>::Word;
  Words<T> words;
  bool is_there = true;
#pragma unroll
  for (int w = 0; w < Words<T>::COUNT; ++w) {
    words.at[w] = word_load(reinterpret_cast<const Word *>(from) + w);
    is_there = is_there && words.at[w] != static_cast<Word>(~static_cast<Word>(0));
  }
  *out = *reinterpret_cast<const T *>(&words);
  return is_there;
}

/// A NaN as arithmetic gives it.
__device__ inline float plain_nan(float x) { return isnan(x) ? __int_as_float(0x7fc00000) : x; }
__device__ inline double plain_nan(double x) { return isnan(x) ? __longlong_as_double(0x7ff8000000000000LL) : x; }
template <class R>
__device__ Complex<R> plain_nan(Complex<R> x) {
  return {plain_nan(x.re), plain_nan(x.im)};
}

/// Give a number to all who wait for it.
template <class T>
__device__ void give(T *to, T x) {
  using Word = typename Words<T>::Word;
  T plain = plain_nan(x);
  const Words<T> words = *reinterpret_cast<const Words<T> *>(&plain);
#pragma unroll
  for (int w = 0; w < Words<T>::COUNT; ++w) word_store(reinterpret_cast<Word *>(to) + w, words.at[w]);
}

/// The next ticket of a warp, counted from 0: all lanes get it.
__device__ inline int64_t next_ticket(uint64_t *last) {
  unsigned long long ticket = 0;
  if (threadIdx.x % 32 == 0) ticket = atomicAdd(reinterpret_cast<unsigned long long *>(last), 1ull) + 1;
  return static_cast<int64_t>(__shfl_sync(ALL_LANES, ticket, 0));
}

__device__ inline void note_least(uint64_t *least, int64_t value) {
  atomicMin(reinterpret_cast<unsigned long long *>(least), static_cast<unsigned long long>(value));
}

/// Multiprocessors of the current device.
inline int64_t processors() {
  int device = 0, count = 1;
  if (cudaGetDevice(&device) == cudaSuccess) {
    (void)cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  }
  return count;
}

}  // namespace lac_cuda

#endif
