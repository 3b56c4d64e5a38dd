// SPDX-License-Identifier: Apache-2.0
/// @file ilu0.c
/// Incomplete LU without fill.
///
///     M = L U          elimination of A, of which only what falls on entries of A is kept

#include "solvers/precondition/relax.h"

/// L\U on the pattern; zero pivots are named.
static lac_status ilu0_eliminate(lac_context *ctx, const lac_setup *setup, lac_array *lu) {
  lac_status status = LAC_OK;
  lac_pivot_fault fault = {.row = -1};

  LAC_TRY(ctx->kernels->lu_values(ctx, setup->pattern, false, setup->values, lu, NULL, &fault));
  LAC_CHECK(fault.row < 0, LAC_ERR_SINGULAR,
            "ilu0: the pivot of row %lld in matrix %lld is zero; another order of the rows, block_jacobi or a direct "
            "method, which pivots, may do",
            (long long)fault.row, (long long)fault.item);
done:
  return status;
}

/// A pivot that nothing is divided by in elimination, the last one, is divided by in solves.
static lac_status ilu0_check_pivots(lac_context *ctx, const lac_relax_split *s) {
  lac_status status = LAC_OK;
  int64_t items = s->u->meta.shape[0], n = s->upper->rows, fault = -1;
  lac_map *map = NULL;
  lac_array *pivots = NULL;

  LAC_TRY(lac_pattern_diagonal(ctx, s->upper, &map));
  LAC_TRY(lac_array_create(ctx, s->u->meta.dtype, 2, (const int64_t[]){items, n}, &pivots));
  LAC_TRY(ctx->kernels->remap(ctx, map, LAC_PLAIN, 0, s->u, pivots));
  LAC_TRY(ctx->kernels->reciprocal(ctx, pivots, pivots, &fault));
  LAC_CHECK(
      fault < 0, LAC_ERR_SINGULAR,
      "ilu0: the pivot of row %lld in matrix %lld is zero or not finite; another order of the rows, block_jacobi or "
      "a direct method, which pivots, may do",
      (long long)(fault % n), (long long)(fault / n));
done:
  lac_map_destroy(&map);
  lac_array_destroy(&pivots);
  return status;
}

static lac_status ilu0_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **part) {
  lac_status status = LAC_OK;
  lac_relax_split *made = NULL;
  lac_array *lu = NULL;

  LAC_CHECK(ctx->kernels->lu_values && ctx->kernels->trisolve, LAC_ERR_UNSUPPORTED,
            "ilu0: the backend %s has no elimination or triangular solves; choose jacobi or chebyshev",
            ctx->backend->name);
  LAC_TRY(lac_relax_require_diagonal(ctx, "ilu0", setup->pattern));
  LAC_TRY(lac_relax_split_create(ctx, setup, like, &made));
  LAC_TRY(lac_relax_like(ctx, setup->values, &lu));
  LAC_TRY(ilu0_eliminate(ctx, setup, lu));
  LAC_TRY(ctx->kernels->remap(ctx, made->to_lower, LAC_PLAIN, 0, lu, made->l));
  LAC_TRY(ctx->kernels->remap(ctx, made->to_upper, LAC_PLAIN, 0, lu, made->u));
  LAC_TRY(ilu0_check_pivots(ctx, made));
  *part = made, made = NULL;
done:
  lac_relax_split_destroy(made);
  lac_array_destroy(&lu);
  return status;
}

static lac_status ilu0_create(lac_context *ctx, const lac_setup *setup, void **part) {
  return ilu0_refresh(ctx, setup, NULL, part);
}

static bool ilu0_is_here(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options) {
  (void)pattern, (void)options;
  return ctx->kernels->lu_values && ctx->kernels->trisolve;
}

const lac_preconditioner_table lac_preconditioner_ilu0 = {
    .name = "ilu0",
    .is_here = ilu0_is_here,
    .create = ilu0_create,
    .refresh = ilu0_refresh,
    .apply = lac_relax_split_apply,
    .report = lac_relax_split_report,
    .destroy = lac_relax_split_destroy,
};
