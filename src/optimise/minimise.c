// SPDX-License-Identifier: Apache-2.0
/// @file minimise.c
/// What all methods of lac_minimise share: evaluations, tests for the end, the report; and the loop of first-order
/// methods.

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/sized.h"
#include "kernels/kernels.h"
#include "optimise/optimise_impl.h"

void lac_search_end(lac_search *s, lac_outcome outcome, const char *format, ...) {
  va_list arguments;

  va_start(arguments, format);
  s->report->outcome = outcome;
  (void)vsnprintf(s->report->reason, sizeof s->report->reason, format, arguments);
  va_end(arguments);
}

double lac_search_rounding(const lac_search *s) { return lac_dtype_epsilon(s->x[0]->meta.dtype); }

/// What the objective gave is like x, and is not changed when x is.
static lac_status search_check_gradient(const lac_search *s, lac_point gradient) {
  lac_context *ctx = s->ctx;
  lac_status status = LAC_OK;
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];
  lac_array *copy = NULL;

  for (int i = 0; i < s->count; i++) {
    if (!gradient[i]) continue;
    const lac_meta *g = &gradient[i]->meta, *x = &s->x[i]->meta;
    LAC_CHECK(lac_meta_same(g, x), LAC_ERR_SHAPE,
              "lac_minimise: the objective gave a gradient %d of %s %s where its array is %s %s; make them alike", i,
              lac_dtype_name(g->dtype), lac_shape_text(g->ndim, g->shape, have), lac_dtype_name(x->dtype),
              lac_shape_text(x->ndim, x->shape, want));
    if (!lac_point_shares(s->count, s->x, gradient[i])) continue;
    LAC_TRY(lac_array_clone(ctx, gradient[i], &copy));
    lac_array_destroy(&gradient[i]);
    gradient[i] = copy, copy = NULL;
  }
done:
  return status;
}

lac_status lac_search_evaluate(lac_search *s, double *value, lac_point gradient, double *norm) {
  lac_context *ctx = s->ctx;
  lac_status status = LAC_OK;
  double square = 0;

  *value = NAN;
  ctx->status = LAC_OK;  // so that a code without a sentence does not borrow an older one
  s->report->evaluations++;
  status = s->objective(ctx, s->data, s->count, s->x, value, gradient);
  LAC_CHECK(status == LAC_OK || ctx->status == status, status, "lac_minimise: the objective returned %s",
            lac_status_name(status));
  LAC_TRY(status);
  LAC_TRY(search_check_gradient(s, gradient));
  LAC_TRY(lac_point_dot(ctx, s->count, gradient, gradient, &square));
  *norm = sqrt(square);
done:
  return status;
}

bool lac_search_ends(lac_search *s, double value, double before, double norm) {
  const lac_optimise_options *o = s->options;
  lac_optimise_report *r = s->report;

  r->value = value, r->gradient_norm = norm;
  if (!isfinite(value) || !isfinite(norm)) {
    lac_search_end(s, LAC_OUTCOME_NOT_FINITE, "the %s is not finite after %d steps",
                   isfinite(value) ? "gradient" : "value", r->iterations);
  } else if (norm <= o->gradient_tolerance * r->first_gradient_norm || norm <= o->gradient_absolute) {
    lac_search_end(s, LAC_OUTCOME_SMALL_GRADIENT, "converged: the gradient fell from %.3e to %.3e",
                   r->first_gradient_norm, norm);
  } else if (r->iterations && before - value <= o->value_tolerance * fmax(fabs(before), fabs(value)) &&
             o->value_tolerance > 0) {
    lac_search_end(s, LAC_OUTCOME_SMALL_DECREASE, "converged: the value went from %.15g to %.15g in a step", before,
                   value);
  } else if (r->iterations && o->progress && o->progress(o->progress_data, r)) {
    lac_search_end(s, LAC_OUTCOME_STOPPED, "stopped by the caller after %d steps", r->iterations);
  } else if (r->iterations >= o->max_iterations) {
    lac_search_end(s, LAC_OUTCOME_MAX_ITERATIONS, "not converged: %d steps, the gradient is %.3e of the first",
                   r->iterations, norm / r->first_gradient_norm);
  } else if (o->max_evaluations && r->evaluations >= o->max_evaluations) {
    lac_search_end(s, LAC_OUTCOME_MAX_EVALUATIONS, "not converged: %d evaluations, the gradient is %.3e of the first",
                   r->evaluations, norm / r->first_gradient_norm);
  } else {
    return false;
  }
  return true;
}

