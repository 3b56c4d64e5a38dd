// SPDX-License-Identifier: Apache-2.0
/// @file sum.c
/// The sum over some axes.
///
///     forward   y     = sum of x over the axes of a mask      i[0]: bit d is the d-th axis from the end; i[1]: lac_axes
///     vjp       x_bar = broadcast(y_bar)                      back over the same axes
///     jvp       y_dot = sum(x_dot)
///
/// Over an axis that is spread over ranks this is the sum over all ranks, and the result is replicated.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status sum_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &c->in_meta[X];
  lac_meta *y = &c->out_meta[Y];
  uint32_t mask = (uint32_t)c->attrs->i[0];

  LAC_CHECK(c->attrs->i[0] >= 0 && c->attrs->i[0] < (int64_t)1 << x->ndim, LAC_ERR_SHAPE,
            "sum: the mask of axes is 0x%llx and the array has %d dimensions; bit d is the d-th axis from the end",
            (unsigned long long)c->attrs->i[0], x->ndim);
  LAC_CHECK(c->attrs->i[1] == LAC_DROP_AXES || c->attrs->i[1] == LAC_KEEP_AXES, LAC_ERR_ARG,
            "sum: axes is LAC_DROP_AXES or LAC_KEEP_AXES, not %lld", (long long)c->attrs->i[1]);
  *y = (lac_meta){.dtype = x->dtype};
  for (int d = 0; d < x->ndim; d++) {
    bool summed = mask >> (x->ndim - 1 - d) & 1;
    if (summed && c->attrs->i[1] == LAC_DROP_AXES) continue;
    if (!summed && x->partition && x->partition_axis == d) y->partition = x->partition, y->partition_axis = y->ndim;
    y->shape[y->ndim++] = summed ? 1 : x->shape[d];
  }
done:
  return status;
}

static lac_status sum_forward(lac_call *c) {
  return KERNELS(c)->sum(c->ctx, c->in[X], (uint32_t)c->attrs->i[0], c->out[Y]);
}

static void sum_vjp(lac_rule *r) {
  r->in_bar[X] =
      lac_broadcast(r->tape, r->out_bar[Y], &r->in_meta[X], (uint32_t)r->attrs->i[0], (lac_axes)r->attrs->i[1]);
}

static void sum_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_sum_axes(r->tape, r->in_dot[X], (uint32_t)r->attrs->i[0], (lac_axes)r->attrs->i[1]);
}

const lac_op lac_op_sum = {
    .name = "sum",
    .signature = "()->()",
    .order = LAC_ANY_ORDER,
    .flags = LAC_COMMUNICATES,
    .infer = sum_infer,
    .forward = sum_forward,
    .vjp = sum_vjp,
    .jvp = sum_jvp,
};

lac_var lac_sum_axes(lac_tape *tape, lac_var x, uint32_t mask, lac_axes axes) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_sum, .attrs.i = {mask, axes}}, &x);
}

lac_var lac_sum(lac_tape *tape, lac_var x) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  return lac_sum_axes(tape, x, meta ? (1u << meta->ndim) - 1 : 0, LAC_DROP_AXES);
}
