// SPDX-License-Identifier: Apache-2.0
// Products of pivots for one dtype; fronts_logdet.c has the equation. Included once for each.

// The determinant of a block of two, scaled by its off-diagonal number.
static void FN(fronts_multiply_pair)(lac_determinant *det, double one, T beside, double two) {
  double size = FN(size)(beside), re = (double)FN(re)(beside) / size, im = (double)FN(im)(beside) / size;
  lac_determinant_times(det, one / size * (two / size) - (re * re + im * im), 0);
  lac_determinant_times(det, size, 0);
  lac_determinant_times(det, size, 0);
}

static void FN(fronts_multiply_panel)(const lac_fronts *f, int32_t i, lac_determinant *det) {
  const lac_supernodes *s = f->s;
  int64_t p = lac_front_cols(s, i), m = p + lac_front_rows(s, i);
  const T *l = (const T *)f->l + s->panels[i], *beside = f->kind == LAC_FRONT_LDLT ? f->d_below : NULL;
  for (int64_t k = 0; k < p; k++) {
    T pivot = l[k * (m + 1)];
    if (beside && beside[s->first[i] + k] != 0) {
      FN(fronts_multiply_pair)(det, FN(re)(pivot), beside[s->first[i] + k], FN(re)(l[(k + 1) * (m + 1)]));
      k++;
    } else if (f->kind == LAC_FRONT_LU) {
      lac_determinant_times(det, FN(re)(pivot), FN(im)(pivot));
    } else {
      lac_determinant_times(det, FN(re)(pivot), 0);
      if (f->kind == LAC_FRONT_CHOLESKY) lac_determinant_times(det, FN(re)(pivot), 0);
    }
  }
}

static void FN(fronts_multiply)(const lac_fronts *f, lac_determinant *det) {
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  for (int32_t i = 0; i < f->s->count; i++) FN(fronts_multiply_panel)(f, i, det);
  for (int32_t k = 0; k < f->s->n && row_scale; k++) lac_determinant_over(det, row_scale[k]);
  for (int32_t k = 0; k < f->s->n && col_scale; k++) lac_determinant_over(det, col_scale[k]);
}
