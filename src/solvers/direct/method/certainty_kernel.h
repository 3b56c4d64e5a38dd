// SPDX-License-Identifier: Apache-2.0
// Weights of certainty.c for one dtype. Included once for each.

// One sweep: rows and columns are divided by the roots of their largest numbers, as they are by now.
static void FN(certainty_sweep)(const lac_structure *s, const T *a, const int64_t *offsets, const int32_t *columns,
                                const int64_t *slots, double *r, double *c, double *largest) {
  for (int32_t j = 0; j < s->n; j++) largest[j] = 0;
  for (int32_t i = 0; i < s->n; i++) {
    double row = 0;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; p++) {
      double size = r[i] * FN(size)(a[slots ? slots[p] : p]) * c[columns[p]];
      row = fmax(row, size);
      largest[columns[p]] = fmax(largest[columns[p]], size);
    }
    if (row > 0) r[i] /= sqrt(row);
  }
  for (int32_t j = 0; j < s->n; j++) {
    if (largest[j] > 0) c[j] /= sqrt(largest[j]);
  }
}

// right = D, where the largest number of each row and column of R A D^-1 is about 1 for some R (Ruiz 2001). `r` and `work` have room for n
// numbers each.
static void FN(certainty_units)(const lac_structure *s, const void *a, bool transposed, double root, double *r,
                                double *work, double *right) {
  for (int32_t i = 0; i < s->n; i++) r[i] = right[i] = 1 / root;
  for (int sweep = 0; sweep < CERTAINTY_SWEEPS; sweep++) {
    FN(certainty_sweep)
    (s, a, transposed ? s->t_offsets : s->offsets, transposed ? s->t_rows : s->columns, transposed ? s->t_slots : NULL,
     r, right, work);
  }
  for (int32_t j = 0; j < s->n; j++) right[j] = 1 / right[j];
}

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
