// SPDX-License-Identifier: Apache-2.0
/// @file gradcheck_noise.c
/// How far a central difference can be trusted, and the step with which it can be trusted most.
///
///     D(h) = (f(x + h x_dot) - f(x - h x_dot)) / 2h = J x_dot + a h^2 + b h^4 + ...
///     R(h) = (4 D(h) - D(2h)) / 3                   = J x_dot - 4 b h^4 + ...
///
///     |R(h) - J x_dot| <= truncation + noise of D / h + noise of J x_dot
///
///     truncation   what a polynomial of the fourth degree leaves over: |R(2h) - R(h)|, and of the even part of f,
///                  E(h) = (f(x + h x_dot) + f(x - h x_dot) - 2 f(x)) / 2h, a share of |E(4h) - 10 E(2h) + 16 E(h)|.
///                  Without E, a calm region on both sides of a peak would be taken for the peak.
///     noise        what is left over with smaller steps, where a polynomial leaves nothing; and measured: readings at
///                  points a rounding from x, with iterative solves stirred (solvers/krylov/stir.c), would differ by
///                  next to nothing if nothing were rounded and no solve ended early, so their scatter is noise. It is
///                  taken of readings and not foretold: conditions, tolerances and whatever else is inside the function
///                  are in it.
///
/// The first term grows with h and the second falls: the best step lies where they meet. J. J. More and S. M. Wild,
/// Estimating derivatives of noisy simulations, ACM Trans. Math. Softw. 38 (2012), choose it so; R is Richardson's.
///
/// Values that are rounded to coarse steps, as those of (a + 1e10) + b - (a + 1e10), are calm between two of them:
/// neither roundings nor short steps show noise there, and the difference is that of the plateau. So longer steps are
/// asked too: where one is a polynomial again and contradicts the best, that is what the best may be off by.

#include <stdio.h>

#include "autodiff/gradcheck_impl.h"
#include "core/array_impl.h"

enum { NOISE_READINGS = 6 };

// The largest of six scatters is rarely less than a third of the deviation that stands behind them, and a difference
// is rarely off by more than three of these.
static const double NOISE_MARGIN = 6;

// So many smaller steps are looked at for noise, and so much of what they leave over is it: the largest of three is
// rarely less than a fourth of what a difference may be off by.
enum { NOISE_RUNGS = 3 };
static const double LEFT_MARGIN = 4;

// Of |E(4h) - 10 E(2h) + 16 E(h)|: so much more than 1 / 720 as leaves noise in it below that of R.
static const double EVEN_SHARE = 1.0 / 60;

// How much of its variation a polynomial of the fourth degree may miss, and the function still counts as one.
static const double LEFT_OVER = 0.1;

// By chance a step is worse than both of its neighbours; three of them are not.
enum { LOOK_AHEAD = 3 };

// A shorter step, in roundings of x, moves x to points that are not where they should be.
static const double SHORTEST_STEP = 64;

/// The largest |a - b|; a list that is not there is zero.
static double noise_gap(int64_t count, const double complex *a, const double complex *b) {
  double gap = 0;
  for (int64_t k = 0; (a || b) && k < count; k++) gap = check_max(gap, cabs((a ? a[k] : 0) - (b ? b[k] : 0)));
  return gap;
}

static void noise_add(check_noise *n, const reading *base, const reading *r) {
  n->adjoint = check_max(n->adjoint, fabs(lac_check_adjoint(r) - lac_check_adjoint(base)));
  for (int i = 0; i < base->outs; i++) {
    n->value[i] = check_max(n->value[i], noise_gap(base->count[i], r->value[i], base->value[i]));
    n->tangent[i] = check_max(n->tangent[i], noise_gap(base->count[i], r->tangent[i], base->tangent[i]));
  }
}

lac_status lac_check_measure(check *c, evidence *e) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  check_noise found = {.is_known = true};
  reading r = {0};

  if (e->noise.is_known) goto done;
  for (int k = 0; k < NOISE_READINGS; k++) {
    LAC_TRY(lac_check_read(c, (check_point){.is_stirred = true, .has_derivatives = true}, &r));
    noise_add(&found, &e->base, &r);
    lac_check_free(&r);
  }
  found.adjoint *= NOISE_MARGIN;
  for (int i = 0; i < e->base.outs; i++) {
    double rounding = lac_dtype_epsilon(c->leaves[0]->meta.dtype) * noise_gap(e->base.count[i], e->base.value[i], NULL);
    found.value[i] = NOISE_MARGIN * check_max(found.value[i], rounding);
    found.tangent[i] *= NOISE_MARGIN;
  }
  e->noise = found;
done:
  lac_check_free(&r);
  return status;
}

