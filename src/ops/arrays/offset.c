// SPDX-License-Identifier: Apache-2.0
/// @file offset.c
/// An array plus a frozen number.
///
///     forward   y     = x + alpha            alpha = f[0] + i f[1]; real dtypes read f[0] alone
///     vjp       x_bar = y_bar
///     jvp       y_dot = x_dot

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status offset_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(c->attrs->f[1] == 0 || lac_dtype_is_complex(c->in_meta[X].dtype), LAC_ERR_DTYPE,
            "offset: the number has an imaginary part (%g) and the array is %s; cast the array to a complex dtype",
            c->attrs->f[1], lac_dtype_name(c->in_meta[X].dtype));
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status offset_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_array *alpha = NULL;

  LAC_TRY(lac_array_create(ctx, c->in_meta[X].dtype, 0, NULL, &alpha));
  LAC_TRY(c->ctx->backend->fill(ctx, alpha, c->attrs->f[0], c->attrs->f[1]));
  LAC_TRY(KERNELS(c)->binary(ctx, LAC_ADD, c->in[X], alpha, c->out[Y]));
done:
  lac_array_destroy(&alpha);
  return status;
}

static void offset_vjp(lac_rule *r) { r->in_bar[X] = r->out_bar[Y]; }

static void offset_jvp(lac_rule *r) { r->out_dot[Y] = r->in_dot[X]; }

const lac_op lac_op_offset = {
    .name = "offset",
    .signature = "()->()",
    .parameters = "x: array, real: real, imag: real = 0",
    .about = "x + real + i imag, a frozen number.",
    .order = LAC_ANY_ORDER,
    .infer = offset_infer,
    .forward = offset_forward,
    .vjp = offset_vjp,
    .jvp = offset_jvp,
};

lac_var lac_offset(lac_tape *tape, lac_var x, double real, double imag) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_offset, .attrs.f = {real, imag}}, &x);
}
