// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu_inverse.c
/// What LU with partial pivoting gives besides solves.
///
///     P R A C Q = L U       det A = sign(P) sign(Q) prod u_kk / (prod r_i prod c_j)
///     Z = (L U)^-1          z_jj = (1 - sum_k u_jk z_kj) / u_jj,      and for i > j
///                           z_ij = -sum_k z_ik l_kj,    z_ji = -sum_k u_jk z_ki / u_jj,    k > j
///
/// From the last step to the first, z_ji where L + U has (i, j): all that a sum needs was computed before, since L + U
/// has the fill (Erisman and Tinney 1975). Entries of F = L + U are kept by columns, rows ascending, and listed by
/// rows.

#include <stdio.h>

#include "core/numbers/search.h"
#include "solvers/direct/method/determinant.h"
#include "solvers/direct/pivoting/pivoting_lu.h"

// F, and Z on the same structure: where F has (i, j), z_ji.
typedef struct pivoting_fill {
  int32_t n;
  int64_t *offsets;  // by columns
  int32_t *rows;
  int64_t *at_diagonal;  // n: its place by columns
  void *f, *z;
  int64_t *t_offsets;  // by rows
  int32_t *t_columns;
  int64_t *t_places;  // of each by columns
  int64_t *t_after;   // n: the first after the diagonal
  int32_t *target;    // n: which of the wanted ones an index is; -1: none
  void *sums;         // n, wide
} pivoting_fill;

#define KERNEL_FILE "solvers/direct/pivoting/pivoting_lu_inverse_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void pivoting_multiply_kernel(const pivoting_numeric *, lac_determinant *);
typedef void pivoting_fill_kernel(const pivoting_numeric *, pivoting_fill *);
typedef void pivoting_invert_kernel(pivoting_fill *, int32_t);
typedef void pivoting_store_kernel(const lac_structure *, const pivoting_numeric *, const int32_t *,
                                   const pivoting_fill *, void *);
static pivoting_multiply_kernel *const pivoting_multiply_kernels[] = TABLE(pivoting_multiply);
static pivoting_fill_kernel *const pivoting_copy_kernels[] = TABLE(pivoting_copy);
static pivoting_invert_kernel *const pivoting_invert_kernels[] = TABLE(pivoting_invert_step);
static pivoting_store_kernel *const pivoting_inverse_store_kernels[] = TABLE(pivoting_inverse_store);

// Row pivots[k] of A meets column order[k]: the permutation between them has the sign of both together.
lac_status pivoting_logdet(const void *analysis, const void *numeric, lac_polar *out) {
  const int32_t *order = ((const pivoting_analysis *)analysis)->order;
  const pivoting_numeric *f = numeric;
  lac_determinant det = lac_determinant_one();
  int32_t *column = lac_alloc((size_t)f->n * sizeof *column);
  char *seen = lac_calloc((size_t)f->n, 1);
  lac_status status = column && seen ? LAC_OK : LAC_ERR_MEMORY;

  if (status == LAC_OK) {
    for (int32_t k = 0; k < f->n; k++) column[f->shape->pivots[k]] = order[k];
    pivoting_multiply_kernels[f->dtype](f, &det);
    if (lac_permutation_is_odd(f->n, column, seen)) lac_determinant_negate(&det);
    *out = lac_determinant_log(&det);
  }
  lac_free(column);
  lac_free(seen);
  return status;
}

// -- the inverse -----------------------------------------------------------------------------------------------------

static void pivoting_fill_clear(pivoting_fill *x) {
  void *blocks[] = {x->offsets,   x->rows,     x->at_diagonal, x->f,      x->z,   x->t_offsets,
                    x->t_columns, x->t_places, x->t_after,     x->target, x->sums};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lac_free(blocks[i]);
}

