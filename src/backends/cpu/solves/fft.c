// SPDX-License-Identifier: Apache-2.0
/// @file fft.c
/// Fourier transforms.
///
/// Lengths without a prime factor over 13: Stockham's method in passes of four, three, five, of other primes and of
/// two, which sorts as it goes, so that every pass runs through memory in order. Other lengths: Bluestein's, j k = (j^2
/// + k^2 - (k - j)^2) / 2 makes the transform a convolution with a chirp, and that is done by a length of the first
/// kind.

#include "backends/cpu/solves/fft.h"

enum { ROOT_TABLE = 512, LARGEST_PASS = 13 };

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

// -- passes ----------------------------------------------------------------------------------------------------------

// A pass of r takes sequences of length n that lie `stride` apart from x to y: r sequences of length n / r each.
//
//     y[r p + k] = exp(-2 pi i p k / n) sum_j exp(-2 pi i j k / r) x[p + j n / r]

static c128 times_i(c128 z) { return PAIR(-cimag(z), creal(z)); }

static void pass_of_four(const c128 *roots, int64_t n, int64_t stride, const c128 *x, c128 *y) {
  const int64_t apart = n / 4 * stride;
  for (int64_t p = 0; p < n / 4; ++p) {
    const c128 w1 = roots[p * stride], w2 = roots[2 * p * stride], w3 = roots[3 * p * stride];
    const c128 *from = x + p * stride;
    c128 *to = y + 4 * p * stride;
#pragma omp simd
    for (int64_t q = 0; q < stride; ++q) {
      const c128 a = from[q], b = from[q + apart], c = from[q + 2 * apart], d = from[q + 3 * apart];
      const c128 even = a + c, odd = a - c, sum = b + d, turned = times_i(b - d);
      to[q] = even + sum;
      to[q + stride] = mul_c128(w1, odd - turned);
      to[q + 2 * stride] = mul_c128(w2, even - sum);
      to[q + 3 * stride] = mul_c128(w3, odd + turned);
    }
  }
}

static void pass_of_three(const c128 *roots, int64_t n, int64_t stride, const c128 *x, c128 *y) {
  const int64_t apart = n / 3 * stride;
  const double sine = sin(2 * PI / 3);
  for (int64_t p = 0; p < n / 3; ++p) {
    const c128 w1 = roots[p * stride], w2 = roots[2 * p * stride];
    const c128 *from = x + p * stride;
    c128 *to = y + 3 * p * stride;
#pragma omp simd
    for (int64_t q = 0; q < stride; ++q) {
      const c128 a = from[q], b = from[q + apart], c = from[q + 2 * apart];
      const c128 sum = b + c, rest = a - 0.5 * sum, turned = times_i(sine * (b - c));
      to[q] = a + sum;
      to[q + stride] = mul_c128(w1, rest - turned);
      to[q + 2 * stride] = mul_c128(w2, rest + turned);
    }
  }
}

static void pass_of_five(const c128 *roots, int64_t n, int64_t stride, const c128 *x, c128 *y) {
  const int64_t apart = n / 5 * stride;
  const double c1 = cos(2 * PI / 5), c2 = cos(4 * PI / 5), s1 = sin(2 * PI / 5), s2 = sin(4 * PI / 5);
  for (int64_t p = 0; p < n / 5; ++p) {
    const c128 *w = roots + p * stride, w1 = *w, w2 = roots[2 * p * stride], w3 = roots[3 * p * stride],
               w4 = roots[4 * p * stride];
    const c128 *from = x + p * stride;
    c128 *to = y + 5 * p * stride;
#pragma omp simd
    for (int64_t q = 0; q < stride; ++q) {
      const c128 a = from[q], b = from[q + apart], c = from[q + 2 * apart], d = from[q + 3 * apart],
                 e = from[q + 4 * apart];
      const c128 outer = b + e, inner = c + d, u1 = a + c1 * outer + c2 * inner, u2 = a + c2 * outer + c1 * inner;
      const c128 v1 = times_i(s1 * (b - e) + s2 * (c - d)), v2 = times_i(s2 * (b - e) - s1 * (c - d));
      to[q] = a + outer + inner;
      to[q + stride] = mul_c128(w1, u1 - v1);
      to[q + 2 * stride] = mul_c128(w2, u2 - v2);
      to[q + 3 * stride] = mul_c128(w3, u2 + v2);
      to[q + 4 * stride] = mul_c128(w4, u1 + v1);
    }
  }
}

/// Any r, by its sum.
static void pass_of_any(int64_t r, const c128 *roots, int64_t n, int64_t stride, const c128 *x, c128 *y) {
  const int64_t apart = n / r * stride, turn = n * stride / r;  // turn: the place of exp(-2 pi i / r) among the roots
  for (int64_t p = 0; p < n / r; ++p) {
    const c128 *from = x + p * stride;
    for (int64_t k = 0; k < r; ++k) {
      const c128 w = roots[p * k * stride];
      c128 *to = y + (r * p + k) * stride;
      for (int64_t q = 0; q < stride; ++q) to[q] = from[q];
      for (int64_t j = 1; j < r; ++j) {
        const c128 v = roots[j * k % r * turn], *other = from + j * apart;
#pragma omp simd
        for (int64_t q = 0; q < stride; ++q) to[q] += mul_c128(v, other[q]);
      }
      for (int64_t q = 0; q < stride; ++q) to[q] = mul_c128(w, to[q]);
    }
  }
}

/// The r of the next pass over sequences of length n > 1: passes of two are the last, where they are one sum and one
/// difference; 0 where there is none.
static int64_t next_pass(int64_t n) {
  static const int64_t sizes[] = {4, 3, 5, 7, 11, LARGEST_PASS, 2};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (n % sizes[i] == 0) return sizes[i];
  }
  return 0;
}

static bool has_passes(int64_t n) {
  while (n > 1 && next_pass(n)) n /= next_pass(n);
  return n <= 1;
}

static void pass(int64_t r, const c128 *roots, int64_t n, int64_t stride, const c128 *x, c128 *y) {
  if (r == 4) {
    pass_of_four(roots, n, stride, x, y);
  } else if (r == 3) {
    pass_of_three(roots, n, stride, x, y);
  } else if (r == 5) {
    pass_of_five(roots, n, stride, x, y);
  } else {
    pass_of_any(r, roots, n, stride, x, y);
  }
}

/// The transform of `size` numbers in x, which has passes; room has as many.
static void transform(const c128 *roots, int64_t size, c128 *x, c128 *room) {
  c128 *from = x, *to = room, *kept;
  for (int64_t n = size, stride = 1; n > 1; kept = from, from = to, to = kept) {
    const int64_t r = next_pass(n);
    pass(r, roots, n, stride, from, to);
    n /= r, stride *= r;
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

lac_status cpu_dft_open(lac_context *ctx, int64_t n, cpu_dft *dft) {
  lac_status status = LAC_OK;
  bool is_direct = has_passes(n);

  *dft = (cpu_dft){.n = n, .size = is_direct ? n : convolution_size(2 * n - 1)};
  LAC_ALLOC(dft->roots, dft->size);
  fill_roots(dft->roots, dft->size);
  if (!is_direct) {
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