/// Gradient descent or Adam.
static lac_status search_first_order(lac_search *s) {
  lac_context *ctx = s->ctx;
  lac_status status = LAC_OK;
  lac_optimiser *optimiser = NULL;
  lac_point gradient = NULL;
  double value = NAN, before, norm = NAN;

  LAC_TRY(lac_optimiser_make(ctx, s->options, s->count, s->x, &optimiser));
  LAC_TRY(lac_point_empty(ctx, s->count, &gradient));
  s->report->step = s->options->rate;
  for (;; s->report->iterations++) {
    before = value;
    lac_point_drop(s->count, gradient);
    LAC_TRY(lac_search_evaluate(s, &value, gradient, &norm));
    if (!s->report->iterations) s->report->first_value = value, s->report->first_gradient_norm = norm;
    if (lac_search_ends(s, value, before, norm)) break;
    LAC_TRY(lac_optimiser_step(optimiser, (const lac_array *const *)gradient));
  }
done:
  lac_point_destroy(s->count, &gradient);
  lac_optimiser_destroy(&optimiser);
  return status;
}

static lac_status search_check(const lac_search *s) {
  lac_context *ctx = s->ctx;
  lac_status status = LAC_OK;
  const lac_optimise_options *o = s->options;

  LAC_CHECK(s->x && s->count > 0 && s->objective, LAC_ERR_ARG,
            "lac_minimise: x or the objective is NULL, or there are no arrays");
  LAC_CHECK(o->method >= LAC_OPTIMISE_LBFGS && o->method <= LAC_OPTIMISE_ADAM, LAC_ERR_ARG,
            "lac_minimise: unknown method %d; use one of lac_optimise_method", (int)o->method);
  LAC_CHECK(o->method != LAC_OPTIMISE_LBFGS ||
                (o->memory > 0 && 0 < o->armijo && o->armijo < o->curvature && o->curvature < 1),
            LAC_ERR_ARG, "lac_minimise: memory %d, armijo %g, curvature %g; memory > 0, 0 < armijo < curvature < 1",
            o->memory, o->armijo, o->curvature);
  LAC_CHECK(o->method != LAC_OPTIMISE_LBFGS || o->decay == 0, LAC_ERR_ARG,
            "lac_minimise: L-BFGS has no weight decay; add the penalty to the objective");
  for (int i = 0; i < s->count; i++) {
    LAC_CHECK(s->x[i], LAC_ERR_ARG, "lac_minimise: array %d is NULL", i);
    LAC_CHECK(s->x[i]->storage->space == ctx->space, LAC_ERR_DEVICE,
              "lac_minimise: array %d is not on the context's device (%s %d); copy it there", i,
              lac_context_backend(ctx), ctx->device);
  }
done:
  return status;
}

lac_status lac_minimise(lac_context *ctx, const lac_optimise_options *options, int count, lac_array *const *x,
                        lac_objective objective, void *data, lac_optimise_report *report) {
  lac_status status = LAC_OK;
  const lac_sized type = LAC_SIZED(lac_optimise_report, reason);
  lac_optimise_options settled;
  lac_optimise_report found = {
      .size = sizeof found, .outcome = LAC_OUTCOME_OBJECTIVE_FAILED, .value = NAN, .first_value = NAN};
  lac_search s = {ctx, &settled, count, x, objective, data, &found};
  bool has_report = false;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(report, LAC_ERR_ARG, "lac_minimise: report is NULL; it alone says whether the search converged");
  LAC_TRY(lac_sized_check(ctx, "lac_minimise", type, report));
  has_report = true;
  LAC_TRY(lac_optimise_take(ctx, "lac_minimise", options, &settled));
  LAC_TRY(search_check(&s));
  LAC_TRY(settled.method == LAC_OPTIMISE_LBFGS ? lac_search_lbfgs(&s) : search_first_order(&s));
  LAC_CHECK(found.outcome != LAC_OUTCOME_NOT_FINITE, LAC_ERR_NONFINITE,
            "lac_minimise: %s; start elsewhere, or lower the rate", found.reason);
done:
  if (status != LAC_OK && found.outcome == LAC_OUTCOME_OBJECTIVE_FAILED) {
    lac_search_end(&s, LAC_OUTCOME_OBJECTIVE_FAILED, "failed with %s", lac_status_name(status));
  }
  if (has_report) lac_sized_give(type, &found, report);
  return status;
}
