// SPDX-License-Identifier: Apache-2.0
/// The operator div: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void div_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = setup->c->i[0] ? lac_div_or_zero(tape, in[0], in[1]) : lac_div(tape, in[0], in[1]);
}

static void div_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    *walk_item(&w, out, 0) = *walk_item(&w, &in[0], 0) / *walk_item(&w, &in[1], 0);
  }
}

/// Divisors stay away from zero, on both sides of it.
static void div_fill(const op_case *c, int input, ref *x) {
  (void)c;
  for (int64_t i = 0; input == 1 && i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? -1 : 1;
}

static void check_div(lac_context *ctx, const char *x, const char *y, const char *z) {
  for (int or_zero = 0; or_zero <= 1; ++or_zero) {
    check_op(ctx, &(op_case){.op = "div",
                             .shapes = {x, y},
                             .result = {z},
                             .i = {or_zero},
                             .apply = div_apply,
                             .dense = div_dense,
                             .fill = div_fill,
                             .degree = {1, -1},
                             .slack = 4});
  }
}

static void div_differentiates(lac_context *ctx) { check_div(ctx, "2,3", "2,3", "2,3"); }

static void div_broadcasts_both_ways(lac_context *ctx) {
  check_div(ctx, "2,1,3", "2,1", "2,2,3");
  check_div(ctx, "3,2", "", "3,2");
}

static void div_takes_empty_and_single_arrays(lac_context *ctx) {
  check_div(ctx, "", "", "");
  check_div(ctx, "0,3", "1,3", "0,3");
}

static lac_var one_over(lac_tape *tape, lac_var x) {
  return lac_div(tape, lac_tape_scalar(tape, lac_tape_meta(tape, x)->dtype, 1, 0), x);
}

static lac_var one_over_or_zero(lac_tape *tape, lac_var x) {
  return lac_div_or_zero(tape, lac_tape_scalar(tape, lac_tape_meta(tape, x)->dtype, 1, 0), x);
}

static void div_by_zero_is_infinite(lac_context *ctx) {
  if (!check_claimed("div")) return;
  CHECK(isinf(creal(probe_value(ctx, one_over, LAC_F64, 0))));
  CHECK(isinf(creal(probe_gradient(ctx, one_over, LAC_F64, 0))));
}

static void div_or_zero_is_zero_to_every_order_where_the_divisor_is(lac_context *ctx) {
  if (!check_claimed("div")) return;
  for (int order = 0; order <= 4; ++order) {
    CHECK(probe_derivative(ctx, one_over_or_zero, LAC_F32, 0, order) == 0);
    CHECK(probe_derivative(ctx, one_over_or_zero, LAC_C128, 0, order) == 0);
  }
  CHECK_NEAR(creal(probe_derivative(ctx, one_over_or_zero, LAC_F64, 0.5, 4)), 24 * 32, 1e-13);
  CHECK(isnan(creal(probe_value(ctx, one_over_or_zero, LAC_F64, NAN))));
}

static void complex_quotients_of_huge_and_tiny_numbers_stay_in_range(lac_context *ctx) {
  if (!check_claimed("div")) return;
  number huge = probe_value(ctx, one_over, LAC_C128, 3e300 + 4e300 * I);
  CHECK_NEAR(creal(huge), 0.12e-300, 1e-15);
  CHECK_NEAR(cimag(huge), -0.16e-300, 1e-15);
  number tiny = probe_value(ctx, one_over, LAC_C64, 3e-30 + 4e-30 * I);
  CHECK_NEAR(creal(tiny), 0.12e30, 1e-6);
  CHECK_NEAR(cimag(tiny), -0.16e30, 1e-6);
}

static number numerator;
static lac_var over(lac_tape *tape, lac_var y) {
  return lac_div(tape, lac_tape_scalar(tape, LAC_C128, creal(numerator), cimag(numerator)), y);
}

/// Each part by itself: neither is lost by what the other is, or by what the squares would be.
static void complex_quotients_reach_the_ends_of_the_range(lac_context *ctx) {
  if (!check_claimed("div")) return;
  numerator = 1.7e308 * I;
  CHECK(probe_value(ctx, over, LAC_C128, 1.7e308 + 1.7e308 * I) == 0.5 + 0.5 * I);
  numerator = 1 + 1e200 * I;
  number large = probe_value(ctx, over, LAC_C128, 1e-200);
  CHECK_NEAR(creal(large), 1e200, 1e-15);
  CHECK(cimag(large) == (double)INFINITY);
  numerator = 0x1p-1074;
  CHECK(probe_value(ctx, over, LAC_C128, 0x1p-1074 * I) == -I);
}

static void div_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "div", .shapes = {"200,301", "301"}, .result = {"200,301"}, .apply = div_apply};
  check_op_large(ctx, &c);
}

/// Forward: z. Gradient: z, x_bar and y_bar, which the negation leaves where the product was.
static void div_takes_its_results_alone(lac_context *ctx) {
  int64_t bytes = 200 * 300 * 8;
  if (!check_claimed("div")) return;
  check_op_peak(ctx,
                &(op_case){.op = "div", .shapes = {"200,300", "200,300"}, .result = {"200,300"}, .apply = div_apply},
                LAC_F64, bytes, 3 * bytes);
}

CHECK_MAIN(div_differentiates, div_broadcasts_both_ways, div_takes_empty_and_single_arrays, div_by_zero_is_infinite,
           div_or_zero_is_zero_to_every_order_where_the_divisor_is,
           complex_quotients_of_huge_and_tiny_numbers_stay_in_range, complex_quotients_reach_the_ends_of_the_range,
           div_does_not_depend_on_threads, div_takes_its_results_alone)
