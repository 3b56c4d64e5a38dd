// SPDX-License-Identifier: Apache-2.0
/// @file heaviside.c
/// Where an array is positive.
///
///     forward   y = 1 where x > 0, else 0         reals alone: it needs an order
///     vjp, jvp  nothing: y is constant wherever it is differentiable

#include "autodiff/rule.h"

static lac_status heaviside_forward(lac_call *c) { return lac_call_unary(c, LAC_HEAVISIDE); }

const lac_op lac_op_heaviside = {
    .name = "heaviside",
    .signature = "()->()",
    .parameters = "x: array",
    .about = "1 where x > 0, else 0, of reals; its derivative is zero.",
    .order = LAC_ANY_ORDER,
    .infer = lac_call_match_ordered,
    .forward = heaviside_forward,
    .vjp = lac_rule_nothing,
    .jvp = lac_rule_nothing,
};

lac_var lac_heaviside(lac_tape *tape, lac_var x) { return lac_emit(tape, &(lac_spec){.op = &lac_op_heaviside}, &x); }
