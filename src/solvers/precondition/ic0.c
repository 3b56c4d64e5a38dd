// SPDX-License-Identifier: Apache-2.0
/// @file ic0.c
/// Incomplete Cholesky without fill, for Hermitian positive definite matrices.
///
///     M = L D L^H          elimination of A + shift diag(A), of which only what falls on entries of A is kept
///
/// L has ones on its diagonal, which are not stored, D is positive. The shift is 0; where a pivot is not positive it
/// becomes the first of a few that does (Manteuffel 1980), the same for all matrices of a batch, and the report says
/// so.

#include <stdio.h>

#include "solvers/precondition/relax.h"

#define KERNEL_FILE "solvers/precondition/ic0_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int64_t ic0_invert_kernel(int64_t, const void *, const void *, void *);
static ic0_invert_kernel *const ic0_invert_kernels[] = TABLE(ic0_invert);

enum { IC0_TRIES = 12 };
static const double ic0_first_shift = 1e-3, ic0_growth = 4;  // up to 1e-3 4^10, above 1000

typedef struct ic0_part {
  lac_pattern *lower;  // strictly below the diagonal
  lac_map *to_lower;
  lac_array *l;        // [items, its nnz]
  lac_array *inverse;  // [items, n, 1]: 1 / D
  double shift;
} ic0_part;

static void ic0_destroy(void *part) {
  ic0_part *ic0 = part;
  if (!ic0) return;
  lac_pattern_destroy(&ic0->lower);
  lac_map_destroy(&ic0->to_lower);
  lac_array_destroy(&ic0->l);
  lac_array_destroy(&ic0->inverse);
  lac_free(ic0);
}

/// 1 / pivots; *fault is the first that does not exceed the rounding of its diagonal entry.
static lac_status ic0_invert(lac_context *ctx, const lac_array *pivots, const lac_array *diagonal, lac_array *inverse,
                             int64_t *fault) {
  lac_status status = LAC_OK;
  size_t bytes = lac_array_bytes(pivots);
  char *host = NULL;

  LAC_ALLOC(host, 3 * bytes);
  LAC_TRY(lac_array_fetch(ctx, pivots, host));
  LAC_TRY(lac_array_fetch(ctx, diagonal, host + bytes));
  *fault = ic0_invert_kernels[pivots->meta.dtype](pivots->count, host, host + bytes, host + 2 * bytes);
  if (*fault < 0) LAC_TRY(lac_array_write(ctx, inverse, host + 2 * bytes));
done:
  lac_free(host);
  return status;
}

/// c = A + shift diag(A).
static lac_status ic0_shift(lac_context *ctx, const lac_setup *setup, const lac_map *on_diagonal, double shift,
                            const lac_array *diagonal, lac_array *c) {
  lac_status status = LAC_OK;
  lac_array *more = NULL;

  LAC_TRY(ctx->backend->copy(ctx, setup->values, c));
  if (shift == 0) goto done;
  LAC_TRY(lac_relax_like(ctx, c, &more));
  LAC_TRY(ctx->kernels->remap(ctx, on_diagonal, LAC_TRANSPOSED, 0, diagonal, more));
  LAC_TRY(ctx->kernels->axpy(ctx, shift, 0, more, c));
done:
  lac_array_destroy(&more);
  return status;
}

/// Eliminate until the pivots are positive; made->shift says with which shift. *fault is where the last try failed, or
/// -1.
static lac_status ic0_eliminate(lac_context *ctx, const lac_setup *setup, ic0_part *made, int64_t *fault) {
  lac_status status = LAC_OK;
  int64_t n = setup->pattern->rows, shape[] = {setup->values->meta.shape[0], n};
  lac_map *on_diagonal = NULL;
  lac_array *c = NULL, *lu = NULL, *diagonal = NULL, *pivots = NULL;
  lac_pivot_fault pivot = {.row = -1};

  LAC_TRY(lac_pattern_diagonal(ctx, setup->pattern, &on_diagonal));
  LAC_TRY(lac_relax_like(ctx, setup->values, &c));
  LAC_TRY(lac_relax_like(ctx, setup->values, &lu));
  LAC_TRY(lac_array_create(ctx, c->meta.dtype, 2, shape, &diagonal));
  LAC_TRY(lac_array_create(ctx, c->meta.dtype, 2, shape, &pivots));
  LAC_TRY(ctx->kernels->remap(ctx, on_diagonal, LAC_PLAIN, 0, setup->values, diagonal));
  LAC_TRY(ic0_invert(ctx, diagonal, diagonal, made->inverse, fault));  // no shift helps where these are not positive
  for (int i = 0; *fault < 0 && i < IC0_TRIES; i++) {
    made->shift = i == 0 ? 0 : i == 1 ? ic0_first_shift : made->shift * ic0_growth;
    LAC_TRY(ic0_shift(ctx, setup, on_diagonal, made->shift, diagonal, c));
    LAC_TRY(ctx->kernels->lu_values(ctx, setup->pattern, true, c, lu, NULL, &pivot));
    *fault = pivot.row < 0 ? -1 : pivot.item * n + pivot.row;
    if (*fault < 0) {
      LAC_TRY(ctx->kernels->remap(ctx, on_diagonal, LAC_PLAIN, 0, lu, pivots));
      LAC_TRY(ic0_invert(ctx, pivots, diagonal, made->inverse, fault));
    }
    if (*fault < 0) break;
    if (i + 1 < IC0_TRIES) *fault = -1;
  }
  if (*fault < 0) LAC_TRY(ctx->kernels->remap(ctx, made->to_lower, LAC_PLAIN, 0, lu, made->l));
done:
  lac_map_destroy(&on_diagonal);
  lac_array_destroy(&c);
  lac_array_destroy(&lu);
  lac_array_destroy(&diagonal);
  lac_array_destroy(&pivots);
  return status;
}

