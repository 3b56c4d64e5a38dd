// SPDX-License-Identifier: Apache-2.0
/// @file clamp.c
/// An array moved into an interval.
///
///     forward   y     = min(max(x, low), high)        f[0]: low, f[1]: high, infinite ones too; NaN stays
///     vjp       x_bar = y_bar where low < x < high, else 0
///     jvp       y_dot = x_dot where low < x < high, else 0
///
/// The interval is open: on a bound the derivative is 0, as that of relu at 0. Reals alone: it needs an order.

#include <math.h>

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status clamp_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(c->attrs->f[0] <= c->attrs->f[1], LAC_ERR_ARG,
            "clamp: the bounds are %g and %g; the lower one comes first, and -inf and inf stand for no bound",
            c->attrs->f[0], c->attrs->f[1]);
  LAC_TRY(lac_call_match_ordered(c));
done:
  return status;
}

static lac_status clamp_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->clamp));
  LAC_TRY(KERNELS(c)->clamp(ctx, c->attrs->f[0], c->attrs->f[1], c->in[X], c->out[Y]));
done:
  return status;
}

static lac_var clamp_where_positive(lac_rule *r, lac_var x, lac_var v) {
  return lac_select(r->tape, lac_heaviside(r->tape, x), v, LAC_SELECT_NONZERO);
}

/// v where low < x < high; an infinite bound does not bind.
static lac_var clamp_inside(lac_rule *r, lac_var v) {
  double low = r->attrs->f[0], high = r->attrs->f[1];
  lac_var x = r->in[X];

  if (low > -(double)INFINITY) v = clamp_where_positive(r, lac_offset(r->tape, x, -low, 0), v);
  if (high < (double)INFINITY) v = clamp_where_positive(r, lac_offset(r->tape, lac_neg(r->tape, x), high, 0), v);
  return v;
}

static void clamp_vjp(lac_rule *r) { r->in_bar[X] = clamp_inside(r, r->out_bar[Y]); }

static void clamp_jvp(lac_rule *r) { r->out_dot[Y] = clamp_inside(r, r->in_dot[X]); }

const lac_op lac_op_clamp = {
    .name = "clamp",
    .signature = "()->()",
    .parameters = "x: array, low: real = -inf, high: real = inf",
    .about = "x moved into [low, high]; the derivative is 1 inside it and 0 on its bounds.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .infer = clamp_infer,
    .forward = clamp_forward,
    .vjp = clamp_vjp,
    .jvp = clamp_jvp,
};

lac_var lac_clamp(lac_tape *tape, lac_var x, double low, double high) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_clamp, .attrs.f = {low, high}}, &x);
}
