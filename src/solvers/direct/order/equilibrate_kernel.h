// SPDX-License-Identifier: Apache-2.0
// Scalings by powers of two, exact, for one dtype. Included by kernel texts.

// The power of two that brings a largest number to [1/2, 1), within what the dtype can multiply by; 1 for 0.
static REAL FN(equilibrate_power)(double largest) {
  int exponent = largest > 0 ? exponent_of(largest) : 0;
  exponent = exponent > FN(range) ? FN(range) : exponent < -FN(range) ? -FN(range) : exponent;
  return (REAL)power_of_two(-exponent);
}

// Bring every row's largest number near 1, then every column's, of those that stand in one part of the rows and of the
// columns; NULL: of all. Returns a row of zeros, or -1.
static inline __attribute__((always_inline)) int32_t FN(equilibrate_parts)(const lac_structure *s, const void *values,
                                                                           const int32_t *row_part,
                                                                           const int32_t *col_part, void *rows,
                                                                           void *columns) {
  const T *a = values;
  REAL *row_scale = rows, *col_scale = columns;
  for (int32_t i = 0; i < s->n; i++) {
    double largest = 0;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      double size = FN(size)(a[p]);
      if (row_part && row_part[i] != col_part[s->columns[p]]) continue;
      if (size > largest) largest = size;
    }
    if (largest == 0 && !row_part) return i;  // of parts, it is for the elimination to say
    row_scale[i] = FN(equilibrate_power)(largest);
  }
  for (int32_t j = 0; j < s->n; j++) {
    double largest = 0;
    for (int64_t q = s->t_offsets[j]; q < s->t_offsets[j + 1]; q++) {
      double size = FN(size)(a[s->t_slots[q]]) * row_scale[s->t_rows[q]];
      if (row_part && row_part[s->t_rows[q]] != col_part[j]) continue;
      if (size > largest) largest = size;
    }
    col_scale[j] = FN(equilibrate_power)(largest);
  }
  return -1;
}

static int32_t FN(equilibrate)(const lac_structure *s, const void *values, void *rows, void *columns) {
  return FN(equilibrate_parts)(s, values, NULL, NULL, rows, columns);
}
