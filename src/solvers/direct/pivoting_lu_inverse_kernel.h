// SPDX-License-Identifier: Apache-2.0
// Determinant from LU for one dtype; pivoting_lu_inverse.c has the equation. Included once for each.

static void FN(pivoting_multiply)(const pivoting_numeric *f, lac_determinant *det) {
  const T *u = f->diagonal;
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  for (int32_t k = 0; k < f->n; k++) {
    lac_determinant_times(det, FN(re)(u[k]), FN(im)(u[k]));
    lac_determinant_over(det, row_scale[k]);
    lac_determinant_over(det, col_scale[k]);
  }
}
