// SPDX-License-Identifier: Apache-2.0
/// @file min.c
/// The smallest number over some axes.
///
///     forward   y = the smallest of x over the axes of a mask      i[0]: mask, i[1]: keepdims; a NaN is it
///     vjp, jvp  in extreme.h: shared evenly among ties

#include "ops/reductions/extreme.h"

static lac_status min_forward(lac_call *c) { return lac_call_reduce(c, LAC_REDUCE_MIN); }

const lac_op lac_op_min = {
    .name = "min",
    .signature = "()->()",
    .parameters = "x: array, axis: axes = all, keepdims: flag = false",
    .about = "The smallest number over the given axes, of reals; ties share the gradient evenly, NaN is handed on.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(0) | NEEDS_OUT(0),
    .jvp_needs = NEEDS_IN(0) | NEEDS_OUT(0),
    .infer = extreme_infer,
    .forward = min_forward,
    .vjp = extreme_vjp,
    .jvp = extreme_jvp,
};

lac_var lac_min(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims) {
  uint32_t mask = lac_axes_mask(tape, "min", lac_axes_of(tape, x), count, axes);
  return lac_emit(tape, &(lac_spec){.op = &lac_op_min, .attrs.i = {mask, keepdims}}, &x);
}
