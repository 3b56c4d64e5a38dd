// SPDX-License-Identifier: Apache-2.0
/// @file gradcheck.c
/// Check derivatives in random directions.
///
///     adjoint   Re <y_bar, J x_dot> = Re <J^H y_bar, x_dot>                 no step size: to rounding
///     tangent   J x_dot             = (f(x + h x_dot) - f(x - h x_dot)) / 2h
///
/// The second order is the first order of the gradient: the function x -> J(x)^H y_bar with y_bar frozen.
///
/// What holds to the tolerances is right. Where something does not, either a rule is wrong or the numbers are not that
/// certain: an ill-conditioned solve magnifies roundings, an iterative one ends at its tolerance, a curved function
/// wants another step. So the noise is measured then (gradcheck_noise.c), the difference is taken with the step that
/// suits it, and a rule is called wrong only where noise does not explain what is left. Where noise may hide an error
/// of one part in a hundred, there is no judgement, and the sentence says that.

#include <stdio.h>

#include "autodiff/gradcheck_impl.h"
#include "core/array_impl.h"
#include "core/sized.h"

// Relative to the derivative: a deviation that noise may explain, so that an error of 1 % is not among them; and how
// much noise may explain for that to be no coincidence. Bounds of noise are several times what it does.
static const double CHECK_EXCUSED = 4e-3, CHECK_NOISE = 3e-2;

// Relative to the values: a derivative that is only its own noise is zero, and judged relative to this.
static const double CHECK_ZERO = 1e-3;

/// One comparison: two numbers that should be equal, and by how much they are not, relative to what they are made of.
typedef struct comparison {
  double complex derived, expected;
  int64_t at;  // where in the output they stand
  double deviation;
  double tolerance, excuse;  // that of the options; what noise explains
  double step, rival;        // of the difference
} comparison;

lac_gradcheck_options lac_gradcheck_options_defaults(void) {
  return (lac_gradcheck_options){.size = sizeof(lac_gradcheck_options), .order = 2, .seed = 1};
}

enum { CHECK_TEXT = 96 };

/// "leaf 2", or "all leaves", into `text`.
static const char *check_leaves_text(const check *c, char text[CHECK_TEXT]) {
  const bool is_one = (c->subset & (c->subset - 1)) == 0;

  (void)snprintf(text, CHECK_TEXT, is_one ? "leaf %d" : "all leaves", __builtin_ctz(c->subset));
  return text;
}

/// "1.5", or "1.5-2i", into `text`.
static const char *check_number_text(double complex number, char text[CHECK_TEXT]) {
  (void)snprintf(text, CHECK_TEXT, cimag(number) == 0 ? "%.12g" : "%.12g%+.12gi", creal(number), cimag(number));
  return text;
}

// -- the adjoint identity --------------------------------------------------------------------------------------------

/// Whether a deviation, and the part of it that noise explains, are small relative to the derivative.
static bool check_is_certain(double deviation, double excuse, double derivative) {
  return deviation <= CHECK_EXCUSED * derivative && excuse <= CHECK_NOISE * derivative;
}

static lac_status check_doubt_adjoint(check *c, const reading *r, double excuse) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const double share = fmax(fabs(r->forward), fabs(r->reverse)) / r->terms;
  char leaves[CHECK_TEXT];

  LAC_CHECK(check_is_certain(fabs(lac_check_adjoint(r)), excuse, share), LAC_ERR_CONVERGENCE,
            "lac_gradcheck: adjoint identity, order %d, %s: the function is too noisy here to judge its rules: "
            "<J^H seed, x_dot> is %.12g and <seed, J x_dot> is %.12g, and of the %.2e of their terms by which they "
            "differ, noise explains up to %.2e; tighten rtol of iterative solves, compute in f64, or check where the "
            "matrices are better conditioned",
            c->level, check_leaves_text(c, leaves), r->reverse, r->forward, fabs(lac_check_adjoint(r)), excuse);
done:
  return status;
}

