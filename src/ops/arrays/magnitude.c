// SPDX-License-Identifier: Apache-2.0
/// @file magnitude.c
/// The size of numbers as powers of two: scales that round nothing.
///
///     forward   y = 2^floor(log2 |x|), of a real dtype; 1 at 0; no less than the smallest normal number
///     vjp, jvp  nothing: y is constant wherever it is differentiable

#include "autodiff/rule.h"

static lac_status magnitude_forward(lac_call *c) { return lac_call_unary(c, LAC_MAGNITUDE); }

const lac_op lac_op_magnitude = {
    .name = "magnitude",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "The power of two at or below |x|, of a real dtype; its derivative is zero.",
    .order = LAC_ANY_ORDER,
    .infer = lac_call_match_real,
    .forward = magnitude_forward,
    .vjp = lac_rule_nothing,
    .jvp = lac_rule_nothing,
};

lac_var lac_magnitude(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_magnitude}, &x); }
