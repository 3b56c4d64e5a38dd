// SPDX-License-Identifier: Apache-2.0
/// @file div.c
/// The quotient of two arrays, number by number.
///
///     forward   z     = x / y                    all dimensions broadcast; i[0] = 1: exactly 0 where y is 0
///     vjp       x_bar = z_bar / conj(y)          y_bar = -x_bar * conj(z)
///     jvp       z_dot = (x_dot - z * y_dot) / y
///
/// The divisions of the rules are of the same kind: where a zero divisor gives 0, all derivatives are 0 too.

#include "autodiff/rule.h"

enum { X, Y };
enum { Z };

enum { DIV_PLAIN, DIV_OR_ZERO };

static lac_var div_like(lac_rule *r, lac_var x, lac_var y) {
  return r->attrs->i[0] == DIV_OR_ZERO ? lac_div_or_zero(r->tape, x, y) : lac_div(r->tape, x, y);
}

static lac_status div_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(c->attrs->i[0] == DIV_PLAIN || c->attrs->i[0] == DIV_OR_ZERO, LAC_ERR_ARG,
            "div: i[0] is 0 (plain) or 1 (zero where the divisor is), not %lld", (long long)c->attrs->i[0]);
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status div_forward(lac_call *c) {
  lac_binary op = c->attrs->i[0] == DIV_OR_ZERO ? LAC_DIV_OR_ZERO : LAC_DIV;
  return KERNELS(c)->binary(c->ctx, op, c->in[X], c->in[Y], c->out[Z]);
}

static void div_vjp(lac_rule *r) {
  lac_var x_bar = div_like(r, r->out_bar[Z], lac_conj(r->tape, r->in[Y]));

  r->in_bar[X] = x_bar;
  if (r->wants[Y]) {
    r->in_bar[Y] = lac_neg(r->tape, lac_mul(r->tape, x_bar, lac_conj(r->tape, r->out[Z])));
  }
}

static void div_jvp(lac_rule *r) {
  lac_var moved = lac_mul(r->tape, r->out[Z], r->in_dot[Y]);
  r->out_dot[Z] = div_like(r, lac_sub(r->tape, r->in_dot[X], moved), r->in[Y]);
}

const lac_op lac_op_div = {
    .name = "div",
    .signature = "(),()->()",
    .parameters = "x: number, y: number, zeros: plain|zero = plain",
    .about = "x / y; zeros=\"zero\": exactly 0, with all derivatives, where y is 0.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(Y) | NEEDS_OUT(Z),
    .jvp_needs = NEEDS_IN(Y) | NEEDS_OUT(Z),
    .infer = div_infer,
    .forward = div_forward,
    .vjp = div_vjp,
    .jvp = div_jvp,
};

lac_var lac_div(lac_tape *tape, lac_var x, lac_var y) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_div, .attrs.i = {DIV_PLAIN}}, (lac_var[]){x, y});
}

lac_var lac_div_or_zero(lac_tape *tape, lac_var x, lac_var y) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_div, .attrs.i = {DIV_OR_ZERO}}, (lac_var[]){x, y});
}
