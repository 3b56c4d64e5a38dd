// SPDX-License-Identifier: Apache-2.0
/// @file sin.c
/// The sine.
///
///     forward   y     = sin(x)
///     vjp       x_bar = y_bar conj(cos(x))
///     jvp       y_dot = cos(x) x_dot

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status sin_forward(lac_call *c) { return lac_call_unary(c, LAC_SIN); }

static void sin_vjp(lac_rule *r) {
  r->in_bar[X] = lac_mul(r->tape, r->out_bar[Y], lac_conj(r->tape, lac_cos(r->tape, r->in[X])));
}

static void sin_jvp(lac_rule *r) { r->out_dot[Y] = lac_mul(r->tape, lac_cos(r->tape, r->in[X]), r->in_dot[X]); }

const lac_op lac_op_sin = {
    .name = "sin",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "The sine.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .forward = sin_forward,
    .vjp = sin_vjp,
    .jvp = sin_jvp,
};

lac_var lac_sin(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_sin}, &x); }
