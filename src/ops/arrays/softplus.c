// SPDX-License-Identifier: Apache-2.0
/// @file softplus.c
/// A smooth relu.
///
///     forward   y     = log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))
///     vjp       x_bar = y_bar sigmoid(x)
///     jvp       y_dot = sigmoid(x) x_dot
///
/// Reals alone: complex numbers have no larger of two, and log(1 + exp(x)) has other branches.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status softplus_forward(lac_call *c) { return lac_call_unary(c, LAC_SOFTPLUS); }

static void softplus_vjp(lac_rule *r) {
  r->in_bar[X] = lac_mul(r->tape, r->out_bar[Y], lac_sigmoid(r->tape, r->in[X]));
}

static void softplus_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_mul(r->tape, lac_sigmoid(r->tape, r->in[X]), r->in_dot[X]);
}

const lac_op lac_op_softplus = {
    .name = "softplus",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "log(1 + e^x) without overflow, of reals.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .infer = lac_call_match_ordered,
    .forward = softplus_forward,
    .vjp = softplus_vjp,
    .jvp = softplus_jvp,
};

lac_var lac_softplus(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_softplus}, &x); }
