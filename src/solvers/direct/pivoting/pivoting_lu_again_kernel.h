// SPDX-License-Identifier: Apache-2.0
// LU with given pivots for one dtype; pivoting_lu_again.c has the equation. Included once for each.

#include "solvers/direct/pivoting/eliminate_column_kernel.h"

// x -= L(:, j) x_j for the steps j of column k, in their order, which become its column of U.
static void FN(again_update)(int32_t k, pivoting_numeric *f, T *x) {
  T *l = f->l.values, *u = f->u.values;
  for (int64_t p = f->u.offsets[k]; p < f->u.offsets[k + 1]; p++) {
    int32_t j = f->u.rows[p];
    T value = x[j];
    x[j] = 0;
    u[p] = value;
    int64_t begin = f->l.offsets[j];
    FN(column_take)(f->l.offsets[j + 1] - begin, f->l.rows + begin, l + begin, value, x);
  }
}

// Column k of L and U. False: its pivot is zero or not finite.
static bool FN(again_column)(const lac_structure *s, const void *values, int32_t column, int32_t k,
                             const int32_t *place, void *work, pivoting_numeric *f) {
  const T *a = values;
  T *x = work, *l = f->l.values, *diagonal = f->diagonal;
  const REAL *row_scale = f->row_scale, *col_scale = f->col_scale;
  for (int64_t q = s->t_offsets[column]; q < s->t_offsets[column + 1]; q++) {
    x[place[s->t_rows[q]]] = a[s->t_slots[q]] * row_scale[s->t_rows[q]] * col_scale[column];
  }
  FN(again_update)(k, f, x);
  T pivot = x[k];
  double size = FN(size)(pivot);
  x[k] = 0;
  if (!(size > 0) || !isfinite(size)) return false;
  if (size < f->smallest) f->smallest = size, f->where = column;
  diagonal[k] = pivot;
  for (int64_t q = f->l.offsets[k]; q < f->l.offsets[k + 1]; q++) {
    l[q] = FN(div)(x[f->l.rows[q]], pivot);
    x[f->l.rows[q]] = 0;
  }
  return true;
}
