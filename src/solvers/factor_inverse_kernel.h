// SPDX-License-Identifier: Apache-2.0
// The check of an inverse for one dtype; factor_inverse.c has the equation. Included once for each.

// The first of rows begin .. end - 1 whose sum is not 1 to `roundings` of its terms; -1: none.
static int64_t FN(inverse_check)(const lac_structure *s, int64_t begin, int64_t end, double roundings, const void *a,
                                 const void *z, double *error) {
  for (int64_t i = begin; i < end; i++) {
    WIDE sum = -1;
    double terms = 1;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      WIDE term = (WIDE)((const T *)a)[p] * (WIDE)((const T *)z)[p];
      sum += term;
      terms += FN(wide_size)(term);
    }
    *error = FN(wide_size)(sum) / terms;
    if (!(*error <= roundings * FN(epsilon))) return i;
  }
  return -1;
}
