// SPDX-License-Identifier: Apache-2.0
/// @file mul.c
/// The product of two arrays, number by number.
///
///     forward   z     = x * y                all dimensions broadcast
///     vjp       x_bar = z_bar * conj(y)      y_bar = z_bar * conj(x)
///     jvp       z_dot = x_dot * y + x * y_dot

#include "autodiff/rule.h"

enum { X, Y };
enum { Z };

static lac_status mul_forward(lac_call *c) {
  return KERNELS(c)->binary(c->ctx, LAC_MUL, c->in[X], c->in[Y], c->out[Z]);
}

static void mul_vjp(lac_rule *r) {
  lac_var z_bar = r->out_bar[Z];

  if (r->wants[X]) r->in_bar[X] = lac_mul(r->tape, z_bar, lac_conj(r->tape, r->in[Y]));
  if (r->wants[Y]) r->in_bar[Y] = lac_mul(r->tape, z_bar, lac_conj(r->tape, r->in[X]));
}

static void mul_jvp(lac_rule *r) {
  r->out_dot[Z] = lac_add(r->tape, lac_mul(r->tape, r->in_dot[X], r->in[Y]), lac_mul(r->tape, r->in[X], r->in_dot[Y]));
}

const lac_op lac_op_mul = {
    .name = "mul",
    .signature = "(),()->()",
    .parameters = "x: number, y: number",
    .about = "x y, number by number.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .forward = mul_forward,
    .vjp = mul_vjp,
    .jvp = mul_jvp,
};

lac_var lac_mul(lac_tape *tape, lac_var x, lac_var y) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_mul}, (lac_var[]){x, y});
}
