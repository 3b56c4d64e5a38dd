// SPDX-License-Identifier: Apache-2.0
/// The operator max: its values, its refusals, its derivatives.

#include "support/extreme_case.h"

static number max_formula(const number *x, int64_t n) { return extreme_of(x, n, 1); }

static const axes_subject subject = {lac_max, max_formula};

static op_case max_case(void) {
  return (op_case){.op = "max", .data = &subject, .dtypes = OP_REAL, .degree = {1}, .fill = axes_apart};
}

static void max_takes_empty_batches(lac_context *ctx) {
  op_case c = axes_case(max_case(), "0,3", 1);
  check_op(ctx, &c);
}

static void max_takes_any_axes(lac_context *ctx) { check_extreme_axes(ctx, max_case()); }
static void max_shares_its_gradient_among_ties(lac_context *ctx) { check_extreme_ties(ctx, max_case(), 1); }
static void max_takes_infinities_and_hands_on_nan(lac_context *ctx) { check_extreme_infinities(ctx, max_case()); }
static void max_refuses_an_axis_of_no_numbers(lac_context *ctx) { check_extreme_refuses_nothing(ctx, max_case()); }
static void max_does_not_depend_on_threads(lac_context *ctx) { check_op_axes_large(ctx, max_case()); }

CHECK_MAIN(max_takes_any_axes, max_takes_empty_batches, max_shares_its_gradient_among_ties,
           max_takes_infinities_and_hands_on_nan, max_refuses_an_axis_of_no_numbers, max_does_not_depend_on_threads)
