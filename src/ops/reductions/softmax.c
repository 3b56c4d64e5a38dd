// SPDX-License-Identifier: Apache-2.0
/// @file softmax.c
/// Exponentials that sum to one over some axes.
///
///     forward   y     = exp(x) / sum(exp(x))            the sum over the axes of a mask, i[0]
///     vjp       x_bar = y (y_bar - sum(y y_bar))
///     jvp       y_dot = y (x_dot - sum(y x_dot))
///
/// Where all numbers are -inf, all results are 0: there is no weight to share. Numbers +inf have equal shares.

#include "ops/axes.h"

enum { X };
enum { Y };

/// A reduction that keeps what it reduces: the checks of one, the shape of x.
static lac_status softmax_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_reduce_ordered(c));
  c->out_meta[Y] = c->in_meta[X];
done:
  return status;
}

static lac_status softmax_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->softmax));
  LAC_TRY(KERNELS(c)->softmax(ctx, c->in[X], MASK(c), c->out[Y]));
done:
  return status;
}

/// y (v - sum(y v)): the derivative is symmetric.
static lac_var softmax_derivative(lac_rule *r, lac_var v) {
  lac_var y = r->out[Y], share = lac_sum_axes(r->tape, lac_mul(r->tape, y, v), OVER(MASK(r)), true);
  return lac_mul(r->tape, y, lac_sub(r->tape, v, share));
}

static void softmax_vjp(lac_rule *r) { r->in_bar[X] = softmax_derivative(r, r->out_bar[Y]); }

static void softmax_jvp(lac_rule *r) { r->out_dot[Y] = softmax_derivative(r, r->in_dot[X]); }

const lac_op lac_op_softmax = {
    .name = "softmax",
    .signature = "()->()",
    .parameters = "x: array, axis: axes = -1",
    .about = "exp(x) / sum(exp(x)), the sum over the given axes, of reals; 0 where all are -inf.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_OUT(Y),
    .jvp_needs = NEEDS_OUT(Y),
    .infer = softmax_infer,
    .forward = softmax_forward,
    .vjp = softmax_vjp,
    .jvp = softmax_jvp,
};

lac_var lac_softmax(lac_tape *tape, lac_var x, int count, const int *axes) {
  uint32_t mask = lac_axes_mask(tape, "softmax", lac_axes_of(tape, x), count, axes);
  return lac_emit(tape, &(lac_spec){.op = &lac_op_softmax, .attrs.i = {mask}}, &x);
}
