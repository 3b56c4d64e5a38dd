// SPDX-License-Identifier: Apache-2.0
/// @file fronts_logdet.c
/// The determinant of a factor over supernodes.
///
///     Cholesky   det A = prod l_kk^2
///     L D L^H    det A = det D                        the permutations stand on both sides
///     LU         det A = sign prod u_kk / (prod r_i prod c_j),  sign that of the permutation between rows and columns
///                that are eliminated together

#include "solvers/direct/method/determinant.h"
#include "solvers/direct/fronts/selected.h"

#define KERNEL_FILE "solvers/direct/fronts/fronts_logdet_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void fronts_multiply_kernel(const lac_fronts *, lac_determinant *);
static fronts_multiply_kernel *const fronts_multiply_kernels[] = TABLE(fronts_multiply);

// The row of A that is eliminated at step k is that of step pivots[k]; the column is its own.
static lac_status fronts_sign(const lac_fronts *f, lac_determinant *det) {
  const lac_supernodes *s = f->s;
  int32_t *column = lac_alloc((size_t)s->n * sizeof *column);
  char *seen = lac_calloc((size_t)s->n, 1);
  lac_status status = column && seen ? LAC_OK : LAC_ERR_MEMORY;
  if (status == LAC_OK) {
    for (int32_t k = 0; k < s->n; k++) column[s->row_at[f->pivots[k]]] = s->col_at[k];
    if (lac_permutation_is_odd(s->n, column, seen)) lac_determinant_negate(det);
  }
  lac_free(column);
  lac_free(seen);
  return status;
}

lac_status lac_fronts_logdet(const void *part, const void *fronts, lac_polar *out) {
  const lac_fronts *f = fronts;
  lac_determinant det = lac_determinant_one();
  (void)part;
  fronts_multiply_kernels[f->dtype](f, &det);
  lac_status status = f->kind == LAC_FRONT_LU ? fronts_sign(f, &det) : LAC_OK;
  if (status == LAC_OK) *out = lac_determinant_log(&det);
  return status;
}
