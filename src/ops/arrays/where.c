// SPDX-License-Identifier: Apache-2.0
/// @file where.c
/// A choice between two arrays, number by number.
///
///     forward   z     = x where c != 0, else y          all dimensions broadcast
///     vjp       x_bar = select(c != 0, z_bar)           y_bar = select(c == 0, z_bar); zero for c
///     jvp       z_dot = select(c != 0, x_dot) + select(c == 0, y_dot)
///
/// A number that is not chosen is not read, whatever it is. c is of the dtype of x and y, as `compare` makes it.

#include "autodiff/rule.h"

enum { C, X, Y };
enum { Z };

static lac_status where_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->where));
  LAC_TRY(KERNELS(c)->where(ctx, c->in[C], c->in[X], c->in[Y], c->out[Z]));
done:
  return status;
}

static void where_vjp(lac_rule *r) {
  lac_var z_bar = r->out_bar[Z];

  lac_rule_nothing(r);  // for c
  if (r->wants[X]) r->in_bar[X] = lac_select(r->tape, r->in[C], z_bar, LAC_SELECT_NONZERO);
  if (r->wants[Y]) r->in_bar[Y] = lac_select(r->tape, r->in[C], z_bar, LAC_SELECT_ZERO);
}

static void where_jvp(lac_rule *r) {
  r->out_dot[Z] = lac_add(r->tape, lac_select(r->tape, r->in[C], r->in_dot[X], LAC_SELECT_NONZERO),
                          lac_select(r->tape, r->in[C], r->in_dot[Y], LAC_SELECT_ZERO));
}

const lac_op lac_op_where = {
    .name = "where",
    .signature = "(),(),()->()",
    .parameters = "c: condition, x: number, y: number",
    .about = "x where c is not zero, else y, of which one may be a number; no derivative in c, and nothing leaks.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(C),
    .jvp_needs = NEEDS_IN(C),
    .forward = where_forward,
    .vjp = where_vjp,
    .jvp = where_jvp,
};

lac_var lac_where(lac_tape *tape, lac_var c, lac_var x, lac_var y) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_where}, (lac_var[]){c, x, y});
}
