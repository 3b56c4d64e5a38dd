// SPDX-License-Identifier: Apache-2.0
// Scalings by powers of two, exact, for one dtype. Included by kernel texts.

// The power of two that brings a largest number to [1/2, 1), within what the dtype can multiply by; 1 for 0.
static REAL FN(equilibrate_power)(double largest) {
  int exponent = 0;
  if (largest > 0) (void)frexp(largest, &exponent);
  exponent = exponent > FN(range) ? FN(range) : exponent < -FN(range) ? -FN(range) : exponent;
  return (REAL)ldexp(1, -exponent);
}

// Bring every row's largest number near 1, then every column's. Returns a row of zeros, or -1.
static int32_t FN(equilibrate)(const lac_structure *s, const void *values, void *rows, void *columns) {
  const T *a = values;
  REAL *row_scale = rows, *col_scale = columns;
  for (int32_t i = 0; i < s->n; i++) {
    double largest = 0;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) largest = fmax(largest, FN(size)(a[p]));
    if (largest == 0) return i;
    row_scale[i] = FN(equilibrate_power)(largest);
  }
  for (int32_t j = 0; j < s->n; j++) {
    double largest = 0;
    for (int64_t q = s->t_offsets[j]; q < s->t_offsets[j + 1]; q++) {
      largest = fmax(largest, FN(size)(a[s->t_slots[q]]) * row_scale[s->t_rows[q]]);
    }
    col_scale[j] = FN(equilibrate_power)(largest);
  }
  return -1;
}
