// SPDX-License-Identifier: Apache-2.0
/// @file split.c
/// Preconditioners by two triangles.
///
///     op(L U)^-1 b = op(U)^-1 op(L)^-1 b          N, C
///                  = op(L)^-1 op(U)^-1 b          T, H
///
/// The triangles are kept with the pattern, and with them the levels by which their solves are scheduled.

#include "solvers/precondition/relax.h"

void lac_relax_split_destroy(void *split) {
  lac_relax_split *s = split;
  if (!s) return;
  lac_pattern_destroy(&s->lower);
  lac_pattern_destroy(&s->upper);
  lac_map_destroy(&s->to_lower);
  lac_map_destroy(&s->to_upper);
  lac_array_destroy(&s->l);
  lac_array_destroy(&s->u);
  lac_free(s);
}

/// The triangles of a pattern, or those that `like` has.
static lac_status split_structure(lac_context *ctx, const lac_pattern *pattern, const lac_relax_split *like,
                                  lac_relax_split *s) {
  lac_status status = LAC_OK;

  if (like) {
    s->lower = lac_pattern_retain(like->lower);
    s->upper = lac_pattern_retain(like->upper);
    s->to_lower = lac_map_retain(like->to_lower);
    s->to_upper = lac_map_retain(like->to_upper);
    goto done;
  }
  LAC_TRY(lac_pattern_triangle(ctx, pattern, LAC_TRIANGLE_LOWER, -1, &s->lower, &s->to_lower));
  LAC_TRY(lac_pattern_triangle(ctx, pattern, LAC_TRIANGLE_UPPER, 0, &s->upper, &s->to_upper));
done:
  return status;
}

lac_status lac_relax_split_create(lac_context *ctx, const lac_setup *setup, const lac_relax_split *like,
                                  lac_relax_split **out) {
  lac_status status = LAC_OK;
  lac_dtype dtype = setup->values->meta.dtype;
  int64_t items = setup->values->meta.shape[0];
  lac_relax_split *made = NULL;

  LAC_ALLOC(made, 1);
  LAC_TRY(split_structure(ctx, setup->pattern, like, made));
  LAC_TRY(lac_array_create(ctx, dtype, 2, (const int64_t[]){items, made->lower->nnz}, &made->l));
  LAC_TRY(lac_array_create(ctx, dtype, 2, (const int64_t[]){items, made->upper->nnz}, &made->u));
  *out = made, made = NULL;
done:
  lac_relax_split_destroy(made);
  return status;
}

lac_status lac_relax_split_apply(lac_context *ctx, const void *part, lac_form form, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const lac_relax_split *s = part;
  const lac_kernels *k = ctx->kernels;
  lac_array *t = NULL;

  LAC_TRY(lac_relax_like(ctx, b, &t));
  if (lac_form_transposes(form)) {
    LAC_TRY(k->trisolve(ctx, s->upper, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, form, s->u, b, t));
    LAC_TRY(k->trisolve(ctx, s->lower, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, form, s->l, t, x));
  } else {
    LAC_TRY(k->trisolve(ctx, s->lower, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, form, s->l, b, t));
    LAC_TRY(k->trisolve(ctx, s->upper, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, form, s->u, t, x));
  }
done:
  lac_array_destroy(&t);
  return status;
}

void lac_relax_split_report(const void *part, lac_setup_figures *finding) {
  const lac_relax_split *s = part;
  *finding = (lac_setup_figures){.bytes = lac_relax_bytes(s->l) + lac_relax_bytes(s->u)};
}
