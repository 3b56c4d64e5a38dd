// SPDX-License-Identifier: Apache-2.0
/// @file lbfgs.c
/// L-BFGS: d = -H g by the two-loop recursion over the last steps s = x' - x and y = g' - g, then a line search along
/// d.
///
///     a_k = <s_k, d> / <s_k, y_k>,  d -= a_k y_k       newest first
///     d  *= <s, y> / <y, y>                            of the newest
///     d  += (a_k - <y_k, d> / <s_k, y_k>) s_k          oldest first

#include <math.h>

#include "kernels/kernels.h"
#include "optimise/optimise_impl.h"

typedef struct lbfgs {
  lac_search *s;
  int pairs, next;  // how many are there; where the next one goes
  lac_point *step, *change;
  double *curvature, *alpha;  // <s, y> of each; what the first loop leaves for the second
  lac_point x0, d;
} lbfgs;

static lac_status lbfgs_open(lac_search *s, lbfgs *l) {
  lac_context *ctx = s->ctx;
  lac_status status = LAC_OK;

  *l = (lbfgs){.s = s};
  LAC_ALLOC(l->step, s->options->memory);
  LAC_ALLOC(l->change, s->options->memory);
  LAC_ALLOC(l->curvature, s->options->memory);
  LAC_ALLOC(l->alpha, s->options->memory);
  LAC_TRY(lac_point_make(ctx, s->count, s->x, &l->x0));
  LAC_TRY(lac_point_make(ctx, s->count, s->x, &l->d));
done:
  return status;
}

static void lbfgs_close(lbfgs *l) {
  for (int k = 0; k < l->s->options->memory; k++) {
    if (l->step) lac_point_destroy(l->s->count, &l->step[k]);
    if (l->change) lac_point_destroy(l->s->count, &l->change[k]);
  }
  lac_free(l->step);
  lac_free(l->change);
  lac_free(l->curvature);
  lac_free(l->alpha);
  lac_point_destroy(l->s->count, &l->x0);
  lac_point_destroy(l->s->count, &l->d);
}

/// The place of the pair that is `age` steps old; 0 is the newest.
static int lbfgs_place(const lbfgs *l, int age) {
  int memory = l->s->options->memory;
  return (l->next - 1 - age + 2 * memory) % memory;
}

/// d = -H g
static lac_status lbfgs_direction(lbfgs *l, lac_array *const *gradient) {
  lac_context *ctx = l->s->ctx;
  lac_status status = LAC_OK;
  int n = l->s->count;
  double product, square;

  LAC_TRY(lac_point_scale(ctx, n, -1, gradient, l->d));
  for (int age = 0; age < l->pairs; age++) {
    int k = lbfgs_place(l, age);
    LAC_TRY(lac_point_dot(ctx, n, l->step[k], l->d, &product));
    l->alpha[k] = product / l->curvature[k];
    LAC_TRY(lac_point_axpy(ctx, n, -l->alpha[k], l->change[k], l->d));
  }
  if (l->pairs) {
    int k = lbfgs_place(l, 0);
    LAC_TRY(lac_point_dot(ctx, n, l->change[k], l->change[k], &square));
    LAC_TRY(lac_point_scale(ctx, n, l->curvature[k] / square, l->d, l->d));
  }
  for (int age = l->pairs - 1; age >= 0; age--) {
    int k = lbfgs_place(l, age);
    LAC_TRY(lac_point_dot(ctx, n, l->change[k], l->d, &product));
    LAC_TRY(lac_point_axpy(ctx, n, l->alpha[k] - product / l->curvature[k], l->step[k], l->d));
  }
done:
  return status;
}

