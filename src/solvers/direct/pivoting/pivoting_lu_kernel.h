// SPDX-License-Identifier: Apache-2.0
// LU for one dtype; pivoting_lu.c has the equation. Included once for each.

#include "solvers/direct/order/equilibrate_kernel.h"
#include "solvers/direct/dense/substitute_kernel.h"
#include "solvers/direct/pivoting/eliminate_column_kernel.h"

static int32_t FN(pivoting_scale)(const lac_structure *s, const pivoting_analysis *a, const void *values, void *rows,
                                  void *columns, double *apart) {
  if (!a->row_block) return FN(equilibrate_parts)(s, values, NULL, NULL, rows, columns, apart);
  return FN(equilibrate_parts)(s, values, a->row_block, a->col_block, rows, columns, apart);
}

// The column in hand, scaled: into x, and what stands below its block to where it stays. And its structure as that of
// pivoting_search, whose path is returned; -1: in the units of its block something below is out of range.
static inline int32_t FN(pivoting_read)(const lac_structure *s, const T *a, int32_t column, int32_t k, pivoting_work *w,
                                        pivoting_numeric *f) {
  T *x = w->x, *kept = f->below;
  int32_t top = f->n, *mark = w->mark;
  const int32_t *place = f->shape->place;
  bool is_finite = true;
  pivoting_index *below = &f->shape->below;
  const REAL *row_scale = f->row_scale, scale = ((const REAL *)f->col_scale)[column];
  w->rest_count = 0;
  for (int64_t q = s->t_offsets[column]; q < s->t_offsets[column + 1]; q++) {
    int32_t row = s->t_rows[q];
    T value = a[s->t_slots[q]];
    if (w->row_block && w->row_block[row] != w->block) {
      below->rows[below->count] = row;
      value = kept[below->count++] = FN(rescale)(value, (double)row_scale[row], (double)scale);
      is_finite = is_finite && FN(finite)(value);
      continue;
    }
    x[row] = value * row_scale[row] * scale;
    if (mark[row] == k) continue;
    mark[row] = k;
    if (place[row] < 0) {
      w->rest[w->rest_count++] = row;
    } else {
      top = pivoting_search(place[row], k, f->shape, w, top);
    }
  }
  return is_finite ? top : -1;
}

// x = L^-1 a; the steps of the path in their order, which become a column of U. Returns the largest number of that.
static double FN(pivoting_update)(int32_t top, const pivoting_work *w, pivoting_numeric *f) {
  pivoting_shape *shape = f->shape;
  T *x = w->x, *l = f->l, *u = f->u;
  int32_t *rows = shape->u.rows;
  int64_t products = 0, count = shape->u.count;
  double largest = 0;
  for (int32_t t = top; t < f->n; t++) {
    int32_t j = w->path[t], row = shape->pivots[j];
    T value = x[row];
    double size = FN(size)(value);
    x[row] = 0;
    if (size > largest) largest = size;
    int64_t begin = shape->l.offsets[j], length = shape->l.offsets[j + 1] - begin;
    FN(column_take)(length, shape->l.rows + begin, l + begin, value, x);
    products += length;
    rows[count] = j;
    u[count++] = value;
  }
  shape->u.count = count;
  shape->flops += (double)products;
  return largest;
}

// The row to eliminate with: the largest number, or the diagonal where it is not much smaller. -1: all are zero. The
// largest of all is reported.
static int32_t FN(pivoting_choose)(const pivoting_work *w, int32_t diagonal, int32_t k, double tolerance, double *size,
                                   double *most) {
  const T *x = w->x;
  int32_t pivot = -1;
  double largest = 0, own = w->mark[diagonal] == k ? FN(size)(x[diagonal]) : -1;
  for (int32_t t = 0; t < w->rest_count; t++) {
    int32_t row = w->rest[t];
    double candidate = FN(size)(x[row]);
    bool is_larger = candidate > largest;
    largest = is_larger ? candidate : largest;
    pivot = is_larger ? row : pivot;
  }
  *most = largest;
  if (own > 0 && own >= tolerance * largest) largest = own, pivot = diagonal;
  *size = largest;
  return isfinite(largest) ? pivot : -1;
}