static lac_status ic0_structure(lac_context *ctx, const lac_setup *setup, const ic0_part *like, ic0_part *made) {
  lac_status status = LAC_OK;
  lac_dtype dtype = setup->values->meta.dtype;
  int64_t items = setup->values->meta.shape[0];

  if (like) {
    made->lower = lac_pattern_retain(like->lower);
    made->to_lower = lac_map_retain(like->to_lower);
  } else {
    LAC_TRY(lac_pattern_triangle(ctx, setup->pattern, LAC_TRIANGLE_LOWER, -1, &made->lower, &made->to_lower));
  }
  LAC_TRY(lac_array_create(ctx, dtype, 2, (const int64_t[]){items, made->lower->nnz}, &made->l));
  LAC_TRY(lac_relax_array(ctx, dtype, items, setup->pattern->rows, 1, &made->inverse));
done:
  return status;
}

static lac_status ic0_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **part) {
  lac_status status = LAC_OK;
  ic0_part *made = NULL;
  int64_t n = setup->pattern->rows, fault = -1;

  LAC_CHECK(ctx->kernels->lu_values && ctx->kernels->trisolve, LAC_ERR_UNSUPPORTED,
            "ic0: the backend %s has no elimination or triangular solves; choose jacobi or chebyshev",
            ctx->backend->name);
  LAC_CHECK(setup->is_hermitian, LAC_ERR_SYMMETRY, "ic0: the matrix is not Hermitian; use ilu0");
  LAC_TRY(lac_relax_require_diagonal(ctx, "ic0", setup->pattern));
  LAC_ALLOC(made, 1);
  LAC_TRY(ic0_structure(ctx, setup, like, made));
  LAC_TRY(ic0_eliminate(ctx, setup, made, &fault));
  LAC_CHECK(fault < 0, LAC_ERR_DEFINITE,
            "ic0: the pivot of row %lld in matrix %lld is not positive, with no shift of the diagonal up to %.3g times "
            "itself; the matrix is not positive definite: use ilu0, jacobi or a direct method",
            (long long)(fault % n), (long long)(fault / n), made->shift);
  *part = made, made = NULL;
done:
  ic0_destroy(made);
  return status;
}

static lac_status ic0_create(lac_context *ctx, const lac_setup *setup, void **part) {
  return ic0_refresh(ctx, setup, NULL, part);
}

/// M is Hermitian: M^H = M, and M^T its conjugate.
static lac_status ic0_apply(lac_context *ctx, const void *part, lac_form form, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const ic0_part *ic0 = part;
  bool is_mirrored = form == LAC_TRANSPOSED || form == LAC_CONJUGATED;
  lac_array *t = NULL, *s = NULL;

  LAC_TRY(lac_relax_like(ctx, b, &t));
  LAC_TRY(lac_relax_like(ctx, b, &s));
  LAC_TRY(ctx->kernels->trisolve(ctx, ic0->lower, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT,
                                 is_mirrored ? LAC_CONJUGATED : LAC_PLAIN, ic0->l, b, t));
  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, ic0->inverse, t, s));
  LAC_TRY(ctx->kernels->trisolve(ctx, ic0->lower, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT,
                                 is_mirrored ? LAC_TRANSPOSED : LAC_ADJOINT, ic0->l, s, x));
done:
  lac_array_destroy(&t);
  lac_array_destroy(&s);
  return status;
}

static void ic0_report(const void *part, lac_setup_figures *finding) {
  const ic0_part *ic0 = part;
  *finding = (lac_setup_figures){.bytes = lac_relax_bytes(ic0->l) + lac_relax_bytes(ic0->inverse)};
  if (ic0->shift == 0) return;
  snprintf(
      finding->warning, sizeof finding->warning,
      "ic0: a pivot was not positive; the diagonal was enlarged by the factor 1 + %.3g, which may slow convergence",
      ic0->shift);
}

static bool ic0_is_here(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options) {
  (void)pattern, (void)options;
  return ctx->kernels->lu_values && ctx->kernels->trisolve;
}

const lac_preconditioner_table lac_preconditioner_ic0 = {
    .name = "ic0",
    .is_here = ic0_is_here,
    .create = ic0_create,
    .refresh = ic0_refresh,
    .apply = ic0_apply,
    .report = ic0_report,
    .destroy = ic0_destroy,
};
