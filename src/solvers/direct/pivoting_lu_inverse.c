// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu_inverse.c
/// What LU with partial pivoting gives besides solves.
///
///     P R A C Q = L U       det A = sign(P) sign(Q) prod u_kk / (prod r_i prod c_j)

#include "solvers/determinant.h"
#include "solvers/direct/pivoting_lu.h"

#define KERNEL_FILE "solvers/direct/pivoting_lu_inverse_kernel.h"
#include "solvers/direct/instantiate.h"

typedef void pivoting_multiply_kernel(const pivoting_numeric *, lac_determinant *);
static pivoting_multiply_kernel *const pivoting_multiply_kernels[] = TABLE(pivoting_multiply);

// Row pivots[k] of A meets column order[k]: the permutation between them has the sign of both together.
lac_status pivoting_logdet(const void *analysis, const void *numeric, lac_polar *out) {
  const int32_t *order = ((const pivoting_analysis *)analysis)->order;
  const pivoting_numeric *f = numeric;
  lac_determinant det = lac_determinant_one();
  int32_t *column = lac_alloc((size_t)f->n * sizeof *column);
  char *seen = lac_calloc((size_t)f->n, 1);
  lac_status status = column && seen ? LAC_OK : LAC_ERR_MEMORY;

  if (status == LAC_OK) {
    for (int32_t k = 0; k < f->n; k++) column[f->pivots[k]] = order[k];
    pivoting_multiply_kernels[f->dtype](f, &det);
    if (lac_permutation_is_odd(f->n, column, seen)) lac_determinant_negate(&det);
    *out = lac_determinant_log(&det);
  }
  lac_free(column);
  lac_free(seen);
  return status;
}
