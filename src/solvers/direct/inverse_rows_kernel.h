// SPDX-License-Identifier: Apache-2.0
// Rows of the inverse for one dtype; inverse_rows.c has the equation. Included once for each.

static void FN(inverse_unit)(int64_t at, void *b) { ((T *)b)[at] = 1; }

// Column c of x, where row i of A has entries.
static void FN(inverse_take)(const lac_structure *s, int32_t i, int width, int c, const void *x, void *z) {
  for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
    ((T *)z)[p] = ((const T *)x)[(int64_t)s->columns[p] * width + c];
  }
}

// The distance of row i's sum from 1, and the sizes of its terms.
static double FN(inverse_row)(const lac_structure *s, const void *a, const void *z, int32_t i, double *terms) {
  WIDE sum = -1;
  for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
    WIDE term = (WIDE)((const T *)a)[p] * (WIDE)((const T *)z)[p];
    sum += term;
    *terms += FN(wide_size)(term);
  }
  return FN(wide_size)(sum);
}
