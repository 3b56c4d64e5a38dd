// SPDX-License-Identifier: Apache-2.0
/// @file sub.c
/// The difference of two arrays.
///
///     forward   z     = x - y            all dimensions broadcast
///     vjp       x_bar = z_bar            y_bar = -z_bar
///     jvp       z_dot = x_dot - y_dot

#include "autodiff/rule.h"
#include "autodiff/tape_impl.h"

enum { X, Y };
enum { Z };

static lac_status sub_forward(lac_call *c) {
  return KERNELS(c)->binary(c->ctx, LAC_SUB, c->in[X], c->in[Y], c->out[Z]);
}

static void sub_vjp(lac_rule *r) {
  r->in_bar[X] = r->out_bar[Z];
  if (r->wants[Y]) r->in_bar[Y] = lac_neg(r->tape, r->out_bar[Z]);
}

static void sub_jvp(lac_rule *r) { r->out_dot[Z] = lac_sub(r->tape, r->in_dot[X], r->in_dot[Y]); }

const lac_op lac_op_sub = {
    .name = "sub",
    .signature = "(),()->()",
    .parameters = "x: number, y: number",
    .about = "x - y.",
    .order = LAC_ANY_ORDER,
    .forward = sub_forward,
    .vjp = sub_vjp,
    .jvp = sub_jvp,
};

/// An absent var is a zero that costs nothing.
lac_var lac_sub(lac_tape *tape, lac_var x, lac_var y) {
  if (lac_var_is_absent(x)) return lac_var_is_absent(y) ? y : lac_neg(tape, y);
  if (lac_var_is_absent(y)) return x;
  return lac_emit(tape, &(lac_spec){.op = &lac_op_sub}, (lac_var[]){x, y});
}
