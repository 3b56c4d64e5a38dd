// SPDX-License-Identifier: Apache-2.0
/// @file cpu.h
/// What the files of the CPU backend share: its kernels, how work is cut among threads, how large outputs are stored.
///
/// Threads only ever cut a range of outputs, and each output is computed in one order by one thread. So the bits of a
/// result do not depend on how many threads there are.

#ifndef LACUNA_BACKENDS_CPU_BASE_CPU_H
#define LACUNA_BACKENDS_CPU_BASE_CPU_H

#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/kernels.h"

// Outputs from this size on leave no room for anything else in a last-level cache: they are stored past it, which also
// saves reading them first.
enum { CPU_STREAMED_BYTES = 16 << 20 };

/// Bytes that take as long to move as a product takes to compute: by these, copies are weighed like other work.
enum { CPU_BYTES_A_PRODUCT = 32 };

static inline int cpu_threads(const lac_context *ctx, int64_t work) {
  return lac_threads_worth(ctx->threads, ctx->threads, (double)work);
}

/// A part of a job: outputs, rows or items [begin, end).
typedef void (*cpu_part)(const void *job, int64_t begin, int64_t end);

/// Cut [0, count) evenly, at multiples of `grain`.
void cpu_split(int threads, int64_t count, int64_t grain, cpu_part part, const void *job);

/// Cut rows so that each thread has as many entries and rows as the others.
void cpu_split_rows(int threads, const lac_buffer *offsets, int64_t rows, cpu_part part, const void *job);

/// The numbers in the last `core` dimensions: in one item of a batch.
int64_t cpu_core_count(const lac_meta *meta, int core);

/// Whether every item of the joint batch of two inputs and an output, operand 2, has an output of its own.
bool cpu_batch_is_apart(const lac_batch *batch);

/// Whether the i-th of the joint batch is the first that goes to its item of an operand: what comes later is added.
bool cpu_batch_is_first(const lac_batch *batch, int operand, int64_t i);

static inline const void *cpu_data(const lac_array *x) { return x->storage->data; }
static inline void *cpu_edit(lac_array *x) { return x->storage->data; }

/// Whether an output shall be stored past the caches.
static inline bool cpu_streams(const lac_array *x) { return (int64_t)lac_array_bytes(x) >= CPU_STREAMED_BYTES; }

/// Store 64 bytes at an address that is a multiple of 64, past the caches.
static inline void cpu_stream(void *to, const void *from) {
#if defined(__AVX512F__)
  _mm512_stream_si512(to, _mm512_loadu_si512(from));
#elif defined(__AVX__)
  for (int i = 0; i < 2; ++i) _mm256_stream_si256((__m256i *)to + i, _mm256_loadu_si256((const __m256i *)from + i));
#elif defined(__SSE2__)
  for (int i = 0; i < 4; ++i) _mm_stream_si128((__m128i *)to + i, _mm_loadu_si128((const __m128i *)from + i));
#else
  memcpy(to, from, 64);
#endif
}

/// The same at an address that is a multiple of 16: what NumPy's large arrays have. Lines leave whole when their other
/// part follows.
static inline void cpu_stream_parts(void *to, const void *from) {
#if defined(__SSE2__)
  for (int i = 0; i < 4; ++i) _mm_stream_si128((__m128i *)to + i, _mm_loadu_si128((const __m128i *)from + i));
#else
  memcpy(to, from, 64);
#endif
}

/// Store one number of 4, 8 or 16 bytes past the caches. Neighbours that follow each other leave as whole lines.
static inline void cpu_stream_number(void *to, const void *from, size_t bytes) {
#if defined(__x86_64__)
  long long words[2];
  int word;
  if (bytes == sizeof word) {
    memcpy(&word, from, sizeof word);
    _mm_stream_si32(to, word);
    return;
  }
  memcpy(words, from, bytes);
  for (size_t i = 0; i < bytes / sizeof *words; ++i) _mm_stream_si64((long long *)to + i, words[i]);
#else
  memcpy(to, from, bytes);
#endif
}

/// Copy any number of bytes, whole lines of 64 past the caches.
void cpu_stream_copy(void *to, const void *from, size_t bytes);

/// Make streamed stores visible to other threads.
static inline void cpu_stream_end(void) {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// The kernels, as in kernels/kernels.def: the CPU has all of them.
#define LAC_KERNEL(slot, need, parameters) lac_kernel_##slot cpu_##slot;
#include "kernels/kernels.def"
#undef LAC_KERNEL

lac_status cpu_copy(lac_context *ctx, const lac_array *from, lac_array *to);
lac_status cpu_fill(lac_context *ctx, lac_array *x, double real, double imag);

#endif
