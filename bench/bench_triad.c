// SPDX-License-Identifier: Apache-2.0
/// @file bench_triad.c
/// The machine's own memory bandwidth: a = b + s c on arrays beyond every cache, best of ten rounds, on each number of
/// threads. Once with plain stores, as usual, and once with stores past the caches, which do not read what they
/// overwrite.
///
///     bench_triad           prints "threads plain streamed" lines, in GB/s; 24 bytes a number count, as is usual

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { COUNT = 1 << 25, ROUNDS = 10 };

static void triad_plain(double *restrict a, const double *restrict b, const double *restrict c, double s, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < COUNT; i++) a[i] = b[i] + s * c[i];
}

static void triad_streamed(double *restrict a, const double *restrict b, const double *restrict c, double s,
                           int threads) {
#ifdef __SSE2__
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < COUNT; i += 2) {
    _mm_stream_pd(a + i, _mm_add_pd(_mm_load_pd(b + i), _mm_mul_pd(_mm_set1_pd(s), _mm_load_pd(c + i))));
  }
#else
  triad_plain(a, b, c, s, threads);
#endif
}

typedef void triad_kernel(double *restrict, const double *restrict, const double *restrict, double, int);

static double triad(triad_kernel *kernel, double *a, const double *b, const double *c, int threads) {
  double best = 1e30;

  for (int round = 0; round < ROUNDS; round++) {
    double begin = omp_get_wtime(), seconds;
    kernel(a, b, c, 3, threads);
    seconds = omp_get_wtime() - begin;
    if (seconds < best) best = seconds;
  }
  return 24e-9 * COUNT / best;
}

int main(void) {
  size_t bytes = COUNT * sizeof(double);
  double *a = aligned_alloc(64, bytes), *b = aligned_alloc(64, bytes), *c = aligned_alloc(64, bytes);

  if (!a || !b || !c) return 1;
  for (int i = 0; i < COUNT; i++) a[i] = 0, b[i] = i, c[i] = 1;
  for (int threads = 1; threads <= omp_get_num_procs() && threads <= 16; threads *= 2) {
    printf("%d %.2f %.2f\n", threads, triad(triad_plain, a, b, c, threads), triad(triad_streamed, a, b, c, threads));
  }
  if (a[COUNT - 1] != COUNT + 2) return 1;
  free(a), free(b), free(c);
  return 0;
}
