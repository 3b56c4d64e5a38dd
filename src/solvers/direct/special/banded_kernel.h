// SPDX-License-Identifier: Apache-2.0
// Scaled LU inside a band for one dtype; banded.c has the equation. Included once for each.

#include "solvers/direct/order/equilibrate_kernel.h"

#include "core/numbers/band_lu_kernel.h"

static void FN(banded_load)(const lac_structure *s, const T *a, banded_numeric *f) {
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  for (int32_t i = 0; i < s->n; i++) {
    T *row = FN(band_row)(&f->lu, i);
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      int32_t j = s->columns[p];
      row[j - i] = a[p] * row_scale[i] * col_scale[j];
    }
  }
}

/// Returns the column whose pivot is zero or not finite, or -1.
static int64_t FN(banded_factor)(const lac_structure *s, const void *values, banded_numeric *f) {
  FN(banded_load)(s, values, f);
  for (int64_t k = 0; k < f->lu.n; k++) {
    int64_t pivot = FN(band_step)(&f->lu, k);
    if (pivot < 0 || f->lu.overflow >= 0) return k;
    f->lu.pivots[k] = (int32_t)pivot;
    f->lu.ends[k] = (int32_t)(f->lu.reach - k);
  }
  return -1;
}

INLINE void FN(banded_times)(int64_t n, const REAL *scale, const int64_t width, const T *from, T *to) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t c = 0; c < width; c++) to[i * width + c] = from[i * width + c] * scale[i];
  }
}

INLINE void FN(banded_plain)(const lac_band_lu *f, const int64_t width, T *x) {
  for (int64_t k = 0; k < f->n; k++) FN(band_down)(f, k, f->pivots[k], width, x);
  for (int64_t k = f->n - 1; k >= 0; k--) FN(band_up)(f, k, f->ends[k], width, x);
}

INLINE void FN(banded_transposed)(const lac_band_lu *f, const int64_t width, T *x) {
  for (int64_t k = 0; k < f->n; k++) {
    const T *u = FN(band_row)(f, k);
    FN(band_divide)(x, k, u[0], width);
    for (int64_t j = 1; j <= f->ends[k]; j++) FN(band_take)(x, k + j, u[j], k, width);
  }
  for (int64_t k = f->n - 1; k >= 0; k--) {
    int64_t below = FN(band_below)(f, k);
    for (int64_t i = 1; i <= below; i++) FN(band_take)(x, k, FN(band_row)(f, k + i)[-i], k + i, width);
    FN(band_exchange)(x, k, k + f->pivots[k], width);
  }
}

// x = A^-1 b = C (R A C)^-1 R b, or the same of A^T.
INLINE void FN(banded_block)(const banded_numeric *f, lac_form form, const int64_t width, const T *b, T *x) {
  bool is_transposed = form == LAC_TRANSPOSED;
  FN(banded_times)(f->lu.n, is_transposed ? f->col_scale : f->row_scale, width, b, x);
  if (is_transposed) {
    FN(banded_transposed)(&f->lu, width, x);
  } else {
    FN(banded_plain)(&f->lu, width, x);
  }
  FN(banded_times)(f->lu.n, is_transposed ? f->row_scale : f->col_scale, width, x, x);
}

static void FN(banded_solve)(const banded_numeric *f, lac_form form, int width, const void *b, void *x) {
  if (width == 1) {
    FN(banded_block)(f, form, 1, b, x);
  } else if (width == LAC_BLOCK_WIDTH) {
    FN(banded_block)(f, form, LAC_BLOCK_WIDTH, b, x);
  } else {
    FN(banded_block)(f, form, width, b, x);
  }
}

static void FN(banded_logdet)(const banded_numeric *f, lac_determinant *d) {
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  for (int64_t k = 0; k < f->lu.n; k++) {
    T pivot = FN(band_row)(&f->lu, k)[0];
    lac_determinant_times(d, FN(re)(pivot), FN(im)(pivot));
    lac_determinant_over(d, row_scale[k]);
    lac_determinant_over(d, col_scale[k]);
    if (f->lu.pivots[k]) lac_determinant_negate(d);
  }
}
