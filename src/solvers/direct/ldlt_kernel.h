// SPDX-License-Identifier: Apache-2.0
// L D L^H for one dtype; ldlt.c has the equation. Included once for each.

#include "solvers/direct/substitute_kernel.h"

// Row k of C, conjugated, into y; returns its largest number, the diagonal included.
static double FN(ldlt_scatter)(const lac_symbolic *s, int32_t k, const T *a, T *y) {
  double largest = s->c_diagonal[k] < 0 ? 0 : FN(size)(a[s->c_diagonal[k]]);
  for (int64_t p = s->c_offsets[k]; p < s->c_offsets[k + 1]; p++) {
    T value = FN(conj)(a[s->c_slots[p]]);
    y[s->c_columns[p]] = value;
    largest = fmax(largest, FN(size)(value));
  }
  return largest;
}

// Row k of L and d_k: y_i = d_i conj(l_ki) solves L y = C(:, k), and y is zero again afterwards.
static REAL FN(ldlt_row)(const lac_symbolic *s, int32_t top, T *y, ldlt_work *w, T *l, const REAL *d, REAL pivot) {
  for (int32_t t = top; t < s->n; t++) {
    int32_t i = w->path[t];
    T value = y[i];
    int64_t end = w->cursor[i];
    y[i] = 0;
    for (int64_t p = s->l_offsets[i]; p < end; p++) y[s->l_rows[p]] -= l[p] * value;
    l[end] = FN(conj)(value) / d[i];
    pivot -= FN(re)(l[end] * value);
    w->cursor[i] = end + 1;
  }
  return pivot;
}

// Returns the step at which a pivot was refused, with its value in *refused, or -1.
static int32_t FN(ldlt_factor)(const lac_symbolic *s, const void *values, bool positive, ldlt_work *w, ldlt_numeric *f,
                               double *refused) {
  const T *a = values;
  T *l = f->l, *y = w->y;
  REAL *d = f->d;

  for (int32_t k = 0; k < s->n; k++) {
    double largest = FN(ldlt_scatter)(s, k, a, y);
    int32_t top = lac_symbolic_reach(s, k, w->mark, w->path);
    REAL pivot = s->c_diagonal[k] < 0 ? 0 : FN(re)(a[s->c_diagonal[k]]);
    d[k] = pivot = FN(ldlt_row)(s, top, y, w, l, d, pivot);
    *refused = pivot;
    if (!isfinite(pivot) || pivot == 0 || (positive && pivot < 0)) return k;
    if (fabs((double)pivot) / largest < f->smallest) {
      f->smallest = fabs((double)pivot) / largest;
      f->where = s->order[k];
    }
  }
  return -1;
}

static inline __attribute__((always_inline)) void FN(ldlt_block)(const lac_symbolic *s, const ldlt_numeric *f,
                                                                 const bool conjugate, const int width, const T *b,
                                                                 T *x, T *work) {
  const T *l = f->l;
  const REAL *d = f->d;
  for (int32_t k = 0; k < s->n; k++) {
    const T *from = b + (int64_t)s->order[k] * width;
    for (int c = 0; c < width; c++) work[(int64_t)k * width + c] = conjugate ? FN(conj)(from[c]) : from[c];
  }
  FN(lower)(s->n, s->l_offsets, s->l_rows, l, width, work);
  for (int32_t k = 0; k < s->n; k++) {
    for (int c = 0; c < width; c++) work[(int64_t)k * width + c] /= d[k];
  }
  FN(lower_t)(s->n, s->l_offsets, s->l_rows, l, true, width, work);
  for (int32_t k = 0; k < s->n; k++) {
    T *to = x + (int64_t)s->order[k] * width;
    for (int c = 0; c < width; c++)
      to[c] = conjugate ? FN(conj)(work[(int64_t)k * width + c]) : work[(int64_t)k * width + c];
  }
}

// A^T = conj(A) for a Hermitian matrix: the transposed solve is the plain one between two conjugations.
static void FN(ldlt_solve)(const lac_symbolic *s, const ldlt_numeric *f, lac_side side, int width, const void *b,
                           void *x, void *work) {
  switch (width) {
    case 1:
      FN(ldlt_block)(s, f, side == LAC_T, 1, b, x, work);
      break;
    case LAC_BLOCK_WIDTH:
      FN(ldlt_block)(s, f, side == LAC_T, LAC_BLOCK_WIDTH, b, x, work);
      break;
    default:
      FN(ldlt_block)(s, f, side == LAC_T, width, b, x, work);
  }
}

static double FN(ldlt_pivot)(const ldlt_numeric *f, int32_t k) { return ((const REAL *)f->d)[k]; }
