// SPDX-License-Identifier: Apache-2.0
/// The operator exp: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void exp_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_exp(tape, in[0]);
}

static void exp_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = cexp(x);
  }
}

static void check_exp(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "exp", .shapes = {shape}, .result = {shape}, .apply = exp_apply, .dense = exp_dense});
}

static void exp_differentiates(lac_context *ctx) { check_exp(ctx, "4,3"); }

static void exp_takes_empty_and_single_arrays(lac_context *ctx) {
  check_exp(ctx, "");
  check_exp(ctx, "0,3");
}

static void every_derivative_of_exp_is_exp(lac_context *ctx) {
  if (!check_claimed("exp")) return;
  for (int order = 0; order <= 5; ++order) {
    CHECK_NEAR(creal(probe_derivative(ctx, lac_exp, LAC_F64, 0.5, order)), exp(0.5), 1e-14);
    CHECK_NEAR(creal(probe_derivative(ctx, lac_exp, LAC_F32, -3, order)), exp(-3), 1e-6);
  }
}

static void exp_ends_at_zero_and_infinity(lac_context *ctx) {
  if (!check_claimed("exp")) return;
  CHECK(probe_value(ctx, lac_exp, LAC_F64, -INFINITY) == 0);
  CHECK(probe_gradient(ctx, lac_exp, LAC_F64, -800) == 0);
  CHECK(isinf(creal(probe_value(ctx, lac_exp, LAC_F32, 100))));
  CHECK(isnan(creal(probe_value(ctx, lac_exp, LAC_F64, NAN))));
}

/// Over the whole range, the numbers below the normal ones included. The reference has more digits.
static void exp_is_right_to_a_unit_in_the_last_place(lac_context *ctx) {
  enum { COUNT = 20000 };
  double x[COUNT], y[COUNT];
  lac_array *in = NULL;
  lac_tape *tape = NULL;
  if (!check_claimed("exp")) return;
  for (int i = 0; i < COUNT; ++i) x[i] = (-745.1 + 1454.8 * i / COUNT) * (i % 3 ? 1 : 1e-3);
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){COUNT}, x, LAC_OWNERSHIP_COPY, &in));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, lac_exp(tape, lac_tape_constant(tape, in))), y));
  for (int i = 0; i < COUNT; ++i) {
    long double right = expl(x[i]), unit = fmaxl((long double)0x1p-1074, right * 0x1p-52L);
    CHECK(fabsl(y[i] - right) <= unit);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&in);
}

static void exp_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "exp", .shapes = {"70001"}, .result = {"70001"}, .apply = exp_apply});
}

CHECK_MAIN(exp_differentiates, exp_takes_empty_and_single_arrays, every_derivative_of_exp_is_exp,
           exp_ends_at_zero_and_infinity, exp_is_right_to_a_unit_in_the_last_place, exp_does_not_depend_on_threads)
