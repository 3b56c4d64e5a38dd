// SPDX-License-Identifier: Apache-2.0
/// @file cumsum.c
/// Running sums along an axis.
///
///     forward   y_i   = x_0 + ... + x_i            i[0]: axis from the end; i[1]: 1 for backwards, from the last
///     vjp       x_bar = cumsum(y_bar)              the other way
///     jvp       y_dot = cumsum(x_dot)

#include "autodiff/axis.h"

enum { X };
enum { Y };

#define AXIS(r) ((int)(r)->attrs->i[0])
#define BACKWARDS(r) ((r)->attrs->i[1] != 0)

static lac_status cumsum_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &c->in_meta[X];
  int axis = x->ndim - 1 - AXIS(c);
  char text[LAC_SHAPE_TEXT];

  LAC_CHECK(AXIS(c) >= 0 && axis >= 0, LAC_ERR_SHAPE,
            "cumsum: the array %s has no axis %d; axes are counted from the end, 0 is the last",
            lac_shape_text(x->ndim, x->shape, text), AXIS(c));
  LAC_CHECK(c->attrs->i[1] == 0 || c->attrs->i[1] == 1, LAC_ERR_ARG, "cumsum: backwards is %lld; it is 0 or 1",
            (long long)c->attrs->i[1]);
  LAC_CHECK(!x->partition || x->partition_axis != axis, LAC_ERR_UNSUPPORTED,
            "cumsum: axis %d is spread over ranks and cannot be summed so yet; use a replicated array", axis);
  c->out_meta[Y] = *x;
done:
  return status;
}

static lac_status cumsum_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->cumsum));
  LAC_TRY(KERNELS(c)->cumsum(ctx, AXIS(c), BACKWARDS(c), c->in[X], c->out[Y]));
done:
  return status;
}

static void cumsum_vjp(lac_rule *r) { r->in_bar[X] = lac_cumsum(r->tape, r->out_bar[Y], -1 - AXIS(r), !BACKWARDS(r)); }

static void cumsum_jvp(lac_rule *r) { r->out_dot[Y] = lac_cumsum(r->tape, r->in_dot[X], -1 - AXIS(r), BACKWARDS(r)); }

const lac_op lac_op_cumsum = {
    .name = "cumsum",
    .signature = "()->()",
    .parameters = "x: array, axis: axis = -1, backwards: flag = false",
    .about = "Running sums along an axis, from its first place on, or from its last.",
    .order = LAC_ANY_ORDER,
    .infer = cumsum_infer,
    .forward = cumsum_forward,
    .vjp = cumsum_vjp,
    .jvp = cumsum_jvp,
};

lac_var lac_cumsum(lac_tape *tape, lac_var x, int axis, bool backwards) {
  int from_end = lac_axis_from_end(tape, "cumsum", lac_axes_of(tape, x), axis);
  return lac_emit(tape, &(lac_spec){.op = &lac_op_cumsum, .attrs.i = {from_end, backwards}}, &x);
}