// -- differences -----------------------------------------------------------------------------------------------------

static double rung_step(const check *c, int j) { return ldexp(c->options.step, j - CHECK_RUNGS_DOWN); }

double lac_check_shortest(const check *c) { return SHORTEST_STEP * lac_dtype_epsilon(c->leaves[0]->meta.dtype); }

/// x + h x_dot with h > 1 is nowhere near x.
static bool rung_exists(const check *c, int j) {
  return j >= 0 && j < CHECK_RUNGS && rung_step(c, j) <= 1 && rung_step(c, j) >= lac_check_shortest(c);
}

/// Whether a failure says that a point lies where the function has no value, and that a shorter step may help. A matrix
/// that is not symmetric near x is so with every step: its leaf has both triangles.
static bool rung_is_outside(lac_status status) {
  return status == LAC_ERR_SINGULAR || status == LAC_ERR_DEFINITE || status == LAC_ERR_NONFINITE ||
         status == LAC_ERR_CONVERGENCE;
}

/// Go on after a failure of rung j that shorter steps may not have; the first of them is kept.
static lac_status rung_excuse(check *c, evidence *e, int j, lac_status failed) {
  lac_context *ctx = c->ctx;
  lac_status status = rung_is_outside(failed) ? LAC_OK : failed;
  failure seen = {.status = failed, .step = rung_step(c, j)};

  (void)snprintf(seen.sentence, sizeof seen.sentence, "%s", lac_context_error(ctx));
  LAC_CHECK(
      failed != LAC_ERR_SYMMETRY, failed,
      "lac_gradcheck: order %d: a leaf has both triangles of a symmetric matrix, which a step of %.1e moves apart; "
      "let it have one of them, and make the matrix with lac_remap; %s",
      c->level, seen.step, seen.sentence);
  if (status != LAC_OK) goto done;
  if (e->outside.status == LAC_OK) e->outside = seen;
  lac_context_clear_error(ctx);
done:
  return status;
}

/// Rung j, made when first asked for.
static lac_status rung_find(check *c, evidence *e, int j, const rung **out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  rung *r = &e->rungs[j];

  if (!r->is_tried) {
    status = lac_check_read(c, (check_point){.step = rung_step(c, j)}, &r->plus);
    if (status == LAC_OK) status = lac_check_read(c, (check_point){.step = -rung_step(c, j)}, &r->minus);
    r->is_tried = true, r->is_there = status == LAC_OK;
    if (status != LAC_OK) LAC_TRY(rung_excuse(c, e, j, status));
  }
  *out = r;
done:
  return status;
}

/// D and E of number k of output i with the step of rung j.
static double complex rung_odd(const check *c, const evidence *e, int j, int i, int64_t k) {
  const rung *r = &e->rungs[j];
  return (r->plus.value[i][k] - r->minus.value[i][k]) / (2 * rung_step(c, j));
}

static double complex rung_even(const check *c, const evidence *e, int j, int i, int64_t k) {
  const rung *r = &e->rungs[j];
  return (r->plus.value[i][k] + r->minus.value[i][k] - 2 * e->base.value[i][k]) / (2 * rung_step(c, j));
}

/// Let rungs j and those of two and four times its step be tried; says whether all are there.
static lac_status rung_try_three(check *c, evidence *e, int j, bool *are_there) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const rung *r = NULL;

  *are_there = rung_exists(c, j + 2);
  for (int i = 0; *are_there && i < 3; i++) {
    LAC_TRY(rung_find(c, e, j + i, &r));
    *are_there = r->is_there;
  }
done:
  return status;
}

/// The noise in R at rung j by what was measured: 4/3 of D(h), and of D(2h) half a third.
static double rung_noise(const check *c, const evidence *e, int j, int i) {
  return 1.5 * e->noise.value[i] / rung_step(c, j);
}

/// What is left over of output i at rung j. Infinite where the function ends nearby; and where it is neither noise nor
/// small relative to the function's variation: it fits no polynomial, because so far away the function is another one.
static lac_status rung_left_over(check *c, evidence *e, int j, int i, double *left) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  bool are_there = false;
  double odd = 0, even = 0, varies = 0;

  *left = INFINITY;
  LAC_TRY(rung_try_three(c, e, j, &are_there));
  if (!are_there) goto done;
  for (int64_t k = 0; k < e->base.count[i]; k++) {
    const double complex d1 = rung_odd(c, e, j, i, k), d2 = rung_odd(c, e, j + 1, i, k);
    const double complex e1 = rung_even(c, e, j, i, k), e2 = rung_even(c, e, j + 1, i, k);
    odd = check_max(odd, cabs((4 * d2 - rung_odd(c, e, j + 2, i, k)) / 3 - (4 * d1 - d2) / 3));
    even = check_max(even, cabs(rung_even(c, e, j + 2, i, k) - 10 * e2 + 16 * e1));
    varies = check_max(varies, cabs(d1) + cabs(e1));
  }
  if (odd + even <= LEFT_OVER * varies + 4 * rung_noise(c, e, j, i)) *left = odd + EVEN_SHARE * even;
