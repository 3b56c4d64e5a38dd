// SPDX-License-Identifier: Apache-2.0
/// @file log.c
/// The natural logarithm.
///
///     forward   y     = log(x)
///     vjp       x_bar = y_bar / conj(x)
///     jvp       y_dot = x_dot / x
///
/// Of negative reals it is NaN. Of complex numbers it is log|x| + i arg(x) with -pi < arg(x) <= pi: the cut is the
/// negative real axis.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status log_forward(lac_call *c) { return lac_call_unary(c, LAC_LOG); }

static void log_vjp(lac_rule *r) { r->in_bar[X] = lac_div(r->tape, r->out_bar[Y], lac_conj(r->tape, r->in[X])); }

static void log_jvp(lac_rule *r) { r->out_dot[Y] = lac_div(r->tape, r->in_dot[X], r->in[X]); }

const lac_op lac_op_log = {
    .name = "log",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "The natural logarithm.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .forward = log_forward,
    .vjp = log_vjp,
    .jvp = log_jvp,
};

lac_var lac_log(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_log}, &x); }
