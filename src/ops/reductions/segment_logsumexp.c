// SPDX-License-Identifier: Apache-2.0
/// @file segment_logsumexp.c
/// The logarithm of a sum of exponentials for each group.
///
///     forward   y_j   = log(sum of exp(x_i) over the group of j + zeros)       i[0]: the full length n of a group
///     vjp       x_bar = segment_scale(y_bar, p)      p = segment_softmax(x)
///     jvp       y_dot = segment_dot(x_dot, p)
///
/// The object is the map. With n = 0 only what is stored counts, and a group of nothing gives -inf. Else zeros = n -
/// count absent entries take part as exp(0): the result is that of the dense row. The largest exponent is taken out
/// first; infinities and NaN come out as they would of the plain formula.

#include "ops/reductions/segment.h"

enum { X };
enum { Y };

static lac_status segment_logsumexp_forward(lac_call *c) { return segment_run(c, LAC_SEGMENT_LOGSUMEXP); }

static void segment_logsumexp_vjp(lac_rule *r) {
  lac_var p = lac_segment_softmax(r->tape, r->object, r->in[X], FULL(r));
  r->in_bar[X] = lac_segment_scale(r->tape, r->object, r->out_bar[Y], p);
}

static void segment_logsumexp_jvp(lac_rule *r) {
  lac_var p = lac_segment_softmax(r->tape, r->object, r->in[X], FULL(r));
  r->out_dot[Y] = lac_segment_dot(r->tape, r->object, r->in_dot[X], p);
}

const lac_op lac_op_segment_logsumexp = {
    .name = "segment_logsumexp",
    .signature = "(p)->(q)",
    .binds = "map: p -> q",
    .parameters = "map: map, x: array, full: integer = 0",
    .about =
        "log of the sum of exp of each group; with `full`, groups have so many numbers, zeros where none is stored.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(X),
    .infer = segment_infer_ordered,
    .forward = segment_logsumexp_forward,
    .vjp = segment_logsumexp_vjp,
    .jvp = segment_logsumexp_jvp,
};

lac_var lac_segment_logsumexp(lac_tape *tape, const lac_map *map, lac_var x, int64_t full) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_segment_logsumexp, .object = map, .attrs.i = {full}}, &x);
}
