// SPDX-License-Identifier: Apache-2.0
/// @file log1p.c
/// log(1 + x), exact also where x is small.
///
///     forward   y     = log(1 + x)
///     vjp       x_bar = y_bar / (1 + x)
///     jvp       y_dot = x_dot / (1 + x)
///
/// Reals alone: the C library has it for no others.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status log1p_forward(lac_call *c) { return lac_call_unary(c, LAC_LOG1P); }

static void log1p_vjp(lac_rule *r) {
  r->in_bar[X] = lac_div(r->tape, r->out_bar[Y], lac_offset(r->tape, r->in[X], 1, 0));
}

static void log1p_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_div(r->tape, r->in_dot[X], lac_offset(r->tape, r->in[X], 1, 0));
}

const lac_op lac_op_log1p = {
    .name = "log1p",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "log(1 + x), exact for small x, of reals.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .infer = lac_call_match_ordered,
    .forward = log1p_forward,
    .vjp = log1p_vjp,
    .jvp = log1p_jvp,
};

lac_var lac_log1p(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_log1p}, &x); }
