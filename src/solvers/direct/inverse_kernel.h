// SPDX-License-Identifier: Apache-2.0
// The check of an inverse for one dtype; factor_inverse.c has the equation. Included once for each.

// How far the sum of row i is from 1; adds the sizes of its terms, and those of the numbers of A.
static inline double FN(inverse_row)(const lac_structure *s, int64_t i, const T *a, const T *z, double *terms,
                                     double *norm) {
  WIDE sum = -1;
  for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
    WIDE term = (WIDE)a[p] * (WIDE)z[p];
    sum += term;
    *terms += FN(wide_size)(term);
    *norm += FN(size)(a[p]);
  }
  return FN(wide_size)(sum);
}

// The first of rows begin .. end - 1 whose sum is not 1 to `allowed` of its terms; -1: none. A rounding more for each
// term.
static int64_t FN(inverse_check)(const lac_structure *s, int64_t begin, int64_t end, double allowed, const void *a,
                                 const void *z, double *error) {
  for (int64_t i = begin; i < end; i++) {
    double terms = 1, norm = 0, off = FN(inverse_row)(s, i, a, z, &terms, &norm);
    *error = off / terms;
    if (!(*error <= allowed * (1 + (double)(s->offsets[i + 1] - s->offsets[i]) / INVERSE_ROUNDINGS))) return i;
  }
  return -1;
}

static void FN(inverse_unit)(int64_t at, void *b) { ((T *)b)[at] = 1; }

// Whether the sum of row i is 1 to `allowed` of ||A_i|| ||x||, x the whole column of the inverse: `column` of a block.
static bool FN(inverse_excuse)(const lac_structure *s, int64_t i, double allowed, const void *a, const void *z,
                               const void *x, int width, int column) {
  double terms = 1, norm = 0, off = FN(inverse_row)(s, i, a, z, &terms, &norm), largest = 0;
  for (int64_t j = 0; j < s->n; j++) largest = fmax(largest, FN(size)(((const T *)x)[j * width + column]));
  return off <= allowed * (terms + norm * largest);
}
