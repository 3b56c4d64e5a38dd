// SPDX-License-Identifier: Apache-2.0
/// @file reshape.c
/// The same numbers in the same order under another shape.
///
///     forward   y     = x                `like` is the shape of y
///     vjp       x_bar = reshape(y_bar)   to the shape of x
///     jvp       y_dot = reshape(x_dot)

#include "autodiff/rule.h"

enum { X };
enum { Y };

/// The axis of `y` that has as many rows, behind as many items, as the spread axis of x; -1 if none.
static int reshape_spread_axis(const lac_meta *x, const lac_meta *y) {
  int64_t before = 1, count = 1;

  for (int d = 0; d < x->partition_axis; d++) before *= x->shape[d];
  for (int d = 0; d < y->ndim; count *= y->shape[d], d++) {
    if (count == before && y->shape[d] == x->shape[x->partition_axis]) return d;
  }
  return -1;
}

static lac_status reshape_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &c->in_meta[X], *like = &c->attrs->like;
  lac_meta *y = &c->out_meta[Y];
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];

  LAC_CHECK(like->ndim >= 0 && like->ndim <= LAC_MAX_DIMS, LAC_ERR_SHAPE, "reshape: %d dimensions; 0 to %d are possible",
            like->ndim, LAC_MAX_DIMS);
  for (int d = 0; d < like->ndim; d++) {
    LAC_CHECK(like->shape[d] >= 0, LAC_ERR_SHAPE, "reshape: dimension %d of %s is negative; give every size", d,
              lac_shape_text(like->ndim, like->shape, want));
  }
  LAC_CHECK(lac_meta_count(x) == lac_meta_count(like), LAC_ERR_SHAPE, "reshape: %s and %s hold different counts",
            lac_shape_text(x->ndim, x->shape, have), lac_shape_text(like->ndim, like->shape, want));
  *y = *like;
  y->dtype = x->dtype;
  y->partition = x->partition;
  y->partition_axis = x->partition ? reshape_spread_axis(x, like) : 0;
  LAC_CHECK(y->partition_axis >= 0, LAC_ERR_SHAPE, "reshape: %s cannot keep the axis %d of %s, which is spread over ranks",
            lac_shape_text(like->ndim, like->shape, want), x->partition_axis, lac_shape_text(x->ndim, x->shape, have));
done:
  return status;
}

static lac_status reshape_forward(lac_call *c) { return KERNELS(c)->copy(c->ctx, c->in[X], c->out[Y]); }

static lac_var reshape_to(lac_tape *tape, lac_var x, const lac_meta *like);

static void reshape_vjp(lac_rule *r) { r->in_bar[X] = reshape_to(r->tape, r->out_bar[Y], &r->in_meta[X]); }

static void reshape_jvp(lac_rule *r) { r->out_dot[Y] = reshape_to(r->tape, r->in_dot[X], &r->attrs->like); }

const lac_op lac_op_reshape = {
    .name = "reshape",
    .signature = "()->()",
    .order = LAC_ANY_ORDER,
    .infer = reshape_infer,
    .forward = reshape_forward,
    .vjp = reshape_vjp,
    .jvp = reshape_jvp,
};

static lac_var reshape_to(lac_tape *tape, lac_var x, const lac_meta *like) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_reshape, .attrs.like = *like}, &x);
}

lac_var lac_reshape(lac_tape *tape, lac_var x, int ndim, const int64_t *shape) {
  lac_meta like = {.ndim = ndim};

  for (int d = 0; d < ndim && d < LAC_MAX_DIMS; d++) like.shape[d] = shape[d];
  return reshape_to(tape, x, &like);
}
