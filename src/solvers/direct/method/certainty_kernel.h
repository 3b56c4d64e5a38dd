// SPDX-License-Identifier: Apache-2.0
// Weights of certainty.c for one dtype. Included once for each.

// left = |A| D^-1 (1, ..., 1)
static void FN(certainty_rows)(const lac_structure *s, const void *values, bool transposed, const double *right,
                               double *left) {
  const int64_t *offsets = transposed ? s->t_offsets : s->offsets;
  const int32_t *columns = transposed ? s->t_rows : s->columns;
  const T *a = values;
  for (int32_t i = 0; i < s->n; i++) {
    left[i] = 0;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; p++) {
      left[i] += FN(size)(a[transposed ? s->t_slots[p] : p]) / right[columns[p]];
    }
  }
}

// left = |r| + eps (|A| |x| + |b|)
static void FN(certainty_errors)(const lac_structure *s, const void *values, bool transposed, int width, int column,
                                 const void *b, const void *x, double *left) {
  const int64_t *offsets = transposed ? s->t_offsets : s->offsets;
  const int32_t *columns = transposed ? s->t_rows : s->columns;
  const T *a = values, *from = x;
  for (int64_t i = 0; i < s->n; i++) {
    T given = ((const T *)b)[i * width + column];
    double terms = FN(size)(given);
    WIDE sum = given;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; p++) {
      T value = a[transposed ? s->t_slots[p] : p], other = from[(int64_t)columns[p] * width + column];
      sum -= (WIDE)value * (WIDE)other;
      terms += FN(size)(value) * FN(size)(other);
    }
    left[i] = FN(wide_size)(sum) + FN(epsilon) * terms;
  }
}

// The largest of |D x|.
static double FN(certainty_size)(int32_t n, int width, int column, const double *right, const void *x) {
  double largest = 0;
  for (int64_t j = 0; j < n; j++) {
    largest = fmax(largest, FN(size)(((const T *)x)[j * width + column]) * right[j]);
  }
  return largest;
}
