// SPDX-License-Identifier: Apache-2.0
/// @file test_fft.c
/// Fourier transforms of the CPU beside their sums: lengths that take every pass, and those that take none.

#include "backends/cpu/solves/fft.h"
#include "support/check.h"

static const double PI = 3.14159265358979323846;

static double number(int64_t j) { return sin(1.7 * (double)j + 0.3 * (double)(j % 7)); }

/// sum_j x_j exp(-2 pi i j k / n); j k is taken modulo n, so that the angle is exact to rounding.
static c128 sum_at(const c128 *x, int64_t n, int64_t k) {
  c128 sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    double angle = -2 * PI * (double)(j * k % n) / (double)n;
    sum += x[j] * PAIR(cos(angle), sin(angle));
  }
  return sum;
}

static void check_length(lac_context *ctx, int64_t n, int64_t step) {
  cpu_dft dft;
  CHECK_OK(cpu_dft_open(ctx, n, &dft));
  c128 *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
  c128 *room = calloc((size_t)cpu_dft_room(&dft), sizeof *room);
  for (int64_t j = 0; j < n; ++j) x[j] = y[j] = PAIR(number(j), number(3 * j + 1));
  cpu_dft_forward(&dft, y, room);
  for (int64_t k = 0; k < n; k += step) CHECK(cabs(y[k] - sum_at(x, n, k)) <= 1e-14 * (double)n);
  cpu_dft_backward(&dft, y, room);
  for (int64_t j = 0; j < n; ++j) CHECK(cabs(y[j] / (double)n - x[j]) <= 1e-14);
  free(x), free(y), free(room);
  cpu_dft_close(&dft);
}

static void short_transforms_are_their_sums(lac_context *ctx) {
  for (int64_t n = 1; n <= 144; ++n) check_length(ctx, n, 1);
}

static void long_transforms_are_their_sums(lac_context *ctx) {
  static const int64_t lengths[] = {1024,     1000, 2 * 3 * 5 * 7 * 11 * 13, 6561, 3125, 2401, 1331, 2197, 4093,
                                    17 * 256, 9998};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) check_length(ctx, lengths[i], 97);
}

CHECK_MAIN(short_transforms_are_their_sums, long_transforms_are_their_sums)
