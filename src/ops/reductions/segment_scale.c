// SPDX-License-Identifier: Apache-2.0
/// @file segment_scale.c
/// Each entry times the number of its group: diag(d) A and A diag(d) are this, with the maps to rows and columns.
///
///     forward   y_i   = d[target i] a_i              the object is the map; 0 where the target is -1
///     vjp       d_bar = segment_dot(y_bar, a)        d_bar_j = sum of y_bar_i conj(a_i) over the group
///               a_bar = segment_scale(conj(d), y_bar)
///     jvp       y_dot = segment_scale(d_dot, a) + segment_scale(d, a_dot)
///
/// A product with remap(d) would say the same, and hold an array of all entries between the two for every derivative.

#include "ops/reductions/segment.h"

enum { D, A };
enum { Y };

static lac_status segment_scale_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->segment_scale));
  LAC_TRY(KERNELS(c)->segment_scale(ctx, c->object, c->in[D], c->in[A], c->out[Y]));
done:
  return status;
}

static void segment_scale_vjp(lac_rule *r) {
  lac_var y_bar = r->out_bar[Y];

  if (r->wants[D]) r->in_bar[D] = lac_segment_dot(r->tape, r->object, y_bar, r->in[A]);
  if (r->wants[A]) r->in_bar[A] = lac_segment_scale(r->tape, r->object, lac_conj(r->tape, r->in[D]), y_bar);
}

static void segment_scale_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_add(r->tape, lac_segment_scale(r->tape, r->object, r->in_dot[D], r->in[A]),
                          lac_segment_scale(r->tape, r->object, r->in[D], r->in_dot[A]));
}

const lac_op lac_op_segment_scale = {
    .name = "segment_scale",
    .signature = "(q),(p)->(p)",
    .binds = "map: p -> q",
    .parameters = "map: map, d: array, a: array",
    .about = "Each number of a group times that of the group.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(D) | NEEDS_IN(A),
    .jvp_needs = NEEDS_IN(D) | NEEDS_IN(A),
    .forward = segment_scale_forward,
    .vjp = segment_scale_vjp,
    .jvp = segment_scale_jvp,
};

lac_var lac_segment_scale(lac_tape *tape, const lac_map *map, lac_var d, lac_var a) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_segment_scale, .object = map}, (lac_var[]){d, a});
}
