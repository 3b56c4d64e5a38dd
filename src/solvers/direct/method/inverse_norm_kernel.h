// SPDX-License-Identifier: Apache-2.0
// Steps of the estimate of an inverse's norm for one dtype; inverse_norm.c has the equation. Included once for each.

// A power of two; its square is about as large as the largest number.
static double FN(norm_root)(int64_t count, const void *values) {
  const T *a = values;
  double largest = 0;
  int exponent = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t p = 0; p < count; p++) {
    double size = FN(size)(a[p]);
    largest = size > largest ? size : largest;
  }
  (void)frexp(largest, &exponent);
  return ldexp(1, (exponent - 1) / 2);
}

// ||A||_1 / root^2
static double FN(norm_given)(const lac_structure *s, const void *values, double root) {
  const T *a = values;
  double norm = 0;
  for (int32_t j = 0; j < s->n; j++) {
    double sum = 0;
    for (int64_t q = s->t_offsets[j]; q < s->t_offsets[j + 1]; q++) {
      T value = a[s->t_slots[q]];
      sum += hypot((double)FN(re)(value) / root, (double)FN(im)(value) / root) / root;
    }
    norm = fmax(norm, sum);
  }
  return norm;
}

// diag(right) of two columns whose sizes sum to 1: equal numbers, and growing ones of alternating signs.
static void FN(norm_start)(int32_t n, const double *right, double root, void *b) {
  T *x = b;
  double steps = n > 1 ? n - 1 : 1, sum = n > 1 ? 1.5 * n : 1;
  for (int32_t i = 0; i < n; i++) {
    double unit = right ? right[i] : root;
    x[(int64_t)i * 2] = (T)(unit / n);
    x[(int64_t)i * 2 + 1] = (T)((i % 2 ? -1 : 1) * unit * ((1 + i / steps) / sum));
  }
}

static void FN(norm_unit)(int32_t n, int32_t at, double unit, void *b) {
  memset(b, 0, (size_t)n * sizeof(T));
  ((T *)b)[at] = (T)unit;
}

static double FN(norm_modulus)(T x) {
  return sizeof(T) == sizeof(REAL) ? fabs((double)FN(re)(x)) : hypot((double)FN(re)(x), (double)FN(im)(x));
}

// The sum of sizes of a column of diag(left) x.
static double FN(norm_sum)(int32_t n, int width, int column, const double *left, double root, const void *x) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double size = FN(norm_modulus)(((const T *)x)[i * width + column]);
    sum += size * (left ? left[i] : root);
  }
  return sum;
}

// diag(left) conj(sign(y)), y the first column of a block: op(A)^-T of that is the conjugate of op(A)^-H diag(left)
// sign(y).
static void FN(norm_signs)(int32_t n, int width, const double *left, double root, const void *y, void *b) {
  for (int64_t i = 0; i < n; i++) {
    T value = ((const T *)y)[i * width];
    double modulus = FN(norm_modulus)(value);
    REAL unit = (REAL)(left ? left[i] : root);
    ((T *)b)[i] = modulus > 0 ? FN(conj)(value / (REAL)modulus) * unit : (T)unit;
  }
}

// Of diag(right) z.
static double FN(norm_largest)(int32_t n, const double *right, double root, const void *z, int32_t *at) {
  double largest = -1;
  *at = 0;
  for (int32_t i = 0; i < n; i++) {
    double size = FN(norm_modulus)(((const T *)z)[i]) * (right ? right[i] : root);
    if (size > largest) largest = size, *at = i;
  }
  return largest;
}
