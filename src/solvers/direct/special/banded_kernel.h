// SPDX-License-Identifier: Apache-2.0
// LU inside a band for one dtype; banded.c has the equation. Included once for each.

#include "solvers/direct/order/equilibrate_kernel.h"

static inline T *FN(banded_at)(const banded_numeric *f, int64_t i, int64_t j) {
  return (T *)f->band + i * f->width + (j - i + f->lower);
}

static void FN(banded_load)(const lac_structure *s, const T *a, banded_numeric *f) {
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  for (int32_t i = 0; i < s->n; i++) {
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      int32_t j = s->columns[p];
      *FN(banded_at)(f, i, j) = a[p] * row_scale[i] * col_scale[j];
    }
  }
}

// The row of the largest number in column k, from row k to row `last`.
static int32_t FN(banded_choose)(const banded_numeric *f, int32_t k, int32_t last, double *size) {
  int32_t pivot = k;
  *size = FN(size)(*FN(banded_at)(f, k, k));
  for (int32_t i = k + 1; i <= last; i++) {
    double candidate = FN(size)(*FN(banded_at)(f, i, k));
    if (candidate > *size) *size = candidate, pivot = i;
  }
  return pivot;
}

static void FN(banded_swap)(const banded_numeric *f, int32_t k, int32_t pivot, int32_t end) {
  T *a = FN(banded_at)(f, k, k), *b = FN(banded_at)(f, pivot, k);
  for (int32_t j = 0; j <= end - k; j++) {
    T value = a[j];
    a[j] = b[j], b[j] = value;
  }
}

// Row k times what eliminates column k, off the rows below it.
static void FN(banded_eliminate)(banded_numeric *f, int32_t k, int32_t last, int32_t end) {
  const T *from = FN(banded_at)(f, k, k);
  for (int32_t i = k + 1; i <= last; i++) {
    T *to = FN(banded_at)(f, i, k), factor = FN(div)(to[0], from[0]);
    to[0] = factor;
    if (factor == 0) continue;
    for (int32_t j = 1; j <= end - k; j++) to[j] -= factor * from[j];
    f->flops += end - k;
  }
}

// Returns the column whose pivot was refused, with its size in *size, or -1.
static int32_t FN(banded_factor)(const lac_structure *s, const void *values, banded_numeric *f, double *size) {
  int32_t reach = 0;
  FN(banded_load)(s, values, f);
  for (int32_t k = 0; k < f->n; k++) {
    int32_t last = k + f->lower < f->n ? k + f->lower : f->n - 1;
    int32_t pivot = FN(banded_choose)(f, k, last, size);
    int32_t end = pivot + f->upper < f->n ? pivot + f->upper : f->n - 1;
    if (!(*size > 0) || !isfinite(*size)) return k;
    if (*size < f->smallest) f->smallest = *size, f->where = k;
    reach = end > reach ? end : reach;
    f->pivots[k] = pivot;
    f->ends[k] = reach;
    if (pivot != k) FN(banded_swap)(f, k, pivot, reach);
    FN(banded_eliminate)(f, k, last, reach);
  }
  return -1;
}

static inline __attribute__((always_inline)) void FN(banded_exchange)(T *x, int32_t k, int32_t l, const int width) {
  for (int c = 0; c < width && k != l; c++) {
    T value = x[(int64_t)k * width + c];
    x[(int64_t)k * width + c] = x[(int64_t)l * width + c];
    x[(int64_t)l * width + c] = value;
  }
}

static inline __attribute__((always_inline)) void FN(banded_times)(int32_t n, const REAL *scale, const int width,
                                                                   const T *from, T *to) {
  for (int64_t i = 0; i < n; i++) {
    for (int c = 0; c < width; c++) to[i * width + c] = from[i * width + c] * scale[i];
  }
}

// x = A^-1 b
static inline __attribute__((always_inline)) void FN(banded_plain)(const banded_numeric *f, const int width, const T *b,
                                                                   T *x) {
  FN(banded_times)(f->n, f->row_scale, width, b, x);
  for (int32_t k = 0; k < f->n; k++) {
    int32_t last = k + f->lower < f->n ? k + f->lower : f->n - 1;
    const T *from = x + (int64_t)k * width;
    FN(banded_exchange)(x, k, f->pivots[k], width);
    for (int32_t i = k + 1; i <= last; i++) {
      T factor = *FN(banded_at)(f, i, k), *to = x + (int64_t)i * width;
      for (int c = 0; c < width; c++) to[c] -= factor * from[c];
    }
  }
  for (int32_t k = f->n - 1; k >= 0; k--) {
    T *to = x + (int64_t)k * width;
    const T *u = FN(banded_at)(f, k, k);
    for (int32_t j = k + 1; j <= f->ends[k]; j++) {
      const T *from = x + (int64_t)j * width;
      for (int c = 0; c < width; c++) to[c] -= u[j - k] * from[c];
    }
    for (int c = 0; c < width; c++) to[c] = FN(div)(to[c], u[0]);
  }
  FN(banded_times)(f->n, f->col_scale, width, x, x);
}

// x = A^-T b
static inline __attribute__((always_inline)) void FN(banded_transposed)(const banded_numeric *f, const int width,
                                                                        const T *b, T *x) {
  FN(banded_times)(f->n, f->col_scale, width, b, x);
  for (int32_t k = 0; k < f->n; k++) {
    T *from = x + (int64_t)k * width;
    const T *u = FN(banded_at)(f, k, k);
    for (int c = 0; c < width; c++) from[c] = FN(div)(from[c], u[0]);
    for (int32_t j = k + 1; j <= f->ends[k]; j++) {
      T *to = x + (int64_t)j * width;
      for (int c = 0; c < width; c++) to[c] -= u[j - k] * from[c];
    }
  }
  for (int32_t k = f->n - 1; k >= 0; k--) {
    int32_t last = k + f->lower < f->n ? k + f->lower : f->n - 1;
    T *to = x + (int64_t)k * width;
    for (int32_t i = k + 1; i <= last; i++) {
      const T factor = *FN(banded_at)(f, i, k), *from = x + (int64_t)i * width;
      for (int c = 0; c < width; c++) to[c] -= factor * from[c];
    }
    FN(banded_exchange)(x, k, f->pivots[k], width);
  }
  FN(banded_times)(f->n, f->row_scale, width, x, x);
}

static inline __attribute__((always_inline)) void FN(banded_block)(const banded_numeric *f, lac_side side,
                                                                   const int width, const T *b, T *x) {
  if (side == LAC_T) {
    FN(banded_transposed)(f, width, b, x);
  } else {
    FN(banded_plain)(f, width, b, x);
  }
}

static void FN(banded_solve)(const banded_numeric *f, lac_side side, int width, const void *b, void *x) {
  if (width == 1) {
    FN(banded_block)(f, side, 1, b, x);
  } else if (width == LAC_BLOCK_WIDTH) {
    FN(banded_block)(f, side, LAC_BLOCK_WIDTH, b, x);
  } else {
    FN(banded_block)(f, side, width, b, x);
  }
}

static void FN(banded_logdet)(const banded_numeric *f, lac_determinant *d) {
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  for (int32_t k = 0; k < f->n; k++) {
    T pivot = *FN(banded_at)(f, k, k);
    lac_determinant_times(d, FN(re)(pivot), FN(im)(pivot));
    lac_determinant_over(d, row_scale[k]);
    lac_determinant_over(d, col_scale[k]);
    if (f->pivots[k] != k) lac_determinant_negate(d);
  }
}
