// SPDX-License-Identifier: Apache-2.0
/// @file segment_ties.c
/// The even shares of the extremes of each group: the derivative of segment_max.
///
///     forward   w_i = 1 / n where x_i is one of the n extremes of its group, else 0      i[0], i[1] as in segment_max
///     vjp, jvp  nothing: w is constant wherever it is differentiable
///
/// The object is the map. Implicit zeros that are the extreme count in n.

#include "ops/reductions/segment.h"

enum { X };
enum { W };

static lac_status segment_ties_forward(lac_call *c) {
  return segment_run(c, EXTREME(c) == LAC_EXTREME_LARGEST ? LAC_SEGMENT_MAX_TIES : LAC_SEGMENT_MIN_TIES);
}

const lac_op lac_op_segment_ties = {
    .name = "segment_ties",
    .signature = "(p)->(p)",
    .binds = "map: p -> q",
    .parameters = "map: map, x: array, full: integer = 0, extreme: largest|smallest = largest",
    .about =
        "The even share of each number that is the extreme of its group, 0 for the others; its derivative is zero.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .infer = segment_infer_extreme,
    .forward = segment_ties_forward,
    .vjp = lac_rule_nothing,
    .jvp = lac_rule_nothing,
};

lac_var lac_segment_ties(lac_tape *tape, const lac_map *map, lac_var x, int64_t full, lac_extreme extreme) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_segment_ties, .object = map, .attrs.i = {full, extreme}}, &x);
}
