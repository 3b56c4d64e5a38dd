// SPDX-License-Identifier: Apache-2.0
/// @file fft.c
/// Fourier transforms.
///
/// Powers of two: Stockham's method in passes of four (and one of two), which sorts as it goes, so that every pass runs through memory in
/// order. Other lengths: Bluestein's, j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with a chirp, and that is
/// done by powers of two.

#include "backends/cpu/solves/fft.h"

enum { ROOT_TABLE = 512 };

static const double PI = 3.14159265358979323846;

/// exp(-2 pi i k / n)
static c128 root(int64_t k, int64_t n) {
  double angle = -2 * PI * (double)k / (double)n;
  return PAIR(cos(angle), sin(angle));
}

/// All n-th roots. Two tables, k = high ROOT_TABLE + low, need n / ROOT_TABLE + ROOT_TABLE sines in place of n.
static void fill_roots(c128 *roots, int64_t n) {
  c128 low[ROOT_TABLE];
  for (int64_t k = 0; k < ROOT_TABLE && k < n; ++k) low[k] = root(k, n);
  for (int64_t k = 0; k < n; k += ROOT_TABLE) {
    const c128 high = root(k, n);
    const int64_t count = n - k < ROOT_TABLE ? n - k : ROOT_TABLE;
    for (int64_t c = 0; c < count; ++c) roots[k + c] = mul_c128(high, low[c]);
  }
}

// -- powers of two ---------------------------------------------------------------------------------------------------

/// One pass of four over sequences of length n that lie `stride` apart: from x to y.
static void pass_of_four(const c128 *roots, int64_t n, int64_t stride, const c128 *x, c128 *y) {
  const int64_t quarter = n / 4;
  for (int64_t p = 0; p < quarter; ++p) {
    const c128 w1 = roots[p * stride], w2 = roots[2 * p * stride], w3 = roots[3 * p * stride];
    const c128 *from = x + p * stride;
    c128 *to = y + 4 * p * stride;
#pragma omp simd
    for (int64_t q = 0; q < stride; ++q) {
      const c128 a = from[q], b = from[q + quarter * stride], c = from[q + 2 * quarter * stride],
                 d = from[q + 3 * quarter * stride];
      const c128 even = a + c, odd = a - c, sum = b + d, difference = b - d;
      const c128 turned = PAIR(-cimag(difference), creal(difference));  // times i
      to[q] = even + sum;
      to[q + stride] = mul_c128(w1, odd - turned);
      to[q + 2 * stride] = mul_c128(w2, even - sum);
      to[q + 3 * stride] = mul_c128(w3, odd + turned);
    }
  }
}

static void pass_of_two(int64_t stride, const c128 *x, c128 *y) {
  for (int64_t q = 0; q < stride; ++q) {
    const c128 a = x[q], b = x[q + stride];
    y[q] = a + b;
    y[q + stride] = a - b;
  }
}

/// The transform of `size` numbers in x; room has as many.
static void transform(const c128 *roots, int64_t size, c128 *x, c128 *room) {
  c128 *from = x, *to = room, *kept;
  int64_t n = size, stride = 1;
  for (; n > 1; kept = from, from = to, to = kept) {
    if (n == 2) {
      pass_of_two(stride, from, to);
      n = 1;
    } else {
      pass_of_four(roots, n, stride, from, to);
      n /= 4, stride *= 4;
    }
  }
  if (from != x) memcpy(x, from, (size_t)size * sizeof *x);
}

// -- any length ------------------------------------------------------------------------------------------------------

/// exp(-pi i j^2 / n) for all j < n: j^2 is taken modulo 2 n before it becomes an angle.
static lac_status fill_chirp(lac_context *ctx, cpu_dft *dft) {
  lac_status status = LAC_OK;
  const int64_t n = dft->n;
  c128 *roots = NULL;

  LAC_ALLOC(roots, 2 * n);
  fill_roots(roots, 2 * n);
  for (int64_t j = 0, square = 0; j < n; ++j) {
    dft->chirp[j] = roots[square];
    square += 2 * j + 1;
    square %= 2 * n;
  }
done:
  lac_free(roots);
  return status;
}

/// The transform of the conjugate chirp, wrapped around.
static lac_status fill_kernel(lac_context *ctx, cpu_dft *dft) {
  lac_status status = LAC_OK;
  c128 *room = NULL;

  LAC_ALLOC(room, dft->size);
  for (int64_t j = 0; j < dft->n; ++j) {
    const c128 value = conj_c128(dft->chirp[j]) / (double)dft->size;
    dft->kernel[j] = value;
    if (j) dft->kernel[dft->size - j] = value;
  }
  transform(dft->roots, dft->size, dft->kernel, room);
done:
  lac_free(room);
  return status;
}

lac_status cpu_dft_open(lac_context *ctx, int64_t n, cpu_dft *dft) {
  lac_status status = LAC_OK;
  bool is_power = (n & (n - 1)) == 0;

  *dft = (cpu_dft){.n = n, .size = 1};
  while (dft->size < (is_power ? n : 2 * n - 1)) dft->size *= 2;
  LAC_ALLOC(dft->roots, dft->size);
  fill_roots(dft->roots, dft->size);
  if (!is_power) {
    LAC_ALLOC(dft->chirp, n);
    LAC_ALLOC(dft->kernel, dft->size);
    LAC_TRY(fill_chirp(ctx, dft));
    LAC_TRY(fill_kernel(ctx, dft));
  }
done:
  if (status != LAC_OK) cpu_dft_close(dft);
  return status;
}

void cpu_dft_close(cpu_dft *dft) {
  lac_free(dft->roots);
  lac_free(dft->chirp);
  lac_free(dft->kernel);
  *dft = (cpu_dft){0};
}

int64_t cpu_dft_room(const cpu_dft *dft) { return dft->chirp ? 2 * dft->size : dft->size; }

void cpu_dft_forward(const cpu_dft *dft, c128 *x, c128 *room) {
  const int64_t n = dft->n, size = dft->size;
  if (!dft->chirp) {
    transform(dft->roots, size, x, room);
    return;
  }
  c128 *long_x = room, *other = room + size;
  for (int64_t j = 0; j < n; ++j) long_x[j] = mul_c128(x[j], dft->chirp[j]);
  memset(long_x + n, 0, (size_t)(size - n) * sizeof *long_x);
  transform(dft->roots, size, long_x, other);
  // the inverse transform is the conjugate of the transform of the conjugate
  for (int64_t j = 0; j < size; ++j) long_x[j] = conj_c128(mul_c128(long_x[j], dft->kernel[j]));
  transform(dft->roots, size, long_x, other);
  for (int64_t j = 0; j < n; ++j) x[j] = mul_c128(conj_c128(long_x[j]), dft->chirp[j]);
}

void cpu_dft_backward(const cpu_dft *dft, c128 *x, c128 *room) {
  for (int64_t j = 0; j < dft->n; ++j) x[j] = conj_c128(x[j]);
  cpu_dft_forward(dft, x, room);
  for (int64_t j = 0; j < dft->n; ++j) x[j] = conj_c128(x[j]);
}
