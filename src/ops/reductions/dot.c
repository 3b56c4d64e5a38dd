// SPDX-License-Identifier: Apache-2.0
/// @file dot.c
/// The inner product over the last two axes.
///
///     forward   s     = sum_nk conj(x) y
///     vjp       x_bar = conj(s_bar) y        y_bar = s_bar x
///     jvp       s_dot = dot(x_dot, y) + dot(x, y_dot)

#include "autodiff/rule.h"

enum { X, Y };
enum { S };

static lac_status dot_forward(lac_call *c) { return KERNELS(c)->dot(c->ctx, c->in[X], c->in[Y], c->out[S]); }

/// s times an array (n, k): s gets two axes of size 1 to broadcast over.
static lac_var dot_spread(lac_rule *r, lac_var s, lac_var x) {
  lac_meta like = r->out_meta[S];

  like.shape[like.ndim++] = 1;
  like.shape[like.ndim++] = 1;
  return lac_mul(r->tape, lac_broadcast(r->tape, s, &like, LAC_AXES(-2, -1), false), x);
}

static void dot_vjp(lac_rule *r) {
  lac_var s_bar = r->out_bar[S];

  if (r->wants[X]) r->in_bar[X] = dot_spread(r, lac_conj(r->tape, s_bar), r->in[Y]);
  if (r->wants[Y]) r->in_bar[Y] = dot_spread(r, s_bar, r->in[X]);
}

static void dot_jvp(lac_rule *r) {
  r->out_dot[S] = lac_add(r->tape, lac_dot(r->tape, r->in_dot[X], r->in[Y]), lac_dot(r->tape, r->in[X], r->in_dot[Y]));
}

const lac_op lac_op_dot = {
    .name = "dot",
    .signature = "(n,k),(n,k)->()",
    .parameters = "x: column, y: column",
    .about = "The sum of conj(x) y over the last two axes, or of two vectors.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_COMMUNICATES,
    .vjp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .jvp_needs = NEEDS_IN(X) | NEEDS_IN(Y),
    .forward = dot_forward,
    .vjp = dot_vjp,
    .jvp = dot_jvp,
};

/// A vector as one column.
static lac_var dot_column(lac_tape *tape, lac_var x) {
  const lac_meta *meta = lac_tape_meta(tape, x);

  if (!meta || meta->ndim != 1) return x;
  return lac_reshape(tape, x, 2, (int64_t[]){meta->partition ? -1 : meta->shape[0], 1});
}

lac_var lac_dot(lac_tape *tape, lac_var x, lac_var y) {
  x = dot_column(tape, x), y = dot_column(tape, y);
  return lac_emit(tape, &(lac_spec){.op = &lac_op_dot}, (lac_var[]){x, y});
}
