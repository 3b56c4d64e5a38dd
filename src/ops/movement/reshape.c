// SPDX-License-Identifier: Apache-2.0
/// @file reshape.c
/// The same numbers in the same order under another shape.
///
///     forward   y     = x                `like` is the shape of y; -1: the axis that is spread over ranks
///     vjp       x_bar = reshape(y_bar)   to the shape of x
///     jvp       y_dot = reshape(x_dot)

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status reshape_infer(lac_call *c) {
  const lac_meta *like = &c->attrs->like;

  return lac_meta_reshape(c->ctx, "reshape", &c->in_meta[X], like->ndim, like->shape, &c->out_meta[Y]);
}

static lac_status reshape_forward(lac_call *c) { return c->ctx->backend->copy(c->ctx, c->in[X], c->out[Y]); }

static lac_var reshape_to(lac_tape *tape, lac_var x, lac_meta like);

static void reshape_vjp(lac_rule *r) { r->in_bar[X] = reshape_to(r->tape, r->out_bar[Y], r->in_meta[X]); }

static void reshape_jvp(lac_rule *r) { r->out_dot[Y] = reshape_to(r->tape, r->in_dot[X], r->out_meta[Y]); }

const lac_op lac_op_reshape = {
    .name = "reshape",
    .signature = "()->()",
    .parameters = "x: array, shape: shape",
    .about = "As many numbers, other shape.",
    .order = LAC_ANY_ORDER,
    .infer = reshape_infer,
    .forward = reshape_forward,
    .vjp = reshape_vjp,
    .jvp = reshape_jvp,
};

/// To the shape of `like`, whose spread axis is known here and need not be found again.
static lac_var reshape_to(lac_tape *tape, lac_var x, lac_meta like) {
  if (like.partition) like.shape[like.partition_axis] = -1;
  return lac_reshape(tape, x, like.ndim, like.shape);
}

lac_var lac_reshape(lac_tape *tape, lac_var x, int ndim, const int64_t *shape) {
  lac_spec spec = {.op = &lac_op_reshape, .attrs.like.ndim = ndim};

  if (!shape && ndim != 0) return lac_tape_lacks_shape(tape, "reshape", ndim);
  for (int d = 0; d < spec.attrs.like.ndim && d < LAC_MAX_DIMS; d++) spec.attrs.like.shape[d] = shape[d];
  return lac_emit(tape, &spec, &x);
}