// Column k of L: what is left of x, over the pivot.
static void FN(pivoting_divide)(int32_t pivot_row, int32_t k, const pivoting_work *w, pivoting_numeric *f) {
  pivoting_index *index = &f->shape->l;
  T *x = w->x, *l = f->l, pivot = x[pivot_row], inverse = FN(column_inverse)(pivot);
  bool is_tiny = !(FN(size)(pivot) >= FN(tiny));
  int64_t count = index->count;
  ((T *)f->diagonal)[k] = pivot;
  ((T *)f->inverse)[k] = inverse;
  for (int32_t t = 0; t < w->rest_count; t++) {
    int32_t row = w->rest[t];
    index->rows[count] = row;
    l[count] = FN(column_over)(x[row], pivot, inverse, is_tiny);
    count += row != pivot_row;  // which is written over
    x[row] = 0;
  }
  index->count = count;
}

// Bring the rows of column j that are pivots to its front, so that searches need not pass the others.
static void FN(pivoting_partition)(int32_t j, const pivoting_work *w, pivoting_numeric *f) {
  T *l = f->l;
  int32_t *rows = f->shape->l.rows;
  int64_t front = f->shape->l.offsets[j], back = f->shape->l.offsets[j + 1];
  while (front < back) {
    if (f->shape->place[rows[front]] >= 0) {
      front++;
      continue;
    }
    back--;
    int32_t row = rows[front];
    T value = l[front];
    rows[front] = rows[back], rows[back] = row;
    l[front] = l[back], l[back] = value;
  }
  w->pruned[j] = front;
}

// After step k, whose pivot was `pivot_row`: columns of L that met it both ways are pruned.
static void FN(pivoting_prune)(int32_t pivot_row, int32_t top, const pivoting_work *w, pivoting_numeric *f) {
  const pivoting_index *l = &f->shape->l;
  for (int32_t t = top; t < f->n; t++) {
    int32_t j = w->path[t];
    if (w->pruned[j] != l->offsets[j + 1]) continue;
    for (int64_t p = l->offsets[j]; p < l->offsets[j + 1]; p++) {
      if (l->rows[p] != pivot_row) continue;
      FN(pivoting_partition)(j, w, f);
      break;
    }
  }
}

// The column of a block of one row, the one that was matched with it: a pivot, and what stands below it.
static lac_status FN(pivoting_single)(const lac_structure *s, const T *a, int32_t column, int32_t row, int32_t k,
                                      pivoting_work *w, pivoting_numeric *f) {
  pivoting_shape *shape = f->shape;
  T *x = w->x;
  if (FN(pivoting_read)(s, a, column, k, w, f) < 0) return LAC_ERR_CONVERGENCE;
  T pivot = ((T *)f->diagonal)[k] = x[row];
  ((T *)f->inverse)[k] = FN(column_inverse)(pivot);
  double size = FN(size)(pivot);
  x[row] = 0;
  if (!(size > 0) || !isfinite(size)) return size == 0 ? LAC_ERR_SINGULAR : LAC_ERR_NONFINITE;
  pivoting_note(f, k, size, size, 0);
  shape->pivots[k] = row;
  shape->place[row] = k;
  shape->l.offsets[k + 1] = w->pruned[k] = shape->l.count;
  shape->u.offsets[k + 1] = shape->u.count;
  shape->below.offsets[k + 1] = shape->below.count;
  return LAC_OK;
}

// One column.
static lac_status FN(pivoting_column)(const lac_structure *s, const void *values, int32_t column, int32_t diagonal,
                                      int32_t k, double tolerance, pivoting_work *w, pivoting_numeric *f) {
  if (w->is_single) return FN(pivoting_single)(s, values, column, diagonal, k, w, f);
  pivoting_shape *shape = f->shape;
  int32_t top = FN(pivoting_read)(s, values, column, k, w, f);
  double size, most, above;

  if (top < 0) return LAC_ERR_CONVERGENCE;
  if (!pivoting_reserve(&shape->u, &f->u, f->n - top, sizeof(T)) ||
      !pivoting_reserve(&shape->l, &f->l, w->rest_count, sizeof(T)))
    return LAC_ERR_MEMORY;
  above = FN(pivoting_update)(top, w, f);
  int32_t row = FN(pivoting_choose)(w, diagonal, k, tolerance, &size, &most);
  if (!isfinite(size) || !isfinite(above)) return LAC_ERR_NONFINITE;  // what is above need not reach what is below
  if (row < 0) return LAC_ERR_SINGULAR;
  pivoting_note(f, k, size, most, above);
  shape->pivots[k] = row;
  shape->place[row] = k;
  FN(pivoting_divide)(row, k, w, f);
  shape->l.offsets[k + 1] = w->pruned[k] = shape->l.count;
  shape->u.offsets[k + 1] = shape->u.count;
  shape->below.offsets[k + 1] = shape->below.count;
  FN(pivoting_prune)(row, top, w, f);
  return LAC_OK;
}

