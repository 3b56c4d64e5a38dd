// SPDX-License-Identifier: Apache-2.0
/// @file sigmoid.c
/// The logistic function.
///
///     forward   y     = 1 / (1 + exp(-x))
///     vjp       x_bar = y_bar conj(y sigmoid(-x))
///     jvp       y_dot = y sigmoid(-x) x_dot
///
/// No exponential overflows: exp(-|x|) is all that is computed. Of complex numbers it has poles at odd multiples of i
/// pi.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status sigmoid_forward(lac_call *c) { return lac_call_unary(c, LAC_SIGMOID); }

/// y (1 - y), where 1 - y = sigmoid(-x) keeps its digits also where y is nearly 1.
static lac_var sigmoid_slope(lac_rule *r) {
  return lac_mul(r->tape, r->out[Y], lac_sigmoid(r->tape, lac_neg(r->tape, r->in[X])));
}

static void sigmoid_vjp(lac_rule *r) {
  r->in_bar[X] = lac_mul(r->tape, r->out_bar[Y], lac_conj(r->tape, sigmoid_slope(r)));
}

static void sigmoid_jvp(lac_rule *r) { r->out_dot[Y] = lac_mul(r->tape, sigmoid_slope(r), r->in_dot[X]); }

const lac_op lac_op_sigmoid = {
    .name = "sigmoid",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "1 / (1 + e^-x).",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X) | NEEDS_OUT(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_OUT(Y),
    .forward = sigmoid_forward,
    .vjp = sigmoid_vjp,
    .jvp = sigmoid_jvp,
};

lac_var lac_sigmoid(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_sigmoid}, &x); }
