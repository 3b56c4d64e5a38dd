// SPDX-License-Identifier: Apache-2.0
/// @file require_null.c
/// Null spaces that are given are null spaces: |A v| <= eps^(1/3) |A| |v|, |A| a typical row.
///
/// A vector that A does not take to zero would be taken out of b and of x all the same, and the solve would converge to
/// the solution of another system. The bound leaves room for the small changes of A that differences are made of.

#include <float.h>
#include <math.h>

#include "solvers/krylov/krylov_solver.h"
#include "solvers/vectors.h"

static lac_status null_judge(lac_context *ctx, const lac_factor *f, const char *name, int64_t rows, int64_t m,
                             double *const norms[3]) {
  lac_status status = LAC_OK;
  double most = cbrt(lac_dtype_epsilon(f->meta.dtype));

  for (int64_t i = 0; i < f->items * m; i++) {
    double matrix = norms[0][i / m] / sqrt((double)rows), vector = norms[1][i % m];
    double share = matrix > 0 && vector > 0 ? norms[2][i] / matrix / vector : 0;
    LAC_CHECK(!(share > most), LAC_ERR_ARG,
              "lac_solver_factor: column %lld of %s is not in the null space of matrix %lld: |A v| is %.1e of |A| |v|; "
              "give vectors that %s takes to zero, or none",
              (long long)(i % m), name, (long long)(i / m), share, name[0] == 'l' ? "A^H" : "A");
  }
done:
  return status;
}

static lac_status null_require(lac_context *ctx, const lac_factor *f, const char *name, lac_form form,
                               const lac_array *space) {
  lac_status status = LAC_OK;
  const lac_pattern *pattern = f->core->pattern;
  lac_array *product = NULL;
  double *norms[3] = {NULL, NULL, NULL};
  lac_meta meta = f->meta;
  int64_t rows = lac_form_transposes(form) ? pattern->cols : pattern->rows, m = space ? space->meta.shape[1] : 0;

  // Another dtype is refused by the solve.
  if (!space || space->count == 0 || f->items == 0 || space->meta.dtype != meta.dtype) goto done;
  LAC_ALLOC(norms[0], f->items);
  LAC_ALLOC(norms[1], m);
  LAC_ALLOC(norms[2], f->items * m);
  meta.shape[meta.ndim - 1] = rows;
  meta.shape[meta.ndim++] = m;
  LAC_TRY(lac_array_make(ctx, &meta, &product));
  LAC_TRY(ctx->kernels->spmm(ctx, pattern, form, f->values, space, product));
  LAC_TRY(lac_column_norms(ctx, f->values, f->items, pattern->nnz, 1, norms[0]));
  LAC_TRY(lac_column_norms(ctx, space, 1, space->meta.shape[0], m, norms[1]));
  LAC_TRY(lac_column_norms(ctx, product, f->items, rows, m, norms[2]));
  LAC_TRY(null_judge(ctx, f, name, rows, m, norms));
done:
  for (int i = 0; i < 3; i++) lac_free(norms[i]);
  lac_array_destroy(&product);
  return status;
}

lac_status lac_krylov_require_null(lac_context *ctx, const lac_factor *f) {
  lac_status status = LAC_OK;
  const lac_iteration *i = &f->core->options.iteration;

  LAC_TRY(null_require(ctx, f, "null_space", LAC_PLAIN, i->null_space));
  LAC_TRY(null_require(ctx, f, "left_null_space", LAC_ADJOINT, i->left_null_space));
done:
  return status;
}
