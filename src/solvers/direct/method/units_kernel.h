// SPDX-License-Identifier: Apache-2.0
// Units of columns for one dtype, by which a measure of x does not depend on how rows and columns are scaled. Included once for each.

// D, such that the largest number of each column of A D^-1 is 1 when that of each row is.
static void FN(units_columns)(const lac_structure *s, const T *a, const int64_t *offsets, const int32_t *columns,
                              const int64_t *slots, REAL *d) {
  for (int64_t j = 0; j < s->n; j++) d[j] = (REAL)FN(tiny);
  for (int64_t i = 0; i < s->n; i++) {
    double largest = 0;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; p++) largest = fmax(largest, FN(size)(a[slots ? slots[p] : p]));
    for (int64_t p = offsets[i]; largest > 0 && p < offsets[i + 1]; p++) {
      REAL share = (REAL)(FN(size)(a[slots ? slots[p] : p]) / largest);
      if (share > d[columns[p]]) d[columns[p]] = share;
    }
  }
}
