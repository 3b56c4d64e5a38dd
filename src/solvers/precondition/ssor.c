// SPDX-License-Identifier: Apache-2.0
/// @file ssor.c
/// Symmetric successive over-relaxation.
///
///     M = (D/w + L) (w/(2-w) D^-1) (D/w + U)           A = L + D + U, 0 < w < 2
///       = (1 + w L D^-1) (D/w + U) / (2-w)             so that two triangular solves do

#include "solvers/precondition/relax.h"

/// y = s x with a factor for each slot's row or column: y = x d[target].
static lac_status ssor_scale(lac_context *ctx, const lac_map *lines, const lac_array *d, lac_array *y) {
  lac_status status = LAC_OK;
  lac_array *spread = NULL, *product = NULL;

  LAC_TRY(lac_relax_like(ctx, y, &spread));
  LAC_TRY(lac_relax_like(ctx, y, &product));
  LAC_TRY(ctx->kernels->remap(ctx, lines, LAC_TRANSPOSED, 0, d, spread));
  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, spread, y, product));
  LAC_TRY(ctx->backend->copy(ctx, product, y));
done:
  lac_array_destroy(&spread);
  lac_array_destroy(&product);
  return status;
}

/// l = w L D^-1.
static lac_status ssor_lower(lac_context *ctx, const lac_setup *setup, double omega, const lac_array *inverse,
                             lac_relax_split *s) {
  lac_status status = LAC_OK;
  lac_map *cols = NULL;
  lac_array *scaled = NULL;

  LAC_TRY(lac_pattern_col_map(ctx, s->lower, &cols));
  LAC_TRY(ctx->kernels->remap(ctx, s->to_lower, LAC_PLAIN, 0, setup->values, s->l));
  LAC_TRY(lac_relax_like(ctx, inverse, &scaled));
  LAC_TRY(ctx->kernels->scale(ctx, omega, 0, inverse, scaled));
  LAC_TRY(ssor_scale(ctx, cols, scaled, s->l));
done:
  lac_map_destroy(&cols);
  lac_array_destroy(&scaled);
  return status;
}

/// u = (U + D + (1/w - 1) D) / (2 - w).
static lac_status ssor_upper(lac_context *ctx, const lac_setup *setup, double omega, const lac_array *diagonal,
                             lac_relax_split *s) {
  lac_status status = LAC_OK;
  lac_map *on_diagonal = NULL;
  lac_array *raw = NULL, *more = NULL;

  if (omega == 1) {
    LAC_TRY(ctx->kernels->remap(ctx, s->to_upper, LAC_PLAIN, 0, setup->values, s->u));
    goto done;
  }
  LAC_TRY(lac_pattern_diagonal(ctx, s->upper, &on_diagonal));
  LAC_TRY(lac_relax_like(ctx, s->u, &raw));
  LAC_TRY(lac_relax_like(ctx, s->u, &more));
  LAC_TRY(ctx->kernels->remap(ctx, s->to_upper, LAC_PLAIN, 0, setup->values, raw));
  LAC_TRY(ctx->kernels->remap(ctx, on_diagonal, LAC_TRANSPOSED, 0, diagonal, more));
  LAC_TRY(ctx->kernels->axpy(ctx, 1 / omega - 1, 0, more, raw));
  LAC_TRY(ctx->kernels->scale(ctx, 1 / (2 - omega), 0, raw, s->u));
done:
  lac_map_destroy(&on_diagonal);
  lac_array_destroy(&raw);
  lac_array_destroy(&more);
  return status;
}

static lac_status ssor_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **part) {
  lac_status status = LAC_OK;
  double omega = setup->options->preconditioner.omega;
  int64_t shape[] = {setup->values->meta.shape[0], setup->pattern->rows};
  lac_relax_split *made = NULL;
  lac_array *diagonal = NULL, *inverse = NULL, *flat = NULL, *flat_inverse = NULL;

  if (omega == 0) omega = 1;
  LAC_CHECK(omega > 0 && omega < 2, LAC_ERR_ARG, "ssor: omega = %g; it must lie between 0 and 2 (0: the default, 1)",
            omega);
  LAC_CHECK(ctx->kernels->trisolve, LAC_ERR_UNSUPPORTED, "ssor: the backend %s has no triangular solves; choose jacobi",
            ctx->backend->name);
  LAC_TRY(lac_relax_diagonal(ctx, "ssor", setup, &diagonal, &inverse, NULL));
  LAC_TRY(lac_array_reshape(ctx, diagonal, 2, shape, &flat));
  LAC_TRY(lac_array_reshape(ctx, inverse, 2, shape, &flat_inverse));
  LAC_TRY(lac_relax_split_create(ctx, setup, like, &made));
  LAC_TRY(ssor_lower(ctx, setup, omega, flat_inverse, made));
  LAC_TRY(ssor_upper(ctx, setup, omega, flat, made));
  *part = made, made = NULL;
done:
  lac_relax_split_destroy(made);
  lac_array_destroy(&flat);
  lac_array_destroy(&flat_inverse);
  lac_array_destroy(&diagonal);
  lac_array_destroy(&inverse);
  return status;
}

static lac_status ssor_create(lac_context *ctx, const lac_setup *setup, void **part) {
  return ssor_refresh(ctx, setup, NULL, part);
}

static bool ssor_is_here(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options) {
  (void)pattern, (void)options;
  return ctx->kernels->trisolve != NULL;
}

const lac_preconditioner_table lac_preconditioner_ssor = {
    .name = "ssor",
    .is_here = ssor_is_here,
    .create = ssor_create,
    .refresh = ssor_refresh,
    .apply = lac_relax_split_apply,
    .report = lac_relax_split_report,
    .destroy = lac_relax_split_destroy,
};
