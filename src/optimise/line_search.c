// SPDX-License-Identifier: Apache-2.0
/// @file line_search.c
/// A step length that fulfils the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6):
///
///     f(t) <= f(0) + armijo t f'(0)    and    |f'(t)| <= curvature |f'(0)|
///
/// Where f no longer differs from f(0) by more than rounding, the first is replaced by what it says of the slope, f'(t)
/// <= (2 armijo - 1) f'(0) (Hager and Zhang), so that the search reaches the bottom. A point that is not finite lies
/// too far.

#include <math.h>

#include "kernels/kernels.h"
#include "optimise/optimise_impl.h"

enum { LINE_TRIALS = 40 };

typedef struct line {
  lac_search *s;
  lac_array *const *x0, *const *d;
  const lac_trial *start;
  double rounding;  // of values
  int trials;
} line;

static void trial_take(const line *l, lac_trial *to, lac_trial *from) {
  lac_point list = to->gradient;

  lac_point_drop(l->s->count, list);
  *to = *from;
  from->gradient = list;
}

static lac_status line_go(line *l, double t) {
  lac_context *ctx = l->s->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < l->s->count; i++) {
    (void)lac_array_edit(l->s->x[i]);
    LAC_TRY(ctx->backend->copy(ctx, l->x0[i], l->s->x[i]));
  }
  LAC_TRY(lac_point_axpy(ctx, l->s->count, t, l->d, l->s->x));
done:
  return status;
}

/// Go to t and evaluate there.
static lac_status line_try(line *l, double t, lac_trial *trial) {
  lac_context *ctx = l->s->ctx;
  lac_status status = LAC_OK;

  l->trials++;
  trial->t = t;
  lac_point_drop(l->s->count, trial->gradient);
  LAC_TRY(line_go(l, t));
  LAC_TRY(lac_search_evaluate(l->s, &trial->value, trial->gradient, &trial->norm));
  LAC_TRY(lac_point_dot(ctx, l->s->count, trial->gradient, l->d, &trial->slope));
  if (!isfinite(trial->value) || !isfinite(trial->slope)) trial->value = INFINITY, trial->slope = NAN;
done:
  return status;
}

static bool line_falls_enough(const line *l, const lac_trial *trial) {
  const lac_optimise_options *o = l->s->options;
  bool is_flat = fabs(trial->value - l->start->value) <= l->rounding;

  return trial->value <= l->start->value + o->armijo * trial->t * l->start->slope ||
         (is_flat && trial->slope <= (2 * o->armijo - 1) * l->start->slope);
}

static bool line_is_done(const line *l, const lac_trial *trial) {
  return line_falls_enough(l, trial) && fabs(trial->slope) <= -l->s->options->curvature * l->start->slope;
}

/// The minimum of the cubic through two trials, kept away from both; the middle where there is none.
static double line_between(const lac_trial *a, const lac_trial *b) {
  double width = b->t - a->t, middle = a->t + width / 2;
  double z = a->slope + b->slope - 3 * (b->value - a->value) / width, under = z * z - a->slope * b->slope;
  double w = copysign(sqrt(under > 0 ? under : 0), width);
  double t = b->t - width * (b->slope + w - z) / (b->slope - a->slope + 2 * w), share = (t - a->t) / width;

  if (!isfinite(b->value) || !isfinite(t) || under < 0) return middle;
  return share < 0.1 ? a->t + 0.1 * width : share > 0.9 ? a->t + 0.9 * width : t;
}

/// Narrow the bracket [low, high] until a trial is done. `low` is the best so far; it is what remains when none is.
static lac_status line_zoom(line *l, lac_trial *low, lac_trial *high, lac_trial *trial) {
  lac_context *ctx = l->s->ctx;
  lac_status status = LAC_OK;

  while (l->trials < LINE_TRIALS && high->t != low->t) {
    double t = line_between(low, high);
    if (t == low->t || t == high->t) break;  // nothing lies between
    LAC_TRY(line_try(l, t, trial));
    if (line_is_done(l, trial)) {
      trial_take(l, low, trial);
      break;
    }
    if (!line_falls_enough(l, trial) || trial->value >= low->value + l->rounding) {
      trial_take(l, high, trial);
    } else {
      if (trial->slope * (high->t - low->t) >= 0) trial_take(l, high, low);
      trial_take(l, low, trial);
    }
  }
done:
  return status;
}

/// Lengthen the step until it is done or a bracket is found; `low` receives the best trial.
static lac_status line_bracket(line *l, double first, lac_trial *low, lac_trial *high, lac_trial *trial) {
  lac_context *ctx = l->s->ctx;
  lac_status status = LAC_OK;

  for (double t = first; l->trials < LINE_TRIALS && isfinite(t); t *= 2) {
    LAC_TRY(line_try(l, t, trial));
    if (line_is_done(l, trial)) {
      trial_take(l, low, trial);
      break;
    }
    if (!line_falls_enough(l, trial) || (low->t > 0 && trial->value >= low->value + l->rounding)) {
      trial_take(l, high, trial);
      LAC_TRY(line_zoom(l, low, high, trial));
      break;
    }
    if (trial->slope >= 0) {
      trial_take(l, high, low);
      trial_take(l, low, trial);
      LAC_TRY(line_zoom(l, low, high, trial));
      break;
    }
    trial_take(l, low, trial);
  }
done:
  return status;
}

lac_status lac_line_search(lac_search *s, lac_array *const *x0, lac_array *const *d, const lac_trial *start,
                           double first, lac_trial *found) {
  lac_context *ctx = s->ctx;
  lac_status status = LAC_OK, after;
  lac_trial low = {.value = start->value, .slope = start->slope}, high = {0}, trial = {0};
  line l = {.s = s, .x0 = x0, .d = d, .start = start};

  l.rounding = 1000 * lac_search_rounding(s) * fabs(start->value);  // of a value that is a long sum
  LAC_TRY(lac_point_empty(ctx, s->count, &low.gradient));
  LAC_TRY(lac_point_empty(ctx, s->count, &high.gradient));
  LAC_TRY(lac_point_empty(ctx, s->count, &trial.gradient));
  LAC_TRY(line_bracket(&l, first, &low, &high, &trial));
  if (!line_is_done(&l, &low) && !(low.value < start->value)) low.t = 0;  // flat is not lower
done:
  after = line_go(&l, status == LAC_OK ? low.t : 0);  // where the search ends, whatever was tried last
  if (status == LAC_OK) status = after;
  if (status == LAC_OK) trial_take(&l, found, &low);
  lac_point_destroy(s->count, &low.gradient);
  lac_point_destroy(s->count, &high.gradient);
  lac_point_destroy(s->count, &trial.gradient);
  return status;
}
