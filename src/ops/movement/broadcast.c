// SPDX-License-Identifier: Apache-2.0
/// @file broadcast.c
/// An array spread over some axes: the adjoint of sum.
///
///     forward   y     = x repeated along the axes of a mask    i[0], i[1] as in sum; `like` is the shape of y
///     vjp       x_bar = sum(y_bar)                             over the same axes
///     jvp       y_dot = broadcast(x_dot)

#include "ops/axes.h"

enum { X };
enum { Y };

/// Axis e of x must be axis d of y, which is not spread: size and partition agree.
static bool broadcast_keeps(const lac_meta *x, int e, const lac_meta *y, int d) {
  bool x_spread = x->partition && x->partition_axis == e, y_spread = y->partition && y->partition_axis == d;
  return e < x->ndim && x->shape[e] == y->shape[d] && x_spread == y_spread &&
         (!x_spread || x->partition == y->partition);
}

static lac_status broadcast_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &c->in_meta[X], *like = &c->attrs->like;
  bool keep = c->attrs->i[1] == true, fits = true;
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];
  int e = 0;

  LAC_CHECK(like->ndim >= 0 && like->ndim <= LAC_MAX_DIMS, LAC_ERR_SHAPE,
            "broadcast: a shape of %d dimensions; 0 to %d are possible", like->ndim, LAC_MAX_DIMS);
  for (int d = 0; fits && d < like->ndim; d++) {
    bool spread = c->attrs->i[0] >> (like->ndim - 1 - d) & 1;
    fits = like->shape[d] >= 0;
    if (spread && !keep) continue;
    fits = fits && (spread ? e < x->ndim && x->shape[e] == 1 : broadcast_keeps(x, e, like, d));
    e++;
  }
  LAC_CHECK(fits && e == x->ndim && c->attrs->i[0] >= 0 && c->attrs->i[0] < (int64_t)1 << like->ndim, LAC_ERR_SHAPE,
            "broadcast: cannot spread shape %s to %s over the axes of mask 0x%llx",
            lac_shape_text(x->ndim, x->shape, have), lac_shape_text(like->ndim, like->shape, want),
            (unsigned long long)c->attrs->i[0]);
  c->out_meta[Y] = *like;
  c->out_meta[Y].dtype = x->dtype;
done:
  return status;
}

static lac_status broadcast_forward(lac_call *c) {
  return KERNELS(c)->broadcast(c->ctx, c->in[X], (uint32_t)c->attrs->i[0], c->out[Y]);
}

static void broadcast_vjp(lac_rule *r) { r->in_bar[X] = lac_sum_axes(r->tape, r->out_bar[Y], OVER(MASK(r)), KEEP(r)); }

static void broadcast_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_broadcast(r->tape, r->in_dot[X], &r->attrs->like, OVER(MASK(r)), KEEP(r));
}

const lac_op lac_op_broadcast = {
    .name = "broadcast",
    .signature = "()->()",
    .parameters = "x: array, shape: shape, axes: integer, keepdims: flag = false",
    .about = "x repeated along the axes of a mask: the adjoint of sum.",
    .order = LAC_ANY_ORDER,
    .infer = broadcast_infer,
    .forward = broadcast_forward,
    .vjp = broadcast_vjp,
    .jvp = broadcast_jvp,
};

lac_var lac_broadcast(lac_tape *tape, lac_var x, const lac_meta *like, int count, const int *axes, bool keepdims) {
  lac_spec spec = {.op = &lac_op_broadcast, .attrs.i[1] = keepdims};

  if (!like) return lac_tape_lacks(tape, "broadcast", "like", "the meta of an array that has the shape");
  spec.attrs.i[0] = lac_axes_mask(tape, "broadcast", like->ndim, count, axes);
  spec.attrs.like = *like;
  return lac_emit(tape, &spec, &x);
}
