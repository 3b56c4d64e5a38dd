// SPDX-License-Identifier: Apache-2.0
/// @file cumsum.c
/// Running sums along an axis.
///
///     forward   y_i   = x_0 + ... + x_i            i[0]: axis from the end; i[1]: lac_direction, backwards from the last
///     vjp       x_bar = cumsum(y_bar)              the other way
///     jvp       y_dot = cumsum(x_dot)

#include "autodiff/rule.h"

enum { X };
enum { Y };

#define AXIS(r) ((int)(r)->attrs->i[0])
#define DIRECTION(r) ((lac_direction)(r)->attrs->i[1])

static lac_status cumsum_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &c->in_meta[X];
  int axis = x->ndim - 1 - AXIS(c);
  char text[LAC_SHAPE_TEXT];

  LAC_CHECK(AXIS(c) >= 0 && axis >= 0, LAC_ERR_SHAPE,
            "cumsum: the array %s has no axis %d; axes are counted from the end, 0 is the last",
            lac_shape_text(x->ndim, x->shape, text), AXIS(c));
  LAC_CHECK(DIRECTION(c) == LAC_FORWARDS || DIRECTION(c) == LAC_BACKWARDS, LAC_ERR_ARG,
            "cumsum: the direction is LAC_FORWARDS or LAC_BACKWARDS, not %d", (int)DIRECTION(c));
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
  LAC_TRY(KERNELS(c)->cumsum(ctx, AXIS(c), DIRECTION(c) == LAC_BACKWARDS, c->in[X], c->out[Y]));
done:
  return status;
}

static void cumsum_vjp(lac_rule *r) {
  lac_direction other = DIRECTION(r) == LAC_FORWARDS ? LAC_BACKWARDS : LAC_FORWARDS;
  r->in_bar[X] = lac_cumsum(r->tape, r->out_bar[Y], AXIS(r), other);
}

static void cumsum_jvp(lac_rule *r) { r->out_dot[Y] = lac_cumsum(r->tape, r->in_dot[X], AXIS(r), DIRECTION(r)); }

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

lac_var lac_cumsum(lac_tape *tape, lac_var x, int axis, lac_direction direction) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_cumsum, .attrs.i = {axis, direction}}, &x);
}
