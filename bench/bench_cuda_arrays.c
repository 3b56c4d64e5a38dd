// SPDX-License-Identifier: Apache-2.0
/// @file bench_cuda_arrays.c
/// Kernels on arrays on a CUDA device, timed with events.
///
///     bench_cuda_arrays [millions]      of numbers in an array; 100 unless said
///
/// Bytes are the compulsory ones: each array read or written once. The share is of what a device-to-device copy moves
/// in the same run. What the kernels give is checked by tests/backends/test_cuda_arrays.c.

#include <stdio.h>

#ifdef LACUNA_HAVE_CUDA

#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "cuda_must.h"
#include "kernels/kernels.h"

enum { WARM = 2, ROUNDS = 11 };

typedef struct bench {
  lac_context *ctx;
  cudaStream_t stream;
  cudaEvent_t begin, end;
  double bandwidth;  // GB/s of a copy
} bench;

/// ndim < 0: there is no array.
typedef struct shape {
  int ndim;
  int64_t size[2];
} shape;

/// One kernel: its arrays, and the words that it takes.
typedef struct job job;
struct job {
  const char *name;
  lac_status (*run)(const lac_kernels *k, lac_context *ctx, const job *j);
  shape of_x, of_y, of_out;
  int word;  // what it computes
  uint32_t mask;
  lac_array *x, *y, *out;
};

// -- kernels ---------------------------------------------------------------------------------------------------------

static lac_status run_copy(const lac_kernels *k, lac_context *ctx, const job *j) {
  return (void)k, ctx->backend->copy(ctx, j->x, j->out);
}
static lac_status run_binary(const lac_kernels *k, lac_context *ctx, const job *j) {
  return k->binary(ctx, (lac_binary)j->word, j->x, j->y, j->out);
}
static lac_status run_where(const lac_kernels *k, lac_context *ctx, const job *j) {
  return k->where(ctx, j->x, j->y, NULL, j->out);
}
static lac_status run_unary(const lac_kernels *k, lac_context *ctx, const job *j) {
  return k->unary(ctx, (lac_unary)j->word, j->x, j->out);
}
static lac_status run_sum(const lac_kernels *k, lac_context *ctx, const job *j) {
  return k->sum(ctx, j->x, j->mask, j->out);
}
static lac_status run_reduce(const lac_kernels *k, lac_context *ctx, const job *j) {
  return k->reduce(ctx, (lac_reduction)j->word, j->x, j->mask, j->out);
}
static lac_status run_softmax(const lac_kernels *k, lac_context *ctx, const job *j) {
  return k->softmax(ctx, j->x, j->mask, j->out);
}
static lac_status run_cumsum(const lac_kernels *k, lac_context *ctx, const job *j) {
  return k->cumsum(ctx, j->word, false, j->x, j->out);
}
static lac_status run_place(const lac_kernels *k, lac_context *ctx, const job *j) {
  lac_along from = {1, 2}, to = {0, 1};
  return k->place(ctx, j->word, j->of_out.size[j->of_out.ndim - 1 - j->word], j->x, from, j->out, to);
}
static lac_status run_matmul(const lac_kernels *k, lac_context *ctx, const job *j) {
  return k->matmul(ctx, (lac_form)j->word, j->x, LAC_PLAIN, j->y, j->out);
}

// -- rows ------------------------------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static double seconds(bench *b, const job *j) {
  float ms[ROUNDS];
  for (int i = 0; i < WARM; i++) must(b->ctx, j->run(b->ctx->kernels, b->ctx, j));
  for (int i = 0; i < ROUNDS; i++) {
    must_cuda(cudaEventRecord(b->begin, b->stream));
    must(b->ctx, j->run(b->ctx->kernels, b->ctx, j));
    must_cuda(cudaEventRecord(b->end, b->stream));
    must_cuda(cudaEventSynchronize(b->end));
    must_cuda(cudaEventElapsedTime(&ms[i], b->begin, b->end));
  }
  qsort(ms, ROUNDS, sizeof *ms, by_size);
  return ms[ROUNDS / 2] * 1e-3;
}

/// x and y are 0.5: no kernel here is faster for that.
static lac_array *filled(bench *b, lac_dtype dtype, shape s) {
  lac_array *x = NULL;
  if (s.ndim < 0) return NULL;
  must(b->ctx, lac_array_create(b->ctx, dtype, s.ndim, s.size, &x));
  must(b->ctx, lac_array_fill(b->ctx, x, 0.5, 0));
  return x;
}

static void row(bench *b, lac_dtype dtype, job j) {
  double bytes = 0, time;
  j.x = filled(b, dtype, j.of_x);
  j.y = filled(b, dtype, j.of_y);
  j.out = filled(b, dtype, j.of_out);
  const lac_array *all[] = {j.x, j.y, j.out};
  for (int i = 0; i < 3; i++) bytes += all[i] ? (double)lac_array_bytes(all[i]) : 0;
  if (j.run == run_place) bytes = 2 * (double)lac_array_bytes(j.out);
  time = seconds(b, &j);
  if (j.run == run_copy) b->bandwidth = bytes / time * 1e-9;
  printf("%-32s %-4s %9.3f ms %8.0f GB/s %5.0f %%", j.name, lac_dtype_name(dtype), time * 1e3, bytes / time * 1e-9,
         100 * bytes / time * 1e-9 / b->bandwidth);
  if (j.run == run_matmul) {
    int64_t l = j.of_x.size[j.word & LAC_TRANSPOSED ? 0 : 1];
    printf(" %8.1f TFLOP/s", 2e-12 * (double)j.of_out.size[0] * (double)j.of_out.size[1] * (double)l / time);
  }
  printf("\n");
  lac_array_destroy(&j.x), lac_array_destroy(&j.y), lac_array_destroy(&j.out);
}