static lac_status check_judge_adjoint(check *c, evidence *e, double *worst) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const reading *r = &e->base;
  const double deviation = fabs(lac_check_adjoint(r));
  double allowed = c->options.tolerance;
  char leaves[CHECK_TEXT];

  *worst = check_max(*worst, deviation);
  if (isfinite(deviation) && deviation > allowed) {
    LAC_TRY(lac_check_measure(c, e));
    allowed = check_max(allowed, e->noise.adjoint);
  }
  LAC_CHECK(deviation <= allowed, LAC_ERR_CONVERGENCE,
            "lac_gradcheck: adjoint identity, order %d, %s: <J^H seed, x_dot> is %.12g and <seed, J x_dot> is %.12g; "
            "they differ by %.2e of their terms where %.2e is allowed: vjp and jvp do not belong together",
            c->level, check_leaves_text(c, leaves), r->reverse, r->forward, deviation, allowed);
  if (deviation > c->options.tolerance) LAC_TRY(check_doubt_adjoint(c, r, allowed));
done:
  return status;
}

// -- the tangent -----------------------------------------------------------------------------------------------------

/// The largest number of a list; one that is not there is zero.
static double check_largest(int64_t count, const double complex *numbers) {
  double largest = 0;
  for (int64_t k = 0; numbers && k < count; k++) largest = check_max(largest, cabs(numbers[k]));
  return largest;
}

/// What deviations of output i are relative to: the derivative, whose size is `derivative`, however small that is
/// relative to the values, as long as it is more than its own noise.
static double check_scale(const evidence *e, int i, double derivative) {
  const int64_t count = e->base.count[i];
  const bool is_zero = e->noise.is_known && check_largest(count, e->base.tangent[i]) <= e->noise.tangent[i];
  const double scale =
      is_zero ? check_max(derivative, CHECK_ZERO * check_largest(count, e->base.value[i])) : derivative;
  return scale == 0 ? 1 : scale;
}

/// J x_dot against a difference where they differ most. Values that do not move at all may be rounded to steps that are
/// longer than that of the difference, so that it says nothing of J x_dot.
static comparison check_compare(const check *c, const evidence *e, int i, const difference *d) {
  const int64_t count = e->base.count[i];
  const double complex *exact = e->base.tangent[i];
  const double tangent = check_largest(count, exact), quotient = check_largest(count, d->quotient);
  const double derivative = check_max(tangent, quotient), scale = check_scale(e, i, derivative);
  comparison found = {.step = d->step, .rival = d->rival};
  double worst = 0;

  for (int64_t k = 0; k < count; k++) {
    double complex derived = exact ? exact[k] : 0;
    double gap = cabs(d->quotient[k] - derived);
    if (check_worse(gap, worst)) worst = gap, found.derived = derived, found.expected = d->quotient[k], found.at = k;
  }
  found.deviation = worst / scale;
  found.tolerance = c->options.fd_tolerance * (scale > derivative ? derivative / scale : 1);
  found.excuse = check_max(d->truncation + d->noise + d->tangent, quotient == 0 ? tangent : 0) / scale;
  return found;
}

static bool check_is_finite(const reading *r, int i) {
  bool is_finite = true;
  for (int64_t k = 0; is_finite && k < r->count[i]; k++) {
    is_finite = isfinite(cabs(r->value[i][k])) && !(r->tangent[i] && !isfinite(cabs(r->tangent[i][k])));
  }
  return is_finite;
}

/// What else is known of a function that cannot be judged: another difference, and where it fails. Into `text`.
static const char *check_hint_text(const evidence *e, double rival, char text[LAC_SENTENCE_SIZE]) {
  int used = 0;

  text[0] = '\0';
  if (rival > 0) {
    used = snprintf(text, LAC_SENTENCE_SIZE,
                    "; with step %.1e the difference is another one: give that as options.step if values are rounded "
                    "coarsely",
                    rival);
  }
  if (e->outside.status != LAC_OK) {
    (void)snprintf(text + used, LAC_SENTENCE_SIZE - (size_t)used, "; with step %.1e the function fails: %s",
                   e->outside.step, e->outside.sentence);
  }
  return text;
}

static bool check_has_values(const evidence *e) {
  bool has = false;
  for (int j = 0; j < CHECK_RUNGS; j++) has = has || e->rungs[j].is_there;
  return has;
}