/// Keep the pair of a step, in the place of the oldest. One whose curvature is lost in rounding is left out.
static lac_status lbfgs_remember(lbfgs *l, const lac_trial *before, const lac_trial *now) {
  lac_context *ctx = l->s->ctx;
  lac_status status = LAC_OK;
  int n = l->s->count, k = l->next;
  double curvature, square;

  if (!l->step[k]) LAC_TRY(lac_point_make(ctx, n, l->s->x, &l->step[k]));
  if (!l->change[k]) LAC_TRY(lac_point_make(ctx, n, l->s->x, &l->change[k]));
  LAC_TRY(lac_point_scale(ctx, n, now->t, l->d, l->step[k]));
  LAC_TRY(lac_point_scale(ctx, n, 1, now->gradient, l->change[k]));
  LAC_TRY(lac_point_axpy(ctx, n, -1, before->gradient, l->change[k]));
  LAC_TRY(lac_point_dot(ctx, n, l->step[k], l->change[k], &curvature));
  LAC_TRY(lac_point_dot(ctx, n, l->change[k], l->change[k], &square));
  if (l->pairs == l->s->options->memory) l->pairs--;  // the place of the oldest was used
  if (!(curvature > 0) || !(square > 0) || !isfinite(curvature / square)) goto done;
  l->curvature[k] = curvature;
  l->next = k + 1 < l->s->options->memory ? k + 1 : 0;
  l->pairs++;
done:
  return status;
}

/// One step from `now`, which becomes where it led. `is_stuck` when no direction leads down.
static lac_status lbfgs_step(lbfgs *l, lac_trial *now, lac_trial *next, bool *is_stuck) {
  lac_search *s = l->s;
  lac_context *ctx = s->ctx;
  lac_status status = LAC_OK;
  lac_trial old;

  for (int attempt = 0; attempt < 2; attempt++) {
    for (int i = 0; i < s->count; i++) LAC_TRY(ctx->backend->copy(ctx, s->x[i], l->x0[i]));
    LAC_TRY(lbfgs_direction(l, now->gradient));
    LAC_TRY(lac_point_dot(ctx, s->count, now->gradient, l->d, &now->slope));
    if (now->slope < 0) {
      double first = l->pairs ? 1 : fmin(1, 1 / now->norm);
      LAC_TRY(lac_line_search(s, l->x0, l->d, now, first, next));
      if (next->t > 0) break;
    }
    *is_stuck = !l->pairs;
    if (*is_stuck) goto done;
    l->pairs = 0;  // once more, straight down
  }
  *is_stuck = !(next->t > 0);
  if (*is_stuck) goto done;
  LAC_TRY(lbfgs_remember(l, now, next));
  old = *now;
  *now = *next, *next = old;
  lac_point_drop(s->count, next->gradient);
done:
  return status;
}

lac_status lac_search_lbfgs(lac_search *s) {
  lac_context *ctx = s->ctx;
  lac_status status = LAC_OK;
  lbfgs l = {.s = s};
  lac_trial now = {0}, next = {0};
  double before = NAN;
  bool is_stuck = false;

  LAC_TRY(lbfgs_open(s, &l));
  LAC_TRY(lac_point_empty(ctx, s->count, &now.gradient));
  LAC_TRY(lac_point_empty(ctx, s->count, &next.gradient));
  LAC_TRY(lac_search_evaluate(s, &now.value, now.gradient, &now.norm));
  s->report->first_value = now.value, s->report->first_gradient_norm = now.norm;
  while (!lac_search_ends(s, now.value, before, now.norm)) {
    before = now.value;
    LAC_TRY(lbfgs_step(&l, &now, &next, &is_stuck));
    if (is_stuck) {
      lac_search_end(s, LAC_OUTCOME_NO_DECREASE,
                     "not converged: no lower point along the line; the gradient is %.3e of the first",
                     now.norm / s->report->first_gradient_norm);
      break;
    }
    s->report->iterations++;
    s->report->step = now.t;
  }
done:
  lbfgs_close(&l);
  lac_point_destroy(s->count, &now.gradient);
  lac_point_destroy(s->count, &next.gradient);
  return status;
}
