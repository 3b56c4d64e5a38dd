// SPDX-License-Identifier: Apache-2.0
/// @file relu.c
/// The positive part.
///
///     forward   y     = max(x, 0), and NaN of NaN
///     vjp       x_bar = y_bar where y != 0, else 0
///     jvp       y_dot = x_dot where y != 0, else 0
///
/// Reals alone: it needs an order. Its derivative at 0 is 0.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status relu_forward(lac_call *c) { return lac_call_unary(c, LAC_RELU); }

static void relu_vjp(lac_rule *r) { r->in_bar[X] = lac_select(r->tape, r->out[Y], r->out_bar[Y], LAC_SELECT_NONZERO); }

static void relu_jvp(lac_rule *r) { r->out_dot[Y] = lac_select(r->tape, r->out[Y], r->in_dot[X], LAC_SELECT_NONZERO); }

const lac_op lac_op_relu = {
    .name = "relu",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "max(x, 0), of reals; derivative 0 at 0.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_OUT(Y),
    .jvp_needs = NEEDS_OUT(Y),
    .infer = lac_call_match_ordered,
    .forward = relu_forward,
    .vjp = relu_vjp,
    .jvp = relu_jvp,
};

lac_var lac_relu(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_relu}, &x); }
