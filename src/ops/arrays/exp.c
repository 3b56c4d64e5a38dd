// SPDX-License-Identifier: Apache-2.0
/// @file exp.c
/// The exponential.
///
///     forward   y     = exp(x)
///     vjp       x_bar = y_bar conj(y)
///     jvp       y_dot = y x_dot

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status exp_forward(lac_call *c) { return lac_call_unary(c, LAC_EXP); }

static void exp_vjp(lac_rule *r) { r->in_bar[X] = lac_mul(r->tape, r->out_bar[Y], lac_conj(r->tape, r->out[Y])); }

static void exp_jvp(lac_rule *r) { r->out_dot[Y] = lac_mul(r->tape, r->out[Y], r->in_dot[X]); }

const lac_op lac_op_exp = {
    .name = "exp",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "e^x.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_OUT(Y),
    .jvp_needs = NEEDS_OUT(Y),
    .forward = exp_forward,
    .vjp = exp_vjp,
    .jvp = exp_jvp,
};

lac_var lac_exp(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_exp}, &x); }