static bool pivoting_fill_allocate(const pivoting_numeric *f, pivoting_fill *x) {
  size_t n = (size_t)f->n, count = (size_t)(f->shape->l.count + f->shape->u.count) + n, size = lac_dtype_size(f->dtype);
  x->n = f->n;
  x->offsets = lac_calloc(n + 1, sizeof *x->offsets);
  x->rows = lac_alloc(count * sizeof *x->rows);
  x->at_diagonal = lac_alloc(n * sizeof *x->at_diagonal);
  x->f = lac_alloc(count * size);
  x->z = lac_alloc(count * size);
  x->t_offsets = lac_calloc(n + 1, sizeof *x->t_offsets);
  x->t_columns = lac_alloc(count * sizeof *x->t_columns);
  x->t_places = lac_alloc(count * sizeof *x->t_places);
  x->t_after = lac_alloc(n * sizeof *x->t_after);
  x->target = lac_alloc(n * sizeof *x->target);
  x->sums = lac_alloc(n * 2 * sizeof(double));
  return x->offsets && x->rows && x->at_diagonal && x->f && x->z && x->t_offsets && x->t_columns && x->t_places &&
         x->t_after && x->target && x->sums;
}

// Where columns and rows of F begin, and its diagonal.
static void pivoting_fill_count(const pivoting_numeric *f, pivoting_fill *x) {
  for (int64_t p = 0; p < f->shape->l.count; p++) x->t_offsets[f->shape->l.rows[p] + 1]++;
  for (int64_t p = 0; p < f->shape->u.count; p++) x->t_offsets[f->shape->u.rows[p] + 1]++;
  for (int32_t k = 0; k < x->n; k++) {
    x->t_offsets[k + 1] += x->t_offsets[k] + 1;
    x->offsets[k + 1] = f->shape->u.offsets[k + 1] + f->shape->l.offsets[k + 1] + k + 1;
    x->at_diagonal[k] = x->offsets[k] + f->shape->u.offsets[k + 1] - f->shape->u.offsets[k];
  }
  memset(x->target, -1, (size_t)x->n * sizeof *x->target);
}

// The step of each column; NULL: there is no memory.
static int32_t *pivoting_steps(int32_t n, const int32_t *order) {
  int32_t *step = lac_alloc((size_t)n * sizeof *step);
  for (int32_t k = 0; step && k < n; k++) step[order[k]] = k;
  return step;
}

// All steps, the last first; a step takes about the square of its entries. False: it shall end.
static bool pivoting_invert(const pivoting_numeric *f, lac_stop *stop, pivoting_fill *x) {
  double since = 0;
  for (int32_t j = x->n - 1; j >= 0; j--) {
    double entries = (double)(x->offsets[j + 1] - x->offsets[j]);
    if (lac_stop_is_due(stop, entries * entries, &since)) return false;
    pivoting_invert_kernels[f->dtype](x, j);
  }
  return true;
}

lac_status pivoting_selected_inverse(const lac_structure *structure, const void *analysis, const void *numeric,
                                     int threads, lac_stop *stop, void *values, lac_fault *fault) {
  const pivoting_numeric *f = numeric;
  pivoting_fill x = {0};
  int32_t *col_step = pivoting_steps(f->n, ((const pivoting_analysis *)analysis)->order);
  bool fits = pivoting_fill_allocate(f, &x) && col_step;
  bool is_over = false;
  (void)threads;
  if (fits) {
    pivoting_fill_count(f, &x);
    pivoting_copy_kernels[f->dtype](f, &x);
    is_over = !pivoting_invert(f, stop, &x);
    if (!is_over) pivoting_inverse_store_kernels[f->dtype](structure, f, col_step, &x, values);
  }
  pivoting_fill_clear(&x);
  lac_free(col_step);
  if (is_over) return lac_fault_interrupted(fault);
  if (fits) return LAC_OK;
  snprintf(fault->text, sizeof fault->text, "out of memory: the inverse on %lld entries of L and U",
           (long long)f->shape->l.count + f->shape->u.count + f->n);
  return LAC_ERR_MEMORY;
}
