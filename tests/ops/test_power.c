// SPDX-License-Identifier: Apache-2.0
/// The operator power: its values, its refusals, its derivatives; square and reciprocal, which are made of it.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void power_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_power(tape, in[0], setup->c->f[0]);
}

static void power_dense(const op_case *c, const ref *in, ref *out) {
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = cexp(c->f[0] * clog(in[0].x[i]));
}

/// Real parts lie between 1 and 2.
static void power_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? 2 : 1;
}

static void check_power(lac_context *ctx, double exponent, const char *shape) {
  check_op(ctx, &(op_case){.op = "power",
                           .shapes = {shape},
                           .result = {shape},
                           .f = {exponent},
                           .apply = power_apply,
                           .dense = power_dense,
                           .fill = power_fill,
                           .degree = {exponent == rint(exponent) ? (int)exponent : 0},
                           .slack = 32});
}

static void whole_powers_differentiate(lac_context *ctx) {
  static const double exponents[] = {0, 2, 3, -1, -2};
  for (int i = 0; i < 5; ++i) check_power(ctx, exponents[i], "2,3");
}

static void broken_powers_differentiate(lac_context *ctx) {
  check_power(ctx, 2.5, "2,3");
  check_power(ctx, -0.5, "2,3");
}

static void power_takes_empty_and_single_arrays(lac_context *ctx) {
  check_power(ctx, 3, "");
  check_power(ctx, 3, "0,3");
}

static double exponent;
static lac_var to_the_exponent(lac_tape *tape, lac_var x) { return lac_power(tape, x, exponent); }

static void every_derivative_of_a_whole_power_is_right_at_zero(lac_context *ctx) {
  static const double of_cube[] = {0, 0, 0, 6, 0, 0};
  if (!check_claimed("power")) return;
  exponent = 3;
  for (int order = 0; order <= 5; ++order) {
    for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; ++dtype) {
      CHECK(probe_derivative(ctx, to_the_exponent, dtype, 0, order) == of_cube[order]);
    }
  }
  exponent = 0;
  CHECK(probe_value(ctx, to_the_exponent, LAC_F64, 0) == 1);
  CHECK(probe_value(ctx, to_the_exponent, LAC_C64, 0) == 1);
  CHECK(probe_gradient(ctx, to_the_exponent, LAC_F64, 0) == 0);
}

static void negative_numbers_have_whole_powers_alone(lac_context *ctx) {
  if (!check_claimed("power")) return;
  exponent = 3;
  CHECK(probe_value(ctx, to_the_exponent, LAC_F64, -2) == -8);
  CHECK(probe_gradient(ctx, to_the_exponent, LAC_F32, -2) == 12);
  exponent = 0.5;
  CHECK(isnan(creal(probe_value(ctx, to_the_exponent, LAC_F64, -2))));
  CHECK(cabs(probe_value(ctx, to_the_exponent, LAC_C128, -4) - 2 * I) < 1e-15);
}

static void whole_powers_of_complex_numbers_are_exact(lac_context *ctx) {
  if (!check_claimed("power")) return;
  exponent = 4;
  CHECK(probe_value(ctx, to_the_exponent, LAC_C64, 1 + I) == -4);
  exponent = -2;
  CHECK(probe_value(ctx, to_the_exponent, LAC_C128, 2 * I) == -0.25);
  exponent = 1000;
  CHECK(cabs(probe_value(ctx, to_the_exponent, LAC_C128, I) - 1) < 1e-12);
}

static void square_and_reciprocal_are_powers(lac_context *ctx) {
  if (!check_claimed("power")) return;
  CHECK(probe_value(ctx, lac_square, LAC_F64, -3) == 9);
  CHECK(probe_gradient(ctx, lac_square, LAC_F64, -3) == -6);
  CHECK(probe_value(ctx, lac_reciprocal, LAC_F32, -4) == -0.25);
  CHECK(probe_gradient(ctx, lac_reciprocal, LAC_F64, 2) == -0.25);
  CHECK(creal(probe_value(ctx, lac_reciprocal, LAC_F64, 0)) == INFINITY);
}

static void the_first_power_is_the_array_itself(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_scalar(tape, LAC_F32, 3, 0);
  CHECK_EQ(lac_power(tape, x, 1).id, x.id);
  lac_tape_destroy(&tape);
}

static void power_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "power", .shapes = {"70001"}, .result = {"70001"}, .f = {3}, .apply = power_apply};
  check_op_large(ctx, &c);
  c.f[0] = 2;
  check_op_large(ctx, &c);
}

CHECK_MAIN(whole_powers_differentiate, broken_powers_differentiate, power_takes_empty_and_single_arrays,
           every_derivative_of_a_whole_power_is_right_at_zero, negative_numbers_have_whole_powers_alone,
           whole_powers_of_complex_numbers_are_exact, square_and_reciprocal_are_powers,
           the_first_power_is_the_array_itself, power_does_not_depend_on_threads)
