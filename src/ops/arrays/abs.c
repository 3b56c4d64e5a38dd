// SPDX-License-Identifier: Apache-2.0
/// @file abs.c
/// The size of each number.
///
///     forward   y     = |x|                          of the real dtype
///     vjp       x_bar = y_bar sign(x)                sign(x) = x / |x|, and 0 at 0
///     jvp       y_dot = Re(conj(sign(x)) x_dot)

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status abs_forward(lac_call *c) { return lac_call_unary(c, LAC_ABS); }

static void abs_vjp(lac_rule *r) {
  lac_var y_bar = lac_cast(r->tape, r->out_bar[Y], r->in_meta[X].dtype);
  r->in_bar[X] = lac_mul(r->tape, y_bar, lac_sign(r->tape, r->in[X]));
}

static void abs_jvp(lac_rule *r) {
  lac_var sign = lac_sign(r->tape, r->in[X]);
  r->out_dot[Y] = lac_real(r->tape, lac_mul(r->tape, lac_conj(r->tape, sign), r->in_dot[X]));
}

const lac_op lac_op_abs = {
    .name = "abs",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "|x|, of a real dtype; its gradient x / |x| is 0 at 0.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .infer = lac_call_match_real,
    .forward = abs_forward,
    .vjp = abs_vjp,
    .jvp = abs_jvp,
};

lac_var lac_abs(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_abs}, &x); }
