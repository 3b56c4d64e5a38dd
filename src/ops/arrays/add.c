// SPDX-License-Identifier: Apache-2.0
/// @file add.c
/// The sum of two arrays.
///
///     forward   z     = x + y            all dimensions broadcast
///     vjp       x_bar = z_bar            y_bar = z_bar
///     jvp       z_dot = x_dot + y_dot

#include "autodiff/rule.h"
#include "autodiff/tape_impl.h"

enum { X, Y };
enum { Z };

static lac_status add_forward(lac_call *c) {
  return KERNELS(c)->binary(c->ctx, LAC_ADD, c->in[X], c->in[Y], c->out[Z]);
}

static void add_vjp(lac_rule *r) { r->in_bar[X] = r->in_bar[Y] = r->out_bar[Z]; }

static void add_jvp(lac_rule *r) { r->out_dot[Z] = lac_add(r->tape, r->in_dot[X], r->in_dot[Y]); }

const lac_op lac_op_add = {
    .name = "add",
    .signature = "(),()->()",
    .parameters = "x: number, y: number",
    .about = "x + y.",
    .order = LAC_ANY_ORDER,
    .forward = add_forward,
    .vjp = add_vjp,
    .jvp = add_jvp,
};

/// An absent var is a zero that costs nothing.
lac_var lac_add(lac_tape *tape, lac_var x, lac_var y) {
  if (lac_var_is_absent(x)) return y;
  if (lac_var_is_absent(y)) return x;
  return lac_emit(tape, &(lac_spec){.op = &lac_op_add}, (lac_var[]){x, y});
}