static void rows_of(bench *b, lac_dtype dtype, int64_t n) {
  int64_t m = n / 512, few = n / 32;
  shape none = {-1, {0}}, one = {0, {1}}, whole = {1, {n}}, lines = {2, {m, 512}}, heads = {1, {m}};
  shape short_lines = {2, {few, 32}}, short_heads = {1, {few}}, line = {1, {512}}, column = {2, {m, 1}};
  shape square = {2, {2048, 2048}}, small = {2, {96, 96}}, tall = {2, {1000000, 64}}, thin = {2, {1000000, 32}};

  row(b, dtype, (job){"copy", run_copy, whole, none, whole, .word = 0});
  row(b, dtype, (job){"add", run_binary, whole, whole, whole, .word = LAC_ADD});
  row(b, dtype, (job){"div", run_binary, whole, whole, whole, .word = LAC_DIV});
  row(b, dtype, (job){"add [512] to each row", run_binary, lines, line, lines, .word = LAC_ADD});
  row(b, dtype, (job){"mul each row by its number", run_binary, lines, column, lines, .word = LAC_MUL});
  row(b, dtype, (job){"where", run_where, whole, whole, whole, .word = 0});
  row(b, dtype, (job){"exp", run_unary, whole, none, whole, .word = LAC_EXP});
  row(b, dtype, (job){"tanh", run_unary, whole, none, whole, .word = LAC_TANH});
  row(b, dtype, (job){"sin", run_unary, whole, none, whole, .word = LAC_SIN});
  row(b, dtype, (job){"sum of all", run_sum, whole, none, one, .mask = 1});
  row(b, dtype, (job){"sum of rows of 512", run_sum, lines, none, heads, .mask = 1});
  row(b, dtype, (job){"sum of rows of 32", run_sum, short_lines, none, short_heads, .mask = 1});
  row(b, dtype, (job){"sum of 512 columns", run_sum, lines, none, line, .mask = 2});
  row(b, dtype, (job){"norm of all", run_reduce, whole, none, one, .word = LAC_REDUCE_NORM, .mask = 1});
  if (dtype <= LAC_F64) {
    row(b, dtype, (job){"max of rows of 512", run_reduce, lines, none, heads, .word = LAC_REDUCE_MAX, .mask = 1});
    row(b, dtype,
        (job){"logsumexp of rows of 512", run_reduce, lines, none, heads, .word = LAC_REDUCE_LOGSUMEXP, .mask = 1});
    row(b, dtype, (job){"softmax of rows of 32", run_softmax, short_lines, none, short_lines, .mask = 1});
    row(b, dtype, (job){"softmax of rows of 512", run_softmax, lines, none, lines, .mask = 1});
    row(b, dtype, (job){"softmax of all", run_softmax, whole, none, whole, .mask = 1});
    row(b, dtype, (job){"softmax of 512 columns", run_softmax, lines, none, lines, .mask = 2});
  }
  row(b, dtype, (job){"cumsum of all", run_cumsum, whole, none, whole, .word = 0});
  row(b, dtype, (job){"cumsum of rows of 512", run_cumsum, lines, none, lines, .word = 0});
  row(b, dtype, (job){"cumsum of 512 columns", run_cumsum, lines, none, lines, .word = 1});
  row(b, dtype, (job){"every other row of 512", run_place, lines, none, (shape){2, {m / 2, 512}}, .word = 1});
  row(b, dtype, (job){"every other number of rows", run_place, lines, none, (shape){2, {m, 256}}, .word = 0});
  row(b, dtype, (job){"matmul 2048", run_matmul, square, square, square, .word = LAC_PLAIN});
  row(b, dtype, (job){"matmul 64 x 10^6 x 32, H", run_matmul, tall, thin, (shape){2, {64, 32}}, .word = LAC_ADJOINT});
  row(b, dtype,
      (job){"matmul 10^6 x 64 x 1", run_matmul, tall, (shape){2, {64, 1}}, (shape){2, {1000000, 1}}, .word = 0});
  row(b, dtype, (job){"matmul 96, our kernel", run_matmul, small, small, small, .word = LAC_PLAIN});
}

int main(int argc, char **argv) {
  bench b = {.ctx = NULL};
  int64_t n = 1000000 * (argc > 1 ? atoll(argv[1]) : 100);

  if (lac_context_create("cuda", 0, &b.ctx) != LAC_OK) return printf("skip: %s\n", lac_context_error(NULL)), 0;
  must_cuda(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
  must_cuda(cudaEventCreate(&b.begin));
  must_cuda(cudaEventCreate(&b.end));
  must(b.ctx, lac_context_set_stream(b.ctx, b.stream));
  printf("arrays of %lld numbers, of complex ones half as many\n", (long long)n);
  for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; dtype++) rows_of(&b, dtype, dtype < LAC_C64 ? n : n / 2);
  must(b.ctx, lac_context_synchronize(b.ctx));
  lac_context_destroy(&b.ctx);
  must_cuda(cudaEventDestroy(b.begin));
  must_cuda(cudaEventDestroy(b.end));
  must_cuda(cudaStreamDestroy(b.stream));
  return 0;
}

#else

int main(void) { return printf("skip: built without CUDA\n"), 0; }

#endif
