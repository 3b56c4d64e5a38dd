// SPDX-License-Identifier: Apache-2.0
/// @file identity.c
/// No preconditioner.
///
///     op(M)^-1 b = b

#include "solvers/precondition/preconditioner.h"

static lac_status identity_create(lac_context *ctx, const lac_setup *setup, void **part) {
  lac_status status = LAC_OK;
  char *made = NULL;

  (void)setup;
  LAC_ALLOC(made, 1);  // a part is never NULL
  *part = made;
done:
  return status;
}

static lac_status identity_apply(lac_context *ctx, const void *part, lac_form form, const lac_array *b, lac_array *x) {
  (void)part, (void)form;
  return ctx->backend->copy(ctx, b, x);
}

static void identity_report(const void *part, lac_setup_figures *finding) {
  (void)part;
  *finding = (lac_setup_figures){0};
}

const lac_preconditioner_table lac_preconditioner_identity = {
    .name = "identity",
    .create = identity_create,
    .apply = identity_apply,
    .report = identity_report,
    .destroy = lac_free,
};
