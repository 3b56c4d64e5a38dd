// SPDX-License-Identifier: Apache-2.0
/// @file tanh.c
/// The hyperbolic tangent.
///
///     forward   y     = tanh(x)
///     vjp       x_bar = y_bar - y_bar conj(y)^2
///     jvp       y_dot = x_dot - y^2 x_dot

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status tanh_forward(lac_call *c) { return lac_call_unary(c, LAC_TANH); }

/// v (1 - y^2)
static lac_var tanh_slope(lac_rule *r, lac_var v, lac_var y) {
  return lac_sub(r->tape, v, lac_mul(r->tape, lac_mul(r->tape, v, y), y));
}

static void tanh_vjp(lac_rule *r) { r->in_bar[X] = tanh_slope(r, r->out_bar[Y], lac_conj(r->tape, r->out[Y])); }

static void tanh_jvp(lac_rule *r) { r->out_dot[Y] = tanh_slope(r, r->in_dot[X], r->out[Y]); }

const lac_op lac_op_tanh = {
    .name = "tanh",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "The hyperbolic tangent.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_OUT(Y),
    .jvp_needs = NEEDS_OUT(Y),
    .forward = tanh_forward,
    .vjp = tanh_vjp,
    .jvp = tanh_jvp,
};

lac_var lac_tanh(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_tanh}, &x); }
