// SPDX-License-Identifier: Apache-2.0
/// @file cpu.h
/// What the files of the CPU backend share: its kernels, how work is cut among threads, how large outputs are stored.
///
/// Threads only ever cut a range of outputs, and each output is computed in one order by one thread. So the bits of a result
/// do not depend on how many threads there are.

#ifndef LACUNA_BACKENDS_CPU_CPU_H
#define LACUNA_BACKENDS_CPU_CPU_H

#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/kernels.h"

// Outputs from this size on leave no room for anything else in a last-level cache: they are stored past it, which also saves
// reading them first.
enum { CPU_STREAMED_BYTES = 16 << 20 };

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

/// The same at an address that is a multiple of 16: what NumPy's large arrays have. Lines leave whole when their other part follows.
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

// The kernels, as in kernels/kernels.h.
lac_status cpu_copy(lac_context *ctx, const lac_array *from, lac_array *to);
lac_status cpu_fill(lac_context *ctx, lac_array *x, double real, double imag);
lac_status cpu_binary(lac_context *ctx, lac_binary op, const lac_array *x, const lac_array *y, lac_array *z);
lac_status cpu_scale(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y);
lac_status cpu_axpy(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y);
lac_status cpu_conj(lac_context *ctx, const lac_array *x, lac_array *y);
lac_status cpu_unary(lac_context *ctx, lac_unary op, const lac_array *x, lac_array *y);
lac_status cpu_power(lac_context *ctx, double exponent, const lac_array *x, lac_array *y);
lac_status cpu_clamp(lac_context *ctx, double low, double high, const lac_array *x, lac_array *y);
lac_status cpu_cast(lac_context *ctx, const lac_array *x, lac_array *y);
lac_status cpu_where(lac_context *ctx, const lac_array *c, const lac_array *x, const lac_array *y, lac_array *z);
lac_status cpu_sum(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y);
lac_status cpu_reduce(lac_context *ctx, lac_reduction op, const lac_array *x, uint32_t mask, lac_array *y);
lac_status cpu_softmax(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y);
lac_status cpu_cumsum(lac_context *ctx, int axis, bool backwards, const lac_array *x, lac_array *y);
lac_status cpu_broadcast(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y);
lac_status cpu_dot(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array *s);
lac_status cpu_matmul(lac_context *ctx, lac_side side_x, const lac_array *x, lac_side side_y, const lac_array *y,
                      lac_array *z);
lac_status cpu_place(lac_context *ctx, int axis, int64_t count, const lac_array *x, lac_along from, lac_array *y,
                     lac_along to);
lac_status cpu_remap(lac_context *ctx, const lac_map *map, lac_side side, int rest, const lac_array *x, lac_array *y);
lac_status cpu_segment_scale(lac_context *ctx, const lac_map *map, const lac_array *d, const lac_array *a,
                             lac_array *y);
lac_status cpu_segment_dot(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v, lac_array *s);
lac_status cpu_segment(lac_context *ctx, lac_segment what, const lac_map *map, int64_t full, const lac_array *x,
                       lac_array *y);
lac_status cpu_gather_mm(lac_context *ctx, const lac_map *map, lac_side side, const lac_array *a, const lac_array *b,
                         lac_array *y);
lac_status cpu_gather_outer(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v, lac_array *w);
lac_status cpu_spmm(lac_context *ctx, const lac_pattern *p, lac_side side, const lac_array *a, const lac_array *x,
                    lac_array *y);
lac_status cpu_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v, lac_array *s);
lac_status cpu_block_spmm(lac_context *ctx, const lac_pattern *p, lac_side side, const lac_array *a, const lac_array *x,
                          lac_array *y);
lac_status cpu_block_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v,
                           lac_array *s);
lac_status cpu_sell_mm(lac_context *ctx, const lac_format *f, const lac_array *a, const lac_array *x, lac_array *y);
lac_status cpu_sampled_spgemm(lac_context *ctx, const lac_pattern *target, const lac_pattern *px, lac_side sx,
                              const lac_pattern *py, lac_side sy, const lac_array *x, const lac_array *y, lac_array *t);
lac_status cpu_trisolve(lac_context *ctx, const lac_pattern *p, lac_triangle triangle, lac_diagonal diagonal,
                        lac_side side, const lac_array *a, const lac_array *b, lac_array *x);
lac_status cpu_lu_values(lac_context *ctx, const lac_pattern *p, bool positive, const lac_array *c, lac_array *lu,
                         lac_pivot_fault *fault);
lac_status cpu_lu_values_adjoint(lac_context *ctx, const lac_pattern *p, const lac_array *lu, const lac_array *lu_bar,
                                 lac_array *c_bar);
lac_status cpu_banded_mm(lac_context *ctx, const lac_banded *band, lac_side side, const lac_array *ab,
                         const lac_array *x, lac_array *y);
lac_status cpu_banded_outer(lac_context *ctx, const lac_banded *band, const lac_array *u, const lac_array *v,
                            lac_array *s);
lac_status cpu_banded_gemm(lac_context *ctx, const lac_banded *band, const lac_banded *bx, lac_side sx,
                           const lac_banded *by, lac_side sy, const lac_array *x, const lac_array *y, lac_array *t);
lac_status cpu_banded_solve(lac_context *ctx, const lac_banded *band, lac_side side, const lac_array *ab,
                            const lac_array *b, lac_array *x);
lac_status cpu_circulant_mm(lac_context *ctx, lac_side side, const lac_array *c, const lac_array *x, lac_array *y);
lac_status cpu_circulant_outer(lac_context *ctx, const lac_array *u, const lac_array *v, lac_array *s);
lac_status cpu_circulant_solve(lac_context *ctx, lac_side side, const lac_array *c, const lac_array *b, lac_array *x);
lac_status cpu_columns(lac_context *ctx, int count, const lac_column_op *ops, lac_array *state);
lac_status cpu_column_step(lac_context *ctx, lac_column_step step, const lac_step_numbers *numbers, lac_array *state);
lac_status cpu_adam(lac_context *ctx, const lac_adam *a, const lac_array *g, lac_array *m, lac_array *v, lac_array *x);

#endif
