// SPDX-License-Identifier: Apache-2.0
/// @file scale.c
/// An array times a frozen number, and the negative of an array.
///
///     forward   y     = alpha x              alpha = f[0] + i f[1]; real dtypes read f[0] alone
///     vjp       x_bar = conj(alpha) y_bar
///     jvp       y_dot = alpha x_dot

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status scale_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(c->attrs->f[1] == 0 || lac_dtype_is_complex(c->in_meta[X].dtype), LAC_ERR_DTYPE,
            "scale: the factor has an imaginary part (%g) and the array is %s; convert the array to a complex dtype",
            c->attrs->f[1], lac_dtype_name(c->in_meta[X].dtype));
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status scale_forward(lac_call *c) {
  return KERNELS(c)->scale(c->ctx, c->attrs->f[0], c->attrs->f[1], c->in[X], c->out[Y]);
}

static void scale_vjp(lac_rule *r) {
  r->in_bar[X] = lac_scale(r->tape, r->out_bar[Y], r->attrs->f[0], -r->attrs->f[1]);
}

static void scale_jvp(lac_rule *r) { r->out_dot[Y] = lac_scale(r->tape, r->in_dot[X], r->attrs->f[0], r->attrs->f[1]); }

const lac_op lac_op_scale = {
    .name = "scale",
    .signature = "()->()",
    .parameters = "x: array, real: real, imag: real = 0",
    .about = "(real + i imag) x, a frozen factor.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_POINTWISE,
    .infer = scale_infer,
    .forward = scale_forward,
    .vjp = scale_vjp,
    .jvp = scale_jvp,
};

lac_var lac_scale(lac_tape *tape, lac_var x, double real, double imag) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_scale, .attrs.f = {real, imag}}, &x);
}

lac_var lac_neg(lac_tape *tape, lac_var x) { return lac_scale(tape, x, -1, 0); }
