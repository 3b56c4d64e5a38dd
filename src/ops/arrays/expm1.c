// SPDX-License-Identifier: Apache-2.0
/// @file expm1.c
/// exp(x) - 1, exact also where x is small.
///
///     forward   y     = exp(x) - 1
///     vjp       x_bar = y_bar exp(x)
///     jvp       y_dot = exp(x) x_dot
///
/// Reals alone: the C library has it for no others. The slope is exp(x), which y + 1 would lose where x is far below 0.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status expm1_forward(lac_call *c) { return lac_call_unary(c, LAC_EXPM1); }

static void expm1_vjp(lac_rule *r) { r->in_bar[X] = lac_mul(r->tape, r->out_bar[Y], lac_exp(r->tape, r->in[X])); }

static void expm1_jvp(lac_rule *r) { r->out_dot[Y] = lac_mul(r->tape, lac_exp(r->tape, r->in[X]), r->in_dot[X]); }

const lac_op lac_op_expm1 = {
    .name = "expm1",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "e^x - 1, exact for small x, of reals.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .infer = lac_call_match_ordered,
    .forward = expm1_forward,
    .vjp = expm1_vjp,
    .jvp = expm1_jvp,
};

lac_var lac_expm1(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_expm1}, &x); }
