// SPDX-License-Identifier: Apache-2.0
/// @file segment_softmax.c
/// The weights of the entries of each group.
///
///     forward   p_i   = exp(x_i) / (sum of exp(x) over its group + zeros)      i[0]: the full length n of a group
///     vjp       x_bar = p p_bar - segment_scale(segment_dot(p_bar, p), p)
///     jvp       p_dot = p x_dot - segment_scale(segment_dot(x_dot, p), p)
///
/// The object is the map; implicit zeros as in segment_logsumexp, they have weight and no derivative. Entries that the
/// map drops, and groups without mass (all -inf), have weights of 0. Among +inf they are shared evenly.

#include "ops/reductions/segment.h"

enum { X };
enum { P };

static lac_status segment_softmax_forward(lac_call *c) { return segment_run(c, LAC_SEGMENT_SOFTMAX); }

/// (diag(p) - p p^T) t in each group; the matrix is symmetric, so both rules are this.
static lac_var segment_softmax_apply(lac_rule *r, lac_var t) {
  lac_var p = r->out[P];
  lac_var mean = lac_segment_scale(r->tape, r->object, lac_segment_dot(r->tape, r->object, t, p), p);
  return lac_sub(r->tape, lac_mul(r->tape, p, t), mean);
}

static void segment_softmax_vjp(lac_rule *r) { r->in_bar[X] = segment_softmax_apply(r, r->out_bar[P]); }
static void segment_softmax_jvp(lac_rule *r) { r->out_dot[P] = segment_softmax_apply(r, r->in_dot[X]); }

const lac_op lac_op_segment_softmax = {
    .name = "segment_softmax",
    .signature = "(p)->(p)",
    .binds = "map: p -> q",
    .parameters = "map: map, x: array, full: integer = 0",
    .about = "The weights exp(x) / sum within each group; `full` as in segment_logsumexp.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_OUT(P),
    .jvp_needs = NEEDS_OUT(P),
    .infer = segment_infer_ordered,
    .forward = segment_softmax_forward,
    .vjp = segment_softmax_vjp,
    .jvp = segment_softmax_jvp,
};

lac_var lac_segment_softmax(lac_tape *tape, const lac_map *map, lac_var x, int64_t full) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_segment_softmax, .object = map, .attrs.i = {full}}, &x);
}
