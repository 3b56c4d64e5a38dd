// SPDX-License-Identifier: Apache-2.0
// Gauss-Jordan elimination in place, for numbers T.

static void FN(expand)(const inversion *v, const T *values, T *a) {
  for (int64_t i = 0; i < v->n * v->n; ++i) a[i] = 0;
  for (int64_t i = 0; i < v->n; ++i) {
    for (int64_t p = lac_buffer_get(v->pattern->offsets, i); p < lac_buffer_get(v->pattern->offsets, i + 1); ++p)
      a[i * v->n + lac_buffer_get(v->pattern->columns, p)] = values[p];
  }
}

INLINE double FN(size)(T x) { return fabs(FN(re)(x)) + fabs(FN(im)(x)); }

/// The largest number in rows and columns that have no pivot yet, the diagonal preferred to what is less than twice as large.
static double FN(find_pivot)(const inversion *v, const T *a, int64_t *row, int64_t *column) {
  double most = 0, on_diagonal = 0;
  int64_t best = -1;
  for (int64_t i = 0; i < v->n; ++i) {
    if (v->column_of[i] >= 0) continue;
    for (int64_t j = 0; j < v->n; ++j) {
      double size = FN(size)(a[i * v->n + j]);
      if (size > most && v->row_of[j] < 0) most = size, *row = i, *column = j;
    }
    if (v->row_of[i] < 0 && FN(size)(a[i * v->n + i]) > on_diagonal) {
      on_diagonal = FN(size)(a[i * v->n + i]);
      best = i;
    }
  }
  if (best < 0 || 2 * on_diagonal < most) return most;
  *row = *column = best;
  return on_diagonal;
}

static void FN(eliminate)(int64_t n, int64_t row, int64_t column, T *a) {
  T *pivots = a + row * n, inverse = FN(div)(1, pivots[column]);
  pivots[column] = 1;
  for (int64_t j = 0; j < n; ++j) pivots[j] *= inverse;
  for (int64_t i = 0; i < n; ++i) {
    T *x = a + i * n, factor = x[column];
    if (i == row || factor == 0) continue;
    x[column] = 0;
    for (int64_t j = 0; j < n; ++j) x[j] -= factor * pivots[j];
  }
}

static void FN(invert)(const inversion *v, const void *values, void *out) {
  T *a = v->work, *inverse = out;
  int64_t row = 0, column = 0;
  double largest = 0;
  FN(expand)(v, values, a);
  for (int64_t i = 0; i < v->n; ++i) v->row_of[i] = v->column_of[i] = -1;
  for (int64_t step = 0; step < v->n; ++step) {
    double size = FN(find_pivot)(v, a, &row, &column);
    if (step == 0) largest = size;
    if (!(size > v->rounding * largest)) break;
    v->row_of[column] = row;
    v->column_of[row] = column;
    FN(eliminate)(v->n, row, column, a);
  }
  for (int64_t c = 0; c < v->n; ++c) {
    for (int64_t r = 0; r < v->n; ++r) {
      bool is_regular = v->row_of[c] >= 0 && v->column_of[r] >= 0;
      inverse[c * v->n + r] = is_regular ? a[v->row_of[c] * v->n + v->column_of[r]] : 0;
    }
  }
}