done:
  return status;
}

/// R of output i with the step of rung j, and what it is good for. Without a quotient where the function is not a
/// polynomial there, or not with the next smaller steps: what lies between x and the points is not known then.
static lac_status rung_difference(check *c, evidence *e, int j, int i, difference *out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  double left = 0;

  *out = (difference){.step = rung_step(c, j), .noise = rung_noise(c, e, j, i), .tangent = e->noise.tangent[i]};
  LAC_TRY(rung_left_over(c, e, j, i, &out->truncation));
  for (int k = 1; k <= NOISE_RUNGS && rung_exists(c, j - k) && isfinite(out->truncation); k++) {
    LAC_TRY(rung_left_over(c, e, j - k, i, &left));
    if (!isfinite(left)) out->truncation = INFINITY;
    out->noise = check_max(out->noise, LEFT_MARGIN * ldexp(left, -k));
  }
  if (!isfinite(out->truncation)) goto done;
  LAC_ALLOC(out->quotient, e->base.count[i]);
  for (int64_t k = 0; k < e->base.count[i]; k++) {
    out->quotient[k] = (4 * rung_odd(c, e, j, i, k) - rung_odd(c, e, j + 1, i, k)) / 3;
  }
done:
  return status;
}

/// What a difference may be off by.
static double difference_open(const difference *d) { return d->truncation + d->noise; }

/// Whether `a` leaves less open than `b`.
static bool difference_is_better(const difference *a, const difference *b) {
  return a->quotient && (!b->quotient || difference_open(a) < difference_open(b));
}

lac_status lac_check_first(check *c, evidence *e, int i, difference *out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const rung *r = NULL;

  *out = (difference){.step = c->options.step};
  LAC_TRY(rung_find(c, e, CHECK_RUNGS_DOWN, &r));
  if (!r->is_there) goto done;
  LAC_ALLOC(out->quotient, e->base.count[i]);
  for (int64_t k = 0; k < e->base.count[i]; k++) out->quotient[k] = rung_odd(c, e, CHECK_RUNGS_DOWN, i, k);
done:
  return status;
}

/// Go from rung j on in one direction as long as that helps, or nothing is known yet; `best` and its rung.
static lac_status rung_walk(check *c, evidence *e, int i, int j, int direction, difference *best, int *at) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  difference here = {0};

  for (int idle = 0; idle < LOOK_AHEAD && rung_exists(c, j); j += direction) {
    LAC_TRY(rung_difference(c, e, j, i, &here));
    idle += best->quotient != NULL;
    if (difference_is_better(&here, best)) {
      lac_free(best->quotient);
      *best = here, here.quotient = NULL, *at = j, idle = 0;
    }
    lac_free(here.quotient), here.quotient = NULL;
  }
done:
  lac_free(here.quotient);
  return status;
}

/// Hold the best difference against all that longer steps from rung j on are certain of.
static lac_status rung_confront(check *c, evidence *e, int i, int j, difference *best) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const double open = difference_open(best);
  difference other = {0};

  for (; rung_exists(c, j); j++) {
    LAC_TRY(rung_difference(c, e, j, i, &other));
    if (!other.quotient) continue;
    const double gap = noise_gap(e->base.count[i], best->quotient, other.quotient);
    lac_free(other.quotient), other.quotient = NULL;
    if (!(gap > open + difference_open(&other))) continue;
    best->truncation = check_max(best->truncation, gap + difference_open(&other)), best->rival = other.step;
  }
done:
  lac_free(other.quotient);
  return status;
}

lac_status lac_check_best(check *c, evidence *e, int i, difference *out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  difference best = {0};
  int at = 0;

  LAC_TRY(lac_check_measure(c, e));
  LAC_TRY(rung_walk(c, e, i, CHECK_RUNGS_DOWN, -1, &best, &at));
  if (best.quotient) LAC_TRY(rung_walk(c, e, i, at + 1, 1, &best, &at));
  if (best.quotient) LAC_TRY(rung_confront(c, e, i, at + 1, &best));
  *out = best, best.quotient = NULL;
done:
  lac_free(best.quotient);
  return status;
}

void lac_check_drop(evidence *e) {
  lac_check_free(&e->base);
  for (int j = 0; j < CHECK_RUNGS; j++) lac_check_free(&e->rungs[j].plus), lac_check_free(&e->rungs[j].minus);
}
