// SPDX-License-Identifier: Apache-2.0
/// @file clamp.c
/// An array moved into an interval.
///
///     forward   y     = min(max(x, low), high)        f[0]: low, f[1]: high, infinite ones too; NaN stays
///     vjp       x_bar = y_bar where x = y, else 0
///     jvp       y_dot = x_dot where x = y, else 0
///
/// x = y on the closed interval: the derivative is 1 at both ends. Reals alone: it needs an order.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status clamp_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(c->attrs->f[0] <= c->attrs->f[1], LAC_ERR_ARG,
            "clamp: the bounds are %g and %g; the lower one comes first, and -inf and inf stand for none",
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

/// v where x was not moved.
static lac_var clamp_inside(lac_rule *r, lac_var v) {
  return lac_select(r->tape, LAC_WHERE_NONZERO, lac_compare(r->tape, LAC_EQ, r->in[X], r->out[Y]), v);
}

static void clamp_vjp(lac_rule *r) { r->in_bar[X] = clamp_inside(r, r->out_bar[Y]); }

static void clamp_jvp(lac_rule *r) { r->out_dot[Y] = clamp_inside(r, r->in_dot[X]); }

const lac_op lac_op_clamp = {
    .name = "clamp",
    .signature = "()->()",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X) | NEEDS_OUT(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_OUT(Y),
    .infer = clamp_infer,
    .forward = clamp_forward,
    .vjp = clamp_vjp,
    .jvp = clamp_jvp,
};

lac_var lac_clamp(lac_tape *tape, double low, double high, lac_var x) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_clamp, .attrs.f = {low, high}}, &x);
}
