// SPDX-License-Identifier: Apache-2.0
/// @file segment_dot.c
/// An inner product for each group: the adjoint of segment_scale.
///
///     forward   s_j   = sum of u_i conj(v_i) over the group of j      the object is the map
///     vjp       u_bar = segment_scale(s_bar, v)
///               v_bar = segment_scale(conj(s_bar), u)
///     jvp       s_dot = segment_dot(u_dot, v) + segment_dot(u, v_dot)

#include "ops/reductions/segment.h"

enum { U, V };
enum { S };

static lac_status segment_dot_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->segment_dot));
  LAC_TRY(KERNELS(c)->segment_dot(ctx, c->object, c->in[U], c->in[V], c->out[S]));
done:
  return status;
}

static void segment_dot_vjp(lac_rule *r) {
  lac_var s_bar = r->out_bar[S];

  if (r->wants[U]) r->in_bar[U] = lac_segment_scale(r->tape, r->object, s_bar, r->in[V]);
  if (r->wants[V]) r->in_bar[V] = lac_segment_scale(r->tape, r->object, lac_conj(r->tape, s_bar), r->in[U]);
}

static void segment_dot_jvp(lac_rule *r) {
  r->out_dot[S] = lac_add(r->tape, lac_segment_dot(r->tape, r->object, r->in_dot[U], r->in[V]),
                          lac_segment_dot(r->tape, r->object, r->in[U], r->in_dot[V]));
}

const lac_op lac_op_segment_dot = {
    .name = "segment_dot",
    .signature = "(p),(p)->(q)",
    .binds = "map: p -> q",
    .parameters = "map: map, u: array, v: array",
    .about = "The sum of u_i conj(v_i) of each group.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .jvp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .forward = segment_dot_forward,
    .vjp = segment_dot_vjp,
    .jvp = segment_dot_jvp,
};

lac_var lac_segment_dot(lac_tape *tape, const lac_map *map, lac_var u, lac_var v) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_segment_dot, .object = map}, (lac_var[]){u, v});
}