// Columns from *next on, until it is time to look whether it shall end; *next is then the first that is left, or the
// one that failed.
static lac_status FN(pivoting_columns)(const lac_direct_job *job, double tolerance, int32_t *next, pivoting_work *w,
                                       pivoting_numeric *f) {
  const pivoting_analysis *a = job->part;
  pivoting_shape *shape = f->shape;
  double until = shape->flops + LAC_STOP_WORK;
  lac_status status = LAC_OK;
  int32_t k = *next;
  for (; k < f->n && shape->flops < until; k++) {
    int32_t column = a->order[k], wanted = shape->wanted[k] = w->row_of[column];
    w->block = a->col_block ? a->col_block[column] : 0;
    w->is_single = a->col_block && a->first[w->block + 1] - a->first[w->block] == 1;
    status = FN(pivoting_column)(job->structure, job->values, column, wanted, k,
                                 pivoting_tolerance(a, column, wanted, tolerance), w, f);
    if (status != LAC_OK) break;
    pivoting_exchange(column, shape->pivots[k], w);
  }
  *next = k;
  return status;
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

// Block after block: its own system, then what it contributes to those below. Most are of one row, without L and U.
static inline __attribute__((always_inline)) void FN(pivoting_forward)(const pivoting_analysis *a,
                                                                       const pivoting_numeric *f, const int width,
                                                                       T *x) {
  const pivoting_index *l = &f->shape->l, *u = &f->shape->u, *below = &f->shape->below;
  const T *inverse = f->inverse;
  for (int32_t b = 0; b < (a->row_block ? a->blocks : 1); b++) {
    int32_t begin = a->row_block ? a->first[b] : 0, end = a->row_block ? a->first[b + 1] : f->n;
    if (end - begin == 1) {
      T *own = x + (int64_t)begin * width;
      for (int c = 0; c < width; c++) own[c] *= inverse[begin];
    } else {
      FN(lower)(begin, end, l->offsets, l->rows, f->l, width, x);
      FN(upper)(begin, end, u->offsets, u->rows, f->u, inverse, width, x);
    }
    if (a->row_block) FN(lower)(begin, end, below->offsets, below->rows, f->below, width, x);
  }
}

// The same of the transpose, from the last block to the first.
static inline __attribute__((always_inline)) void FN(pivoting_backward)(const pivoting_analysis *a,
                                                                        const pivoting_numeric *f, const int width,
                                                                        T *x) {
  const pivoting_index *l = &f->shape->l, *u = &f->shape->u, *below = &f->shape->below;
  for (int32_t b = a->row_block ? a->blocks - 1 : 0; b >= 0; b--) {
    int32_t begin = a->row_block ? a->first[b] : 0, end = a->row_block ? a->first[b + 1] : f->n;
    if (a->row_block) FN(lower_t)(begin, end, below->offsets, below->rows, f->below, false, width, x);
    FN(upper_t)(begin, end, u->offsets, u->rows, f->u, f->inverse, width, x);
    FN(lower_t)(begin, end, l->offsets, l->rows, f->l, false, width, x);
  }
}

static inline __attribute__((always_inline)) void FN(pivoting_block)(const pivoting_analysis *a,
                                                                     const pivoting_numeric *f, lac_form form,
                                                                     const int width, const T *b, T *x, T *work) {
  if (form == LAC_TRANSPOSED) {
    FN(pivoting_load)(f->n, a->order, f->col_scale, width, b, work);
    FN(pivoting_backward)(a, f, width, work);
    FN(pivoting_store)(f->n, f->shape->pivots, f->row_scale, width, work, x);
  } else {
    FN(pivoting_load)(f->n, f->shape->pivots, f->row_scale, width, b, work);
    FN(pivoting_forward)(a, f, width, work);
    FN(pivoting_store)(f->n, a->order, f->col_scale, width, work, x);
  }
}

static void FN(pivoting_solve)(const pivoting_analysis *a, const pivoting_numeric *f, lac_form form, int width,
                               const void *b, void *x, void *work) {
  switch (width) {
    case 1:
      FN(pivoting_block)(a, f, form, 1, b, x, work);
      break;
    case LAC_BLOCK_WIDTH:
      FN(pivoting_block)(a, f, form, LAC_BLOCK_WIDTH, b, x, work);
      break;
    default:
      FN(pivoting_block)(a, f, form, width, b, x, work);
  }
}
