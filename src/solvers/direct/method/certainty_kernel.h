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

// The largest of |D x| in each part of the unknowns, of which `part` is the number; NULL: all are one.
static void FN(certainty_sizes)(int32_t n, int width, int column, const double *right, const void *x,
                                const int32_t *part, double *sizes) {
  for (int64_t j = 0; j < n; j++) {
    double *largest = &sizes[part ? part[j] : 0];
    *largest = fmax(*largest, FN(size)(((const T *)x)[j * width + column]) * right[j]);
  }
}

// The largest of `count` numbers, `slots` telling where they stand; NULL: side by side. They are few, mostly: too few
// for vectors.
static inline double FN(certainty_largest)(const T *a, const int64_t *slots, int64_t count) {
  double largest = 0;
  for (int64_t p = 0; p < count; p++) {
    double size = FN(size)(a[slots ? slots[p] : p]);
    largest = size > largest ? size : largest;
  }
  return largest;
}

// The smallest over the largest of all numbers: a bound of what is between columns, in one quick sweep.
static double FN(certainty_range)(const T *a, int64_t count) {
  double most = 0, least = (double)INFINITY;
#pragma omp simd reduction(max : most) reduction(min : least)
  for (int64_t p = 0; p < count; p++) {
    double size = FN(size)(a[p]);
    most = size > most ? size : most;
    least = size < least ? size : least;
  }
  return least / most;
}

// The smallest over the largest of what stands before each unknown of op(A), or a bound of it that is `enough`; never
// 0.
static double FN(certainty_apart)(const lac_structure *s, const void *values, bool transposed, double enough) {
  const int64_t *offsets = transposed ? s->offsets : s->t_offsets;
  const T *a = values;
  double most = 0, least = (double)INFINITY, range = FN(certainty_range)(a, s->nnz);
  if (range >= enough) return range;
  for (int32_t j = 0; j < s->n; j++) {
    int64_t from = offsets[j], count = offsets[j + 1] - from;
    double largest =
        transposed ? FN(certainty_largest)(a + from, NULL, count) : FN(certainty_largest)(a, s->t_slots + from, count);
    most = largest > most ? largest : most;
    least = largest < least ? largest : least;
  }
  return fmax(least / most, DBL_MIN);
}

// Rows and columns that an entry joins, as trees of 2 n nodes.
static void FN(certainty_join)(const lac_structure *s, const void *values, int32_t *parent) {
  for (int32_t i = 0; i < s->n; i++) {
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      if (FN(size)(((const T *)values)[p]) > 0) {
        parent[lac_forest_root(parent, s->n + i)] = lac_forest_root(parent, s->columns[p]);
      }
    }
  }
}
