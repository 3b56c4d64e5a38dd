// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_coarse.c
/// The inverse of the coarsest matrix, dense, by Gauss-Jordan elimination with complete pivoting.
///
/// After k pivots (r_s, c_s) that are large enough, what remains is zero to rounding: the inverse has A11^-1 of the rows r and columns c in its
/// rows c and columns r, and zeros elsewhere. So a singular matrix, as pure Neumann problems have, gives a solution of
/// every right-hand side in its range.

#include "core/numbers.h"
#include "solvers/multigrid/hierarchy.h"

typedef struct inversion {
  int64_t n;
  const lac_pattern *pattern;
  double rounding;
  void *work;          // n x n
  int64_t *row_of;     // the pivot row of each column, or -1
  int64_t *column_of;  // the pivot column of each row, or -1
} inversion;

#define KERNEL_FILE "solvers/multigrid/pairwise_coarse_kernel.h"
#define T f64
#define FN(name) name##_f64
#include KERNEL_FILE
#undef T
#undef FN
#define T c128
#define FN(name) name##_c128
#include KERNEL_FILE
#undef T
#undef FN

lac_status lac_pairwise_inverse(lac_context *ctx, const lac_pattern *pattern, lac_dtype dtype, const lac_array *values,
                                lac_array *out) {
  lac_status status = LAC_OK;
  bool is_complex = lac_dtype_is_complex(dtype), is_single = dtype == LAC_F32 || dtype == LAC_C64;
  int64_t n = pattern->rows, items = values->meta.shape[0];
  size_t size = is_complex ? sizeof(c128) : sizeof(f64);
  inversion v = {.n = n, .pattern = pattern, .rounding = is_single ? 2.4e-7 : 2e-15 * sqrt((double)n)};
  char *result = lac_array_edit(out);

  v.work = lac_alloc((size_t)(n * n) * size);
  LAC_CHECK(v.work, LAC_ERR_MEMORY, "out of memory: a dense matrix of %lld rows", (long long)n);
  LAC_ALLOC(v.row_of, n);
  LAC_ALLOC(v.column_of, n);
  for (int64_t item = 0; item < items; ++item) {
    const char *a = (const char *)lac_array_data(values) + (size_t)(item * pattern->nnz) * size;
    (is_complex ? invert_c128 : invert_f64)(&v, a, result + (size_t)(item * n * n) * size);
  }
done:
  lac_free(v.work);
  lac_free(v.row_of);
  lac_free(v.column_of);
  return status;
}
