// SPDX-License-Identifier: Apache-2.0
/// @file refactor.c
/// A factor of other values by the choices of an earlier one: method, matching, scaling, pivots.
///
/// What was chosen once is not searched for again. It is probed instead (pivoted_fronts.h), and where it does not suit
/// the new values, or they are not what the method needs, they are factored like any others.

#include <stdio.h>
#include <string.h>

#include "solvers/krylov/iterative.h"

static lac_status refactor_check(lac_context *ctx, const lac_factor *like, const lac_array *values) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_CHECK(like, LAC_ERR_ARG, "lac_factor_refactor: the factor is NULL");
  if (like->iterative) {
    LAC_TRY(lac_solver_require_here(ctx, "lac_factor_refactor", values));
  } else {
    LAC_TRY(lac_solver_require_cpu(ctx, "lac_factor_refactor", values));
  }
  LAC_CHECK(values->meta.dtype == like->meta.dtype, LAC_ERR_DTYPE,
            "lac_factor_refactor: the factor is %s, the values are %s; they must agree",
            lac_dtype_name(like->meta.dtype), lac_dtype_name(values->meta.dtype));
  LAC_CHECK(lac_meta_same(&values->meta, &like->meta), LAC_ERR_SHAPE,
            "lac_factor_refactor: the factor was made of values of shape %s, these have %s; factor them with "
            "lac_solver_factor",
            lac_shape_text(like->meta.ndim, like->meta.shape, text),
            lac_shape_text(values->meta.ndim, values->meta.shape, other));
done:
  return status;
}

// "as before: ..." once, however often a factor was made of a factor.
static void refactor_say(lac_factor *f, const lac_factor *like) {
  static const char before[] = "as before: ";
  bool is_said = strncmp(like->reason, before, sizeof before - 1) == 0;
  lac_choose_say(f, "%s%s", is_said ? "" : before, like->reason);
}

static lac_status refactor_run(lac_context *ctx, lac_factor *f, const lac_factor *like) {
  lac_status status = LAC_OK;
  lac_trial trial = {.status = LAC_ERR_SYMMETRY, .fault = {.text = "they are not Hermitian"}};
  bool fits = true;

  LAC_TRY(lac_choose_fits(ctx, f, like->table, &fits));
  if (fits) trial = lac_factor_try_like(ctx, f, like);
  if (trial.status == LAC_OK) {
    refactor_say(f, like);
    goto done;
  }
  if (trial.status == LAC_ERR_MEMORY) LAC_TRY(lac_factor_explain(ctx, f, &trial));
  lac_choose_say(f, "afresh, for what suited the earlier values does not suit these: %s; ", trial.fault.text);
  LAC_TRY(lac_choose(ctx, f));
done:
  return status;
}

lac_status lac_factor_refactor(lac_context *ctx, const lac_factor *like, const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK;
  double begin = lac_solver_seconds();
  lac_factor *f = NULL;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_factor_refactor: out is NULL");
  LAC_TRY(refactor_check(ctx, like, values));
  if (like->iterative) {
    LAC_TRY(lac_iterative_make(ctx, like->core, like, values, &f));
  } else {
    LAC_TRY(lac_factor_begin(ctx, "lac_factor_refactor", like->core, values, &f));
    LAC_TRY(refactor_run(ctx, f, like));
    lac_factor_finish(f, begin);
  }
  atomic_fetch_add(&like->core->factorisations, 1);
  *out = f, f = NULL;
done:
  lac_object_release(f);
  return status;
}
