// SPDX-License-Identifier: Apache-2.0
// Scalings by powers of two, exact, for one dtype. Included by kernel texts.

// The power of two that brings a largest number to [1/2, 1), within what the dtype can multiply by; 1 for 0.
static REAL FN(equilibrate_power)(double largest) {
  int exponent = largest > 0 ? exponent_of(largest) : 0;
  exponent = exponent > FN(range) ? FN(range) : exponent < -FN(range) ? -FN(range) : exponent;
  return (REAL)power_of_two(-exponent);
}

// Bring every row's largest number near 1, then every column's, of those that stand in one part of the rows and of the
// columns; NULL: of all. *apart (or NULL) is how far apart units of the columns are: the smallest over the largest of
// what is the largest number in each. Returns a row of zeros, or -1.
static inline __attribute__((always_inline)) int32_t FN(equilibrate_parts)(const lac_structure *s, const void *values,
                                                                           const int32_t *row_part,
                                                                           const int32_t *col_part, void *rows,
                                                                           void *columns, double *apart) {
  const T *a = values;
  double least = (double)INFINITY, most = 0;
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
    double largest = 0, unit = 0;
    for (int64_t q = s->t_offsets[j]; q < s->t_offsets[j + 1]; q++) {
      double given = FN(size)(a[s->t_slots[q]]), size = given * row_scale[s->t_rows[q]];
      if (given > unit) unit = given;
      if (row_part && row_part[s->t_rows[q]] != col_part[j]) continue;
      if (size > largest) largest = size;
    }
    col_scale[j] = FN(equilibrate_power)(largest);
    if (unit < least) least = unit;
    if (unit > most) most = unit;
  }
  if (apart) *apart = least / most;
  return -1;
}

static inline int32_t FN(equilibrate)(const lac_structure *s, const void *values, void *rows, void *columns) {
  return FN(equilibrate_parts)(s, values, NULL, NULL, rows, columns, NULL);
}
