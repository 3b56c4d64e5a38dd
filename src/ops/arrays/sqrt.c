// SPDX-License-Identifier: Apache-2.0
/// @file sqrt.c
/// The square root.
///
///     forward   y     = sqrt(x)
///     vjp       x_bar = y_bar / (2 conj(y))
///     jvp       y_dot = x_dot / (2 y)
///
/// Its derivative at 0 is infinite. Of negative reals it is NaN; of complex numbers it is the root with a real part >=
/// 0: the cut is the negative real axis.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status sqrt_forward(lac_call *c) { return lac_call_unary(c, LAC_SQRT); }

static void sqrt_vjp(lac_rule *r) {
  r->in_bar[X] = lac_scale(r->tape, lac_div(r->tape, r->out_bar[Y], lac_conj(r->tape, r->out[Y])), 0.5, 0);
}

static void sqrt_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_scale(r->tape, lac_div(r->tape, r->in_dot[X], r->out[Y]), 0.5, 0);
}

const lac_op lac_op_sqrt = {
    .name = "sqrt",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "The square root; its derivative at 0 is infinite.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_OUT(Y),
    .jvp_needs = NEEDS_OUT(Y),
    .forward = sqrt_forward,
    .vjp = sqrt_vjp,
    .jvp = sqrt_jvp,
};

lac_var lac_sqrt(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_sqrt}, &x); }
