// SPDX-License-Identifier: Apache-2.0
// LU for one dtype; pivoting_lu.c has the equation. Included once for each.

#include "solvers/direct/order/equilibrate_kernel.h"
#include "solvers/direct/dense/substitute_kernel.h"
#include "solvers/direct/pivoting/eliminate_column_kernel.h"

// x = L^-1 a for the column in hand, scaled; the steps of the path in their order, which become a column of U.
static void FN(pivoting_update)(const lac_structure *s, const T *a, int32_t column, int32_t top, const pivoting_work *w,
                                pivoting_numeric *f) {
  T *x = w->x, *l = f->l.values, *u = f->u.values;
  const REAL *row_scale = f->row_scale, scale = ((const REAL *)f->col_scale)[column];
  int64_t products = 0;
  for (int64_t q = s->t_offsets[column]; q < s->t_offsets[column + 1]; q++) {
    int32_t row = s->t_rows[q];
    x[row] = a[s->t_slots[q]] * row_scale[row] * scale;
  }
  for (int32_t t = top; t < f->n; t++) {
    int32_t j = w->path[t], row = f->pivots[j];
    T value = x[row];
    x[row] = 0;
    int64_t begin = f->l.offsets[j], length = f->l.offsets[j + 1] - begin;
    FN(column_take)(length, f->l.rows + begin, l + begin, value, x);
    products += length;
    f->u.rows[f->u.count] = j;
    u[f->u.count++] = value;
  }
  f->flops += (double)products;
}

// The row to eliminate with: the largest number, or the diagonal where it is not much smaller. -1: all are zero. The
// largest of all tells how numbers grow.
static int32_t FN(pivoting_choose)(const pivoting_work *w, int32_t diagonal, double tolerance, double *size,
                                   double *growth) {
  const T *x = w->x;
  int32_t pivot = -1;
  double largest = 0, own = -1;
  for (int32_t t = 0; t < w->rest_count; t++) {
    int32_t row = w->rest[t];
    double candidate = FN(size)(x[row]);
    if (row == diagonal) own = candidate;
    if (candidate > largest) largest = candidate, pivot = row;
  }
  if (largest > *growth) *growth = largest;
  if (own > 0 && own >= tolerance * largest) largest = own, pivot = diagonal;
  *size = largest;
  return isfinite(largest) ? pivot : -1;
}

// Column k of L: what is left of x, over the pivot.
static void FN(pivoting_divide)(int32_t pivot_row, int32_t k, const pivoting_work *w, pivoting_numeric *f) {
  T *x = w->x, *l = f->l.values, pivot = x[pivot_row];
  ((T *)f->diagonal)[k] = pivot;
  for (int32_t t = 0; t < w->rest_count; t++) {
    int32_t row = w->rest[t];
    if (row != pivot_row) {
      f->l.rows[f->l.count] = row;
      l[f->l.count++] = FN(div)(x[row], pivot);
    }
    x[row] = 0;
  }
}

// Bring the rows of column j that are pivots to its front, so that searches need not pass the others.
static void FN(pivoting_partition)(int32_t j, const pivoting_work *w, pivoting_numeric *f) {
  T *l = f->l.values;
  int64_t front = f->l.offsets[j], back = f->l.offsets[j + 1];
  while (front < back) {
    if (w->place[f->l.rows[front]] >= 0) {
      front++;
      continue;
    }
    back--;
    int32_t row = f->l.rows[front];
    T value = l[front];
    f->l.rows[front] = f->l.rows[back], f->l.rows[back] = row;
    l[front] = l[back], l[back] = value;
  }
  w->pruned[j] = front;
}

