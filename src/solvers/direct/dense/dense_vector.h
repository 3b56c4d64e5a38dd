// SPDX-License-Identifier: Apache-2.0
/// @file dense_vector.h
/// Vectors of the machine for the small dense kernels: vec_<T> of LANES_<T> numbers, loaded and stored in part.
///
/// The lanes of a part are first .. end - 1. Others are read as zero and are not written: a column of a front may end
/// anywhere, and what lies behind it belongs to others. Complex numbers are vectors of one. vec_sum adds the lanes,
/// halves onto halves.

#ifndef LACUNA_SOLVERS_DIRECT_DENSE_DENSE_VECTOR_H
#define LACUNA_SOLVERS_DIRECT_DENSE_DENSE_VECTOR_H

#include "core/numbers/numbers.h"
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define DENSE_BYTES 64
#elif defined(__AVX2__)
#define DENSE_BYTES 32
#else
#define DENSE_BYTES 16
#endif

typedef f32 vec_f32 __attribute__((vector_size(DENSE_BYTES), aligned(4), may_alias));
typedef f64 vec_f64 __attribute__((vector_size(DENSE_BYTES), aligned(8), may_alias));
typedef c64 vec_c64;
typedef c128 vec_c128;
enum { LANES_f32 = DENSE_BYTES / 4, LANES_f64 = DENSE_BYTES / 8, LANES_c64 = 1, LANES_c128 = 1 };

/// Keep a vector in a register: compilers would rather load it again for each product, and loads are what is scarce.
#if defined(__AVX__)
INLINE void vec_hold_f32(vec_f32 *v) { __asm__("" : "+v"(*v)); }
INLINE void vec_hold_f64(vec_f64 *v) { __asm__("" : "+v"(*v)); }
#else
INLINE void vec_hold_f32(vec_f32 *v) { (void)v; }
INLINE void vec_hold_f64(vec_f64 *v) { (void)v; }
#endif
INLINE void vec_hold_c64(vec_c64 *v) { (void)v; }
INLINE void vec_hold_c128(vec_c128 *v) { (void)v; }

#if defined(__AVX512F__)
#define DENSE_MASK(type) ((type)(((1u << end) - 1) & ~((1u << first) - 1)))
INLINE vec_f32 part_load_f32(const f32 *p, int first, int end) {
  return (vec_f32)_mm512_maskz_loadu_ps(DENSE_MASK(__mmask16), p);
}
INLINE vec_f64 part_load_f64(const f64 *p, int first, int end) {
  return (vec_f64)_mm512_maskz_loadu_pd(DENSE_MASK(__mmask8), p);
}
INLINE void part_store_f32(f32 *p, int first, int end, vec_f32 v) {
  _mm512_mask_storeu_ps(p, DENSE_MASK(__mmask16), (__m512)v);
}
INLINE void part_store_f64(f64 *p, int first, int end, vec_f64 v) {
  _mm512_mask_storeu_pd(p, DENSE_MASK(__mmask8), (__m512d)v);
}
#elif defined(__AVX2__)
INLINE __m256i part_mask_f32(int first, int end) {
  __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(first), lane),
                             _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
}
INLINE __m256i part_mask_f64(int first, int end) {
  __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3);
  return _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_set1_epi64x(first), lane),
                             _mm256_cmpgt_epi64(_mm256_set1_epi64x(end), lane));
}
INLINE vec_f32 part_load_f32(const f32 *p, int first, int end) {
  return (vec_f32)_mm256_maskload_ps(p, part_mask_f32(first, end));
}
INLINE vec_f64 part_load_f64(const f64 *p, int first, int end) {
  return (vec_f64)_mm256_maskload_pd(p, part_mask_f64(first, end));
}
INLINE void part_store_f32(f32 *p, int first, int end, vec_f32 v) {
  _mm256_maskstore_ps(p, part_mask_f32(first, end), (__m256)v);
}
INLINE void part_store_f64(f64 *p, int first, int end, vec_f64 v) {
  _mm256_maskstore_pd(p, part_mask_f64(first, end), (__m256d)v);
}
#else
#define DENSE_PART(T)                                               \
  INLINE vec_##T part_load_##T(const T *p, int first, int end) {    \
    vec_##T v = {0};                                                \
    for (int i = 0; i < LANES_##T; i++) {                           \
      if (first <= i && i < end) v[i] = p[i];                       \
    }                                                               \
    return v;                                                       \
  }                                                                 \
  INLINE void part_store_##T(T *p, int first, int end, vec_##T v) { \
    for (int i = 0; i < LANES_##T; i++) {                           \
      if (first <= i && i < end) p[i] = v[i];                       \
    }                                                               \
  }
DENSE_PART(f32)
DENSE_PART(f64)
#endif

#define DENSE_WHOLE(T)                                          \
  INLINE vec_##T vec_conj_##T(vec_##T v) { return v; }          \
  INLINE T vec_sum_##T(vec_##T v) {                             \
    T sums[LANES_##T];                                          \
    memcpy(sums, &v, sizeof sums);                              \
    for (int half = LANES_##T / 2; half > 0; half /= 2) {       \
      for (int i = 0; i < half; i++) sums[i] += sums[i + half]; \
    }                                                           \
    return sums[0];                                             \
  }
DENSE_WHOLE(f32)
DENSE_WHOLE(f64)

INLINE c64 vec_conj_c64(c64 x) { return conj_c64(x); }
INLINE c128 vec_conj_c128(c128 x) { return conj_c128(x); }
INLINE c64 vec_sum_c64(c64 x) { return x; }
INLINE c128 vec_sum_c128(c128 x) { return x; }

INLINE c64 part_load_c64(const c64 *p, int first, int end) { return first < end ? *p : 0; }
INLINE c128 part_load_c128(const c128 *p, int first, int end) { return first < end ? *p : 0; }
INLINE void part_store_c64(c64 *p, int first, int end, c64 v) {
  if (first < end) *p = v;
}
INLINE void part_store_c128(c128 *p, int first, int end, c128 v) {
  if (first < end) *p = v;
}

#endif
