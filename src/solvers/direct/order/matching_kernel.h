// SPDX-License-Identifier: Apache-2.0
// The numbers of a matching for one dtype; matching.c has the equation. Included once for each.

// Whether the diagonal is the largest of every row, and of every column.
static void FN(matching_dominance)(const lac_structure *s, const void *values, bool *by_rows, bool *by_columns) {
  const T *a = values;
  *by_rows = *by_columns = s->diagonals == s->n;
  for (int32_t i = 0; i < s->n && *by_rows; i++) {
    double largest = 0, own = 0;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      double size = FN(size)(a[p]);
      if (s->columns[p] == i) own = size;
      largest = fmax(largest, size);
    }
    *by_rows = own > 0 && own == largest;
  }
  for (int32_t j = 0; j < s->n && *by_columns; j++) {
    double largest = 0, own = 0;
    for (int64_t q = s->t_offsets[j]; q < s->t_offsets[j + 1]; q++) {
      double size = FN(size)(a[s->t_slots[q]]);
      if (s->t_rows[q] == j) own = size;
      largest = fmax(largest, size);
    }
    *by_columns = own > 0 && own == largest;
  }
}

// log2 of a number's size; the sum of two huge parts may not overflow.
static double FN(matching_log)(T x) {
  double size = FN(size)(x);
  return isfinite(size) ? log2(size) : 1 + log2(FN(size)(x / 2));
}

// log2 of every number.
static void FN(matching_logs)(const lac_structure *s, const void *values, double *logs) {
  const T *a = values;
  for (int64_t p = 0; p < s->nnz; p++) logs[p] = FN(matching_log)(a[p]);
}

// log2 of the diagonal, which is full.
static void FN(matching_diagonal)(const lac_structure *s, const void *values, double *logs) {
  const T *a = values;
  for (int32_t i = 0; i < s->n; i++) {
    int64_t p = s->offsets[i];
    while (s->columns[p] != i) p++;
    logs[i] = FN(matching_log)(a[p]);
  }
}
