// SPDX-License-Identifier: Apache-2.0
/// @file jacobi.c
/// The diagonal as preconditioner.
///
///     op(M)^-1 b = op(D)^-1 b

#include "solvers/precondition/relax.h"

typedef struct jacobi_part {
  lac_array *inverse, *mirrored;  // [items, n, 1]: 1 / d and its conjugate
} jacobi_part;

static void jacobi_destroy(void *part) {
  jacobi_part *jacobi = part;
  if (!jacobi) return;
  lac_array_destroy(&jacobi->inverse);
  lac_array_destroy(&jacobi->mirrored);
  lac_free(jacobi);
}

static lac_status jacobi_create(lac_context *ctx, const lac_setup *setup, void **part) {
  lac_status status = LAC_OK;
  jacobi_part *made = NULL;

  LAC_ALLOC(made, 1);
  LAC_TRY(lac_relax_diagonal(ctx, "jacobi", setup, NULL, &made->inverse, &made->mirrored));
  *part = made, made = NULL;
done:
  jacobi_destroy(made);
  return status;
}

static lac_status jacobi_apply(lac_context *ctx, const void *part, lac_form form, const lac_array *b, lac_array *x) {
  const jacobi_part *jacobi = part;
  const lac_array *scale = lac_form_conjugates(form) ? jacobi->mirrored : jacobi->inverse;
  return ctx->kernels->binary(ctx, LAC_MUL, scale, b, x);
}

static void jacobi_report(const void *part, lac_setup_figures *finding) {
  const jacobi_part *jacobi = part;
  bool has_two = jacobi->mirrored != jacobi->inverse;
  *finding = (lac_setup_figures){.bytes = lac_relax_bytes(jacobi->inverse) * (has_two ? 2 : 1)};
}

const lac_preconditioner_table lac_preconditioner_jacobi = {
    .name = "jacobi",
    .create = jacobi_create,
    .apply = jacobi_apply,
    .report = jacobi_report,
    .destroy = jacobi_destroy,
};