// After step k, whose pivot was `pivot_row`: columns of L that met it both ways are pruned.
static void FN(pivoting_prune)(int32_t pivot_row, int32_t top, const pivoting_work *w, pivoting_numeric *f) {
  for (int32_t t = top; t < f->n; t++) {
    int32_t j = w->path[t];
    if (w->pruned[j] != f->l.offsets[j + 1]) continue;
    for (int64_t p = f->l.offsets[j]; p < f->l.offsets[j + 1]; p++) {
      if (f->l.rows[p] != pivot_row) continue;
      FN(pivoting_partition)(j, w, f);
      break;
    }
  }
}

// One column.
static lac_status FN(pivoting_column)(const lac_structure *s, const void *values, int32_t column, int32_t diagonal,
                                      int32_t k, double tolerance, pivoting_work *w, pivoting_numeric *f) {
  int32_t top = pivoting_reach(s, column, k, &f->l, w);
  double size;

  if (!pivoting_reserve(&f->u, f->n - top, sizeof(T)) || !pivoting_reserve(&f->l, w->rest_count, sizeof(T)))
    return LAC_ERR_MEMORY;
  FN(pivoting_update)(s, values, column, top, w, f);
  int32_t row = FN(pivoting_choose)(w, diagonal, tolerance, &size, &f->growth);
  if (row < 0) return isfinite(size) ? LAC_ERR_SINGULAR : LAC_ERR_NONFINITE;
  if (size < f->smallest) f->smallest = size, f->where = column;
  f->pivots[k] = row;
  w->place[row] = k;
  FN(pivoting_divide)(row, k, w, f);
  f->l.offsets[k + 1] = w->pruned[k] = f->l.count;
  f->u.offsets[k + 1] = f->u.count;
  FN(pivoting_prune)(row, top, w, f);
  return LAC_OK;
}

static inline __attribute__((always_inline)) void FN(pivoting_load)(int32_t n, const int32_t *order, const REAL *scale,
                                                                    const int width, const T *b, T *x) {
  for (int32_t k = 0; k < n; k++) {
    REAL power = scale[order[k]];
    for (int c = 0; c < width; c++) x[(int64_t)k * width + c] = b[(int64_t)order[k] * width + c] * power;
  }
}

static inline __attribute__((always_inline)) void FN(pivoting_store)(int32_t n, const int32_t *order, const REAL *scale,
                                                                     const int width, const T *x, T *b) {
  for (int32_t k = 0; k < n; k++) {
    REAL power = scale[order[k]];
    for (int c = 0; c < width; c++) b[(int64_t)order[k] * width + c] = x[(int64_t)k * width + c] * power;
  }
}

static inline __attribute__((always_inline)) void FN(pivoting_block)(const int32_t *order, const pivoting_numeric *f,
                                                                     lac_side side, const int width, const T *b, T *x,
                                                                     T *work) {
  const pivoting_triangle *l = &f->l, *u = &f->u;
  if (side == LAC_T) {
    FN(pivoting_load)(f->n, order, f->col_scale, width, b, work);
    FN(upper_t)(f->n, u->offsets, u->rows, u->values, f->diagonal, width, work);
    FN(lower_t)(f->n, l->offsets, l->rows, l->values, false, width, work);
    FN(pivoting_store)(f->n, f->pivots, f->row_scale, width, work, x);
  } else {
    FN(pivoting_load)(f->n, f->pivots, f->row_scale, width, b, work);
    FN(lower)(f->n, l->offsets, l->rows, l->values, width, work);
    FN(upper)(f->n, u->offsets, u->rows, u->values, f->diagonal, width, work);
    FN(pivoting_store)(f->n, order, f->col_scale, width, work, x);
  }
}

static void FN(pivoting_solve)(const int32_t *order, const pivoting_numeric *f, lac_side side, int width, const void *b,
                               void *x, void *work) {
  switch (width) {
    case 1:
      FN(pivoting_block)(order, f, side, 1, b, x, work);
      break;
    case LAC_BLOCK_WIDTH:
      FN(pivoting_block)(order, f, side, LAC_BLOCK_WIDTH, b, x, work);
      break;
    default:
      FN(pivoting_block)(order, f, side, width, b, x, work);
  }
}
