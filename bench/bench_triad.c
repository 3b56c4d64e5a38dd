// SPDX-License-Identifier: Apache-2.0
/// @file bench_triad.c
/// The machine's own memory bandwidth: a = b + s c on arrays beyond every cache, best of ten, on each number of threads.
///
///     bench_triad           prints "threads GB/s" lines; 24 bytes a number count, as in the usual triad

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 25, ROUNDS = 10 };

static double triad(double *restrict a, const double *restrict b, const double *restrict c, double s, int threads) {
  double best = 1e30;

  for (int round = 0; round < ROUNDS; round++) {
    double begin = omp_get_wtime(), seconds;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < COUNT; i++) a[i] = b[i] + s * c[i];
    seconds = omp_get_wtime() - begin;
    if (seconds < best) best = seconds;
  }
  return 24e-9 * COUNT / best;
}

int main(void) {
  double *a = malloc(COUNT * sizeof *a), *b = malloc(COUNT * sizeof *b), *c = malloc(COUNT * sizeof *c);

  if (!a || !b || !c) return 1;
  for (int i = 0; i < COUNT; i++) a[i] = 0, b[i] = i, c[i] = 1;
  for (int threads = 1; threads <= omp_get_num_procs() && threads <= 16; threads *= 2) {
    printf("%d %.2f\n", threads, triad(a, b, c, 3, threads));
  }
  if (a[COUNT - 1] != COUNT + 2) return 1;
  free(a), free(b), free(c);
  return 0;
}