/// No step serves. Where the function has no value near x at all, that is its own failure.
static lac_status check_refuse(check *c, const evidence *e) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  char leaves[CHECK_TEXT], hint[LAC_SENTENCE_SIZE];

  LAC_CHECK(check_has_values(e), e->outside.status,
            "lac_gradcheck: central difference, order %d, %s: the function has no value near x; compute in "
            "f64, or check where the matrices are better conditioned; with step %.1e: %s",
            c->level, check_leaves_text(c, leaves), e->outside.step, e->outside.sentence);
  LAC_FAIL(
      LAC_ERR_CONVERGENCE,
      "lac_gradcheck: central difference, order %d, %s: the function is too noisy here to judge its rules, or not "
      "smooth: no differences with steps from %.1e to %.1e fit together; tighten rtol of iterative solves, compute "
      "in f64, or check where the matrices are better conditioned%s",
      c->level, check_leaves_text(c, leaves), lac_check_shortest(c), c->options.step, check_hint_text(e, 0, hint));
done:
  return status;
}

/// The comparison to judge: with the first step where that will do, else with the best one.
static lac_status check_choose(check *c, evidence *e, int i, comparison *found) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  difference first = {0}, best = {0};

  LAC_TRY(lac_check_first(c, e, i, &first));
  if (first.quotient) *found = check_compare(c, e, i, &first);
  if (first.quotient && (found->deviation <= found->tolerance || !check_is_finite(&e->base, i))) goto done;
  LAC_TRY(lac_check_best(c, e, i, &best));
  if (best.quotient) {
    *found = check_compare(c, e, i, &best);
  } else {
    LAC_TRY(check_refuse(c, e));
  }
done:
  lac_free(first.quotient);
  lac_free(best.quotient);
  return status;
}

static lac_status check_doubt_tangent(check *c, const evidence *e, const comparison *found) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  char leaves[CHECK_TEXT], hint[LAC_SENTENCE_SIZE];

  LAC_CHECK(check_is_certain(found->deviation, found->excuse, 1), LAC_ERR_CONVERGENCE,
            "lac_gradcheck: central difference, order %d, %s: the function is too noisy here to judge its rules, or "
            "not smooth: the best difference, with step %.1e, is certain to %.2e of the largest number, and J x_dot "
            "differs from it by %.2e; tighten rtol of iterative solves, compute in f64, or check where the matrices "
            "are better conditioned%s",
            c->level, check_leaves_text(c, leaves), found->step, found->excuse, found->deviation,
            check_hint_text(e, found->rival, hint));
done:
  return status;
}

static lac_status check_judge_tangent(check *c, const evidence *e, const comparison *found, double *worst) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const double allowed = check_max(found->tolerance, found->excuse);
  char leaves[CHECK_TEXT], derived[CHECK_TEXT], expected[CHECK_TEXT];

  *worst = check_max(*worst, found->deviation);
  LAC_CHECK(
      found->deviation <= allowed, LAC_ERR_CONVERGENCE,
      "lac_gradcheck: central difference, order %d, %s: number %lld of J x_dot is %s and the difference is %s; they "
      "differ by %.2e of the largest where %.2e is allowed (step %.1e): the derivative is wrong, or the function is "
      "not smooth here",
      c->level, check_leaves_text(c, leaves), (long long)found->at, check_number_text(found->derived, derived),
      check_number_text(found->expected, expected), found->deviation, allowed, found->step);
  if (found->deviation > found->tolerance || found->rival > 0) LAC_TRY(check_doubt_tangent(c, e, found));
done:
  return status;
}

// -- levels ----------------------------------------------------------------------------------------------------------

/// Where one level stands in the report.
typedef struct verdict {
  double *adjoint, *tangent, *noise, *step;
} verdict;

/// The noise that was measured, relative to the largest number of its output.
static void check_tell_noise(const evidence *e, double *worst) {
  for (int i = 0; e->noise.is_known && i < e->base.outs; i++) {
    const double size = check_largest(e->base.count[i], e->base.value[i]);
    if (size > 0) *worst = check_max(*worst, e->noise.value[i] / size);
  }
}

