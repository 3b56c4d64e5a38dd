// SPDX-License-Identifier: Apache-2.0
/// @file cos.c
/// The cosine.
///
///     forward   y     = cos(x)
///     vjp       x_bar = -y_bar conj(sin(x))
///     jvp       y_dot = -sin(x) x_dot

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status cos_forward(lac_call *c) { return lac_call_unary(c, LAC_COS); }

static void cos_vjp(lac_rule *r) {
  r->in_bar[X] = lac_neg(r->tape, lac_mul(r->tape, r->out_bar[Y], lac_conj(r->tape, lac_sin(r->tape, r->in[X]))));
}

static void cos_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_neg(r->tape, lac_mul(r->tape, lac_sin(r->tape, r->in[X]), r->in_dot[X]));
}

const lac_op lac_op_cos = {
    .name = "cos",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "The cosine.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .forward = cos_forward,
    .vjp = cos_vjp,
    .jvp = cos_jvp,
};

lac_var lac_cos(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_cos}, &x); }
