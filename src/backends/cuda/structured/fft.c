// SPDX-License-Identifier: Apache-2.0
/// @file fft.c
/// How a length is transformed (fft.cu): its passes, or the length of a convolution.

#include "backends/cuda/structured/structured.h"

/// The passes of a length, in order; 0 where it has a prime factor over 13.
static int find_passes(int64_t n, int radix[CUDA_FFT_PASSES]) {
  static const int sizes[] = {4, 3, 5, 7, 11, 13, 2};
  int count = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    for (; n % sizes[i] == 0; n /= sizes[i]) radix[count++] = sizes[i];
  }
  return n == 1 ? count : 0;
}

/// The least of 2^k, 3 2^k and 5 2^k that is at least `least`: their passes are the fast ones.
static int64_t convolution_size(int64_t least) {
  int64_t best = INT64_MAX;
  for (int64_t odd = 1; odd <= 5; odd += 2) {
    int64_t size = odd;
    while (size < least) size *= 2;
    if (size < best) best = size;
  }
  return best;
}

cuda_fft cuda_fft_plan(int64_t n) {
  cuda_fft fft = {.n = n, .size = n};
  fft.passes = find_passes(n, fft.radix);
  if (fft.passes || n == 1) return fft;
  fft.size = convolution_size(2 * n - 1);
  fft.passes = find_passes(fft.size, fft.radix);
  return fft;
}

int64_t cuda_fft_tables(const cuda_fft *fft) { return fft->size == fft->n ? fft->size : 2 * fft->size + fft->n; }

int64_t cuda_fft_room(const cuda_fft *fft, int64_t count) {
  return fft->size == fft->n ? count * fft->size : 2 * count * fft->size;
}