/// Both comparisons at one level for one subset of the leaves.
static lac_status check_level(check *c, verdict v) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  evidence *e = NULL;
  comparison found = {0};

  LAC_ALLOC(e, 1);
  LAC_TRY(lac_check_draw(c));
  LAC_TRY(lac_check_read(c, (check_point){.has_derivatives = true}, &e->base));
  LAC_TRY(check_judge_adjoint(c, e, v.adjoint));
  for (int i = 0; i < e->base.outs; i++) {
    LAC_TRY(check_choose(c, e, i, &found));
    if (check_worse(found.deviation, *v.tangent)) *v.step = found.step;
    LAC_TRY(check_judge_tangent(c, e, &found, v.tangent));
  }
done:
  if (e) check_tell_noise(e, v.noise), lac_check_drop(e);
  lac_free(e);
  lac_check_forget(c);
  return status;
}

/// What the caller left open, tolerances by the precision of the leaves.
static lac_status check_options(lac_context *ctx, const lac_gradcheck_options *o) {
  lac_status status = LAC_OK;

  LAC_CHECK(o->order >= 0 && o->order <= 2, LAC_ERR_ARG,
            "lac_gradcheck: order is %d; it is 1, 2, or 0 for the default, 2", o->order);
  LAC_CHECK(
      o->step >= 0 && o->tolerance >= 0 && o->fd_tolerance >= 0, LAC_ERR_ARG,
      "lac_gradcheck: step, tolerance and fd_tolerance are %g, %g and %g; none may be negative or NaN, and 0 is the "
      "default",
      o->step, o->tolerance, o->fd_tolerance);
done:
  return status;
}

static void check_settle(lac_gradcheck_options *options, double epsilon) {
  if (options->order == 0) options->order = lac_gradcheck_options_defaults().order;
  if (options->seed == 0) options->seed = lac_gradcheck_options_defaults().seed;
  if (options->step <= 0) options->step = cbrt(epsilon);
  if (options->tolerance <= 0) options->tolerance = 1e3 * epsilon;
  if (options->fd_tolerance <= 0) options->fd_tolerance = fmin(1e3 * options->step * options->step, CHECK_EXCUSED);
}

/// Both levels for the subset of the leaves.
static lac_status check_subset(check *c, uint32_t subset, lac_gradcheck_report *seen) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  c->subset = subset;
  c->level = 1;
  LAC_TRY(check_level(c, (verdict){&seen->adjoint, &seen->tangent, &seen->noise, &seen->step}));
  c->level = 2;
  if (c->options.order < 2) goto done;
  LAC_TRY(
      check_level(c, (verdict){&seen->second_adjoint, &seen->second_tangent, &seen->second_noise, &seen->second_step}));
done:
  return status;
}

lac_status lac_gradcheck(lac_context *ctx, lac_gradcheck_function function, void *user, int count,
                         const lac_array *const *leaves, const lac_gradcheck_options *options,
                         lac_gradcheck_report *report) {
  lac_status status = LAC_OK;
  const lac_sized type = LAC_SIZED(lac_gradcheck_report, second_step);
  lac_gradcheck_report seen = {0};
  bool has_report = false;
  check c = {.ctx = ctx, .function = function, .user = user, .count = count, .leaves = leaves};

  LAC_CHECK_CONTEXT();
  if (report) LAC_TRY(lac_sized_check(ctx, "lac_gradcheck", type, report));
  has_report = report != NULL;
  LAC_CHECK(function && leaves && count > 0 && count <= CHECK_MAX_LEAVES, LAC_ERR_ARG,
            "lac_gradcheck: needs a function and 1 to %d leaves, got %d", CHECK_MAX_LEAVES, count);
  for (int i = 0; i < count; i++) {
    LAC_CHECK(leaves[i], LAC_ERR_ARG, "lac_gradcheck: leaf %d of %d is NULL; give an array for each", i, count);
  }
  LAC_TRY(lac_sized_take(ctx, "lac_gradcheck", LAC_SIZED(lac_gradcheck_options, seed), options, &c.options));
  LAC_TRY(check_options(ctx, &c.options));
  check_settle(&c.options, lac_dtype_epsilon(leaves[0]->meta.dtype));
  LAC_TRY(check_subset(&c, (1u << count) - 1, &seen));  // all leaves together, then each alone
  for (int i = 0; count > 1 && i < count; i++) LAC_TRY(check_subset(&c, 1u << i, &seen));
done:
  lac_array_destroy(&c.y_bar);
  if (has_report) lac_sized_give(type, &seen, report);
  return status;
}
