// SPDX-License-Identifier: Apache-2.0
/// The operator sigmoid: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void sigmoid_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_sigmoid(tape, in[0]);
}

static void sigmoid_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = 1 / (1 + cexp(-x));
  }
}

static void check_sigmoid(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "sigmoid",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = sigmoid_apply,
                           .dense = sigmoid_dense,
                           .slack = 4});
}

static void sigmoid_differentiates(lac_context *ctx) { check_sigmoid(ctx, "4,3"); }

static void sigmoid_takes_empty_and_single_arrays(lac_context *ctx) {
  check_sigmoid(ctx, "");
  check_sigmoid(ctx, "0,3");
}

static void sigmoid_differentiates_three_times(lac_context *ctx) {
  if (!check_claimed("sigmoid")) return;
  double y = 1 / (1 + exp(-0.5)), slope = y * (1 - y);
  CHECK_NEAR(creal(probe_derivative(ctx, lac_sigmoid, LAC_F64, 0.5, 2)), slope * (1 - 2 * y), 1e-14);
  CHECK_NEAR(creal(probe_derivative(ctx, lac_sigmoid, LAC_F64, 0.5, 3)), slope * (1 - 6 * slope), 1e-13);
}

static void large_numbers_do_not_overflow_and_slopes_keep_their_digits(lac_context *ctx) {
  if (!check_claimed("sigmoid")) return;
  static const double far[] = {-700, 700};
  for (int i = 0; i < 2; ++i) {
    CHECK_NEAR(creal(probe_gradient(ctx, lac_sigmoid, LAC_F64, far[i])), exp(-700), 1e-13);
    CHECK_NEAR(creal(probe_gradient(ctx, lac_sigmoid, LAC_C128, far[i])), exp(-700), 1e-13);
    CHECK_NEAR(creal(probe_gradient(ctx, lac_sigmoid, LAC_F32, far[i] / 10)), exp(-70), 1e-5);
  }
  CHECK(probe_value(ctx, lac_sigmoid, LAC_F64, 1e300) == 1);
  CHECK(probe_value(ctx, lac_sigmoid, LAC_F64, -1e300) == 0);
  CHECK(probe_value(ctx, lac_sigmoid, LAC_C64, -1e30) == 0);
  CHECK(isnan(creal(probe_value(ctx, lac_sigmoid, LAC_F64, NAN))));
}

static void sigmoid_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "sigmoid", .shapes = {"70001"}, .result = {"70001"}, .apply = sigmoid_apply});
}

CHECK_MAIN(sigmoid_differentiates, sigmoid_takes_empty_and_single_arrays, sigmoid_differentiates_three_times,
           large_numbers_do_not_overflow_and_slopes_keep_their_digits, sigmoid_does_not_depend_on_threads)
