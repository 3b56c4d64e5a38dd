// SPDX-License-Identifier: Apache-2.0
/// @file segment_max.c
/// The largest or smallest number of each group.
///
///     forward   y_j   = max or min of x_i over the group of j      i[0]: the full length of a group, i[1]: lac_extreme
///     vjp       x_bar = segment_scale(y_bar, w)                    w = segment_ties(x)
///     jvp       y_dot = segment_dot(x_dot, w)
///
/// The object is the map. Where several numbers are the extreme, each has an even share of the derivative. With i[0] =
/// 0 a group of nothing gives -inf (max) or +inf (min); else the zeros that are not stored take part, also in sharing.
/// NaN wins.

#include "ops/reductions/segment.h"

enum { X };
enum { Y };

static lac_status segment_max_forward(lac_call *c) {
  return segment_run(c, EXTREME(c) == LAC_EXTREME_LARGEST ? LAC_SEGMENT_MAX : LAC_SEGMENT_MIN);
}

static void segment_max_vjp(lac_rule *r) {
  lac_var w = lac_segment_ties(r->tape, r->object, r->in[X], FULL(r), EXTREME(r));
  r->in_bar[X] = lac_segment_scale(r->tape, r->object, r->out_bar[Y], w);
}

static void segment_max_jvp(lac_rule *r) {
  lac_var w = lac_segment_ties(r->tape, r->object, r->in[X], FULL(r), EXTREME(r));
  r->out_dot[Y] = lac_segment_dot(r->tape, r->object, r->in_dot[X], w);
}

const lac_op lac_op_segment_max = {
    .name = "segment_max",
    .signature = "(p)->(q)",
    .binds = "map: p -> q",
    .parameters = "map: map, x: array, full: integer = 0, extreme: largest|smallest = largest",
    .about = "The largest of each group; ties share the gradient; `full` as in segment_logsumexp.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .infer = segment_infer_extreme,
    .forward = segment_max_forward,
    .vjp = segment_max_vjp,
    .jvp = segment_max_jvp,
};

lac_var lac_segment_max(lac_tape *tape, const lac_map *map, lac_var x, int64_t full, lac_extreme extreme) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_segment_max, .object = map, .attrs.i = {full, extreme}}, &x);
}
