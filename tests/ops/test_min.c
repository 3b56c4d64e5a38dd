// SPDX-License-Identifier: Apache-2.0
/// The operator min: its values, its refusals, its derivatives.

#include "support/extreme_case.h"

static number min_formula(const number *x, int64_t n) { return extreme_of(x, n, -1); }

static const axes_subject subject = {lac_min, min_formula};

static op_case min_case(void) {
  return (op_case){.op = "min", .data = &subject, .dtypes = OP_REAL, .degree = {1}, .fill = axes_apart};
}

static void min_takes_empty_batches(lac_context *ctx) {
  op_case c = axes_case(min_case(), "0,3", 1);
  check_op(ctx, &c);
}

static void min_takes_any_axes(lac_context *ctx) { check_extreme_axes(ctx, min_case()); }
static void min_shares_its_gradient_among_ties(lac_context *ctx) { check_extreme_ties(ctx, min_case(), -1); }
static void min_takes_infinities_and_hands_on_nan(lac_context *ctx) { check_extreme_infinities(ctx, min_case()); }
static void min_refuses_an_axis_of_no_numbers(lac_context *ctx) { check_extreme_refuses_nothing(ctx, min_case()); }
static void min_does_not_depend_on_threads(lac_context *ctx) { check_op_axes_large(ctx, min_case()); }

CHECK_MAIN(min_takes_any_axes, min_takes_empty_batches, min_shares_its_gradient_among_ties,
           min_takes_infinities_and_hands_on_nan, min_refuses_an_axis_of_no_numbers, min_does_not_depend_on_threads)
