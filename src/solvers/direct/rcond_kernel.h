// SPDX-License-Identifier: Apache-2.0
// Steps of the condition estimate for one dtype; factor_rcond.c has the equation. Included once for each.

// ||A||_1 / scale, where scale is a power of two, as large as the largest number.
static double FN(rcond_norm)(const lac_structure *s, const void *values, double *scale) {
  const T *a = values;
  double largest = 0, norm = 0;
  int exponent = 0;
  for (int64_t p = 0; p < s->nnz; p++) largest = fmax(largest, FN(size)(a[p]));
  (void)frexp(largest, &exponent);
  *scale = ldexp(1, exponent - 1);
  for (int32_t j = 0; j < s->n; j++) {
    double sum = 0;
    for (int64_t q = s->t_offsets[j]; q < s->t_offsets[j + 1]; q++) {
      T value = a[s->t_slots[q]];
      sum += hypot((double)FN(re)(value) / *scale, (double)FN(im)(value) / *scale);
    }
    norm = fmax(norm, sum);
  }
  return norm;
}

// Two columns whose sizes sum to `scale`: equal numbers, and growing ones of alternating signs.
static void FN(rcond_start)(int32_t n, double scale, void *b) {
  T *x = b;
  double steps = n > 1 ? n - 1 : 1, sum = n > 1 ? 1.5 * n : 1;
  for (int32_t i = 0; i < n; i++) {
    x[(int64_t)i * 2] = (T)(scale / n);
    x[(int64_t)i * 2 + 1] = (T)((i % 2 ? -1 : 1) * scale * ((1 + i / steps) / sum));
  }
}

static void FN(rcond_unit)(int32_t n, int32_t at, double scale, void *b) {
  memset(b, 0, (size_t)n * sizeof(T));
  ((T *)b)[at] = (T)scale;
}

static double FN(rcond_modulus)(T x) {
  return sizeof(T) == sizeof(REAL) ? fabs((double)FN(re)(x)) : hypot((double)FN(re)(x), (double)FN(im)(x));
}

static double FN(rcond_sum)(int32_t n, int width, int column, const void *x) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += FN(rcond_modulus)(((const T *)x)[i * width + column]);
  return sum;
}

// conj(sign(y)) scale, y the first column of a block: A^-T of that is the conjugate of A^-H sign(y).
static void FN(rcond_signs)(int32_t n, int width, double scale, const void *y, void *b) {
  for (int64_t i = 0; i < n; i++) {
    T value = ((const T *)y)[i * width];
    double modulus = FN(rcond_modulus)(value);
    ((T *)b)[i] = modulus > 0 ? FN(conj)(value / (REAL)modulus) * (REAL)scale : (T)scale;
  }
}

static double FN(rcond_largest)(int32_t n, const void *z, int32_t *at) {
  double largest = -1;
  *at = 0;
  for (int32_t i = 0; i < n; i++) {
    double size = FN(rcond_modulus)(((const T *)z)[i]);
    if (size > largest) largest = size, *at = i;
  }
  return largest;
}
