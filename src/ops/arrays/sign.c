// SPDX-License-Identifier: Apache-2.0
/// @file sign.c
/// The direction of each number: 1 or -1 of reals, a point of the unit circle of complex numbers.
///
///     forward   s     = x / |x|                            0 at 0
///     vjp       x_bar = i s Im(conj(s) s_bar) / |x|        0 at 0; nothing for reals
///     jvp       s_dot = i s Im(conj(s) x_dot) / |x|
///
/// Moving x along itself does not change s; moving it across, along i s, turns s by the angle. That map is its own
/// adjoint.

#include "autodiff/rule.h"

enum { X };
enum { S };

static lac_status sign_forward(lac_call *c) { return lac_call_unary(c, LAC_SIGN); }

/// The part of v that turns x, over |x|.
static lac_var sign_turn(lac_rule *r, lac_var v) {
  lac_dtype dtype = r->in_meta[X].dtype;
  lac_var s = r->out[S];

  if (!lac_dtype_is_complex(dtype)) return (lac_var){0};
  lac_var across = lac_imag(r->tape, lac_mul(r->tape, lac_conj(r->tape, s), v));
  lac_var angle = lac_div_or_zero(r->tape, across, lac_abs(r->tape, r->in[X]));
  return lac_scale(r->tape, lac_mul(r->tape, s, lac_cast(r->tape, angle, dtype)), 0, 1);
}

static void sign_vjp(lac_rule *r) { r->in_bar[X] = sign_turn(r, r->out_bar[S]); }

static void sign_jvp(lac_rule *r) { r->out_dot[S] = sign_turn(r, r->in_dot[X]); }

const lac_op lac_op_sign = {
    .name = "sign",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "x / |x|, 0 at 0; so are its derivatives there.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X) | NEEDS_OUT(S),
    .jvp_needs = NEEDS_IN(X) | NEEDS_OUT(S),
    .forward = sign_forward,
    .vjp = sign_vjp,
    .jvp = sign_jvp,
};

lac_var lac_sign(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_sign}, &x); }
