// SPDX-License-Identifier: Apache-2.0
/// @file sum.c
/// The sum over some axes.
///
///     forward   y     = sum of x over the axes of a mask      i[0]: bit d is the d-th axis from the end; i[1]:
///                                                             keepdims
///     vjp       x_bar = broadcast(y_bar)                      back over the same axes
///     jvp       y_dot = sum(x_dot)
///
/// Over an axis that is spread over ranks this is the sum over all ranks, and the result is replicated.

#include "ops/axes.h"

enum { X };
enum { Y };

static lac_status sum_forward(lac_call *c) { return KERNELS(c)->sum(c->ctx, c->in[X], MASK(c), c->out[Y]); }

static void sum_vjp(lac_rule *r) { r->in_bar[X] = lac_emit_spread(r, r->out_bar[Y]); }

static void sum_jvp(lac_rule *r) { r->out_dot[Y] = lac_sum_axes(r->tape, r->in_dot[X], OVER(MASK(r)), KEEP(r)); }

const lac_op lac_op_sum = {
    .name = "sum",
    .signature = "()->()",
    .parameters = "x: array, axis: axes = all, keepdims: flag = false",
    .about = "The sum over the given axes, all by default.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_COMMUNICATES,
    .infer = lac_call_reduce_axes,
    .forward = sum_forward,
    .vjp = sum_vjp,
    .jvp = sum_jvp,
};

lac_var lac_sum_axes(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims) {
  uint32_t mask = lac_axes_mask(tape, "sum", lac_axes_of(tape, x), count, axes);
  return lac_emit(tape, &(lac_spec){.op = &lac_op_sum, .attrs.i = {mask, keepdims}}, &x);
}

lac_var lac_sum(lac_tape *tape, lac_var x) { return lac_sum_axes(tape, x, LAC_ALL_AXES, false); }
