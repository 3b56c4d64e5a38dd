// SPDX-License-Identifier: Apache-2.0
/// The operator pow: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void pow_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_pow(tape, in[0], in[1]);
}

static void pow_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    *walk_item(&w, out, 0) = cexp(*walk_item(&w, &in[1], 0) * clog(*walk_item(&w, &in[0], 0)));
  }
}

/// The real parts of x lie between 1 and 2.
static void pow_fill(const op_case *c, int input, ref *x) {
  (void)c;
  for (int64_t i = 0; input == 0 && i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? 2 : 1;
}

static void check_pow(lac_context *ctx, const char *x, const char *y, const char *z) {
  check_op(ctx, &(op_case){.op = "pow",
                           .shapes = {x, y},
                           .result = {z},
                           .apply = pow_apply,
                           .dense = pow_dense,
                           .fill = pow_fill,
                           .slack = 16});
}

static void pow_differentiates(lac_context *ctx) { check_pow(ctx, "2,2", "2,2", "2,2"); }

static void pow_broadcasts_both_ways(lac_context *ctx) {
  check_pow(ctx, "2,1,2", "2,1", "2,2,2");
  check_pow(ctx, "3", "", "3");
}

static void pow_takes_empty_and_single_arrays(lac_context *ctx) {
  check_pow(ctx, "", "", "");
  check_pow(ctx, "0,3", "1,3", "0,3");
}

// One of the two is what the probe varies.
static double other;
static lac_var of_base(lac_tape *tape, lac_var x) {
  return lac_pow(tape, x, lac_tape_scalar(tape, lac_tape_meta(tape, x)->dtype, other, 0));
}
static lac_var of_exponent(lac_tape *tape, lac_var y) {
  return lac_pow(tape, lac_tape_scalar(tape, lac_tape_meta(tape, y)->dtype, other, 0), y);
}

static void derivatives_in_the_base_at_zero_are_right(lac_context *ctx) {
  if (!check_claimed("pow")) return;
  other = 2;
  CHECK(probe_value(ctx, of_base, LAC_F64, 0) == 0);
  CHECK(probe_derivative(ctx, of_base, LAC_F64, 0, 1) == 0);
  CHECK(probe_derivative(ctx, of_base, LAC_F64, 0, 2) == 2);
  CHECK(probe_derivative(ctx, of_base, LAC_C64, 0, 1) == 0);
  other = 0;
  CHECK(probe_value(ctx, of_base, LAC_F64, 0) == 1);
  CHECK(probe_value(ctx, of_base, LAC_C128, 0) == 1);
  CHECK(probe_derivative(ctx, of_base, LAC_F64, 0, 1) == 0);
  CHECK(probe_derivative(ctx, of_base, LAC_C128, 0, 1) == 0);
  other = 0.5;
  CHECK(creal(probe_derivative(ctx, of_base, LAC_F32, 0, 1)) == INFINITY);
}

static void derivatives_in_the_exponent_at_base_zero_are_zero(lac_context *ctx) {
  if (!check_claimed("pow")) return;
  other = 0;
  for (int order = 1; order <= 3; ++order) {
    CHECK(probe_derivative(ctx, of_exponent, LAC_F64, 2, order) == 0);
    CHECK(probe_derivative(ctx, of_exponent, LAC_C128, 2, order) == 0);
  }
  CHECK(probe_gradient(ctx, of_exponent, LAC_F64, 0) == 0);
}

static void derivatives_in_the_exponent_are_powers_of_the_logarithm(lac_context *ctx) {
  if (!check_claimed("pow")) return;
  other = 3;
  CHECK_NEAR(creal(probe_derivative(ctx, of_exponent, LAC_F64, 0, 3)), pow(log(3), 3), 1e-14);
  CHECK_NEAR(creal(probe_derivative(ctx, of_exponent, LAC_F64, -1.5, 2)), pow(3, -1.5) * pow(log(3), 2), 1e-14);
}

/// At y = 0 the slope y / x^(1 - y) is 0 and its derivative in y is 1 / x.
static void mixed_derivatives_at_exponent_zero_are_right(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_array *two = NULL, *zero = NULL;
  lac_var x, y, z, x_bar, mixed;
  double value = 0;
  if (!check_claimed("pow")) return;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &two));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &zero));
  CHECK_OK(lac_array_fill(ctx, two, 2, 0));
  CHECK_OK(lac_array_fill(ctx, zero, 0, 0));
  x = lac_tape_leaf(tape, two), y = lac_tape_leaf(tape, zero), z = lac_pow(tape, x, y);
  CHECK_OK(lac_tape_vjp(tape, 1, &z, NULL, 1, &x, &x_bar, LAC_GRAPH_CREATE));
  CHECK_OK(lac_tape_vjp(tape, 1, &x_bar, NULL, 1, &y, &mixed, LAC_GRAPH_NONE));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, x_bar), &value));
  CHECK(value == 0);
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, mixed), &value));
  CHECK(value == 0.5);
  lac_array_destroy(&two), lac_array_destroy(&zero);
  lac_tape_destroy(&tape);
}

static void a_negative_base_has_whole_powers_and_no_slope_in_the_exponent(lac_context *ctx) {
  if (!check_claimed("pow")) return;
  other = 3;
  CHECK(probe_value(ctx, of_base, LAC_F64, -2) == -8);
  CHECK(probe_gradient(ctx, of_base, LAC_F64, -2) == 12);
  other = -2;
  CHECK(isnan(creal(probe_gradient(ctx, of_exponent, LAC_F64, 3))));
  CHECK(cabs(probe_gradient(ctx, of_exponent, LAC_C128, 3) - conj(-8 * clog(-2))) < 1e-13);
}

static void pow_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(
      ctx, &(op_case){
               .op = "pow", .shapes = {"200,301", "301"}, .result = {"200,301"}, .apply = pow_apply, .fill = pow_fill});
}

CHECK_MAIN(pow_differentiates, pow_broadcasts_both_ways, pow_takes_empty_and_single_arrays,
           derivatives_in_the_base_at_zero_are_right, derivatives_in_the_exponent_at_base_zero_are_zero,
           derivatives_in_the_exponent_are_powers_of_the_logarithm, mixed_derivatives_at_exponent_zero_are_right,
           a_negative_base_has_whole_powers_and_no_slope_in_the_exponent, pow_does_not_depend_on_threads)
