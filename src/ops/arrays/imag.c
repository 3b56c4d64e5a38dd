// SPDX-License-Identifier: Apache-2.0
/// @file imag.c
/// The imaginary part: zeros of a real array.
///
///     forward   y     = Im x              of the real dtype
///     vjp       x_bar = i y_bar           nothing where x is real
///     jvp       y_dot = Im x_dot

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status imag_forward(lac_call *c) { return lac_call_unary(c, LAC_IMAG); }

static void imag_vjp(lac_rule *r) {
  if (!lac_dtype_is_complex(r->in_meta[X].dtype)) {
    lac_rule_nothing(r);
    return;
  }
  r->in_bar[X] = lac_scale(r->tape, lac_cast(r->tape, r->out_bar[Y], r->in_meta[X].dtype), 0, 1);
}

static void imag_jvp(lac_rule *r) {
  lac_rule_nothing(r);
  if (lac_dtype_is_complex(r->in_meta[X].dtype)) r->out_dot[Y] = lac_imag(r->tape, r->in_dot[X]);
}

const lac_op lac_op_imag = {
    .name = "imag",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "The imaginary part, of a real dtype.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_POINTWISE,
    .infer = lac_call_match_real,
    .forward = imag_forward,
    .vjp = imag_vjp,
    .jvp = imag_jvp,
};

lac_var lac_imag(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_imag}, &x); }
