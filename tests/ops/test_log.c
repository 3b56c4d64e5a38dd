// SPDX-License-Identifier: Apache-2.0
/// The operator log: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void log_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_log(tape, in[0]);
}

static void log_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) {
    number x = in[0].x[i];
    out[0].x[i] = clog(x);
  }
}

/// Real parts lie between 1 and 2.
static void log_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? 2 : 1;
}

static void check_log(lac_context *ctx, const char *shape) {
  check_op(ctx, &(op_case){.op = "log",
                           .shapes = {shape},
                           .result = {shape},
                           .apply = log_apply,
                           .dense = log_dense,
                           .fill = log_fill,
                           .slack = 4});
}

static void log_differentiates(lac_context *ctx) { check_log(ctx, "4,3"); }

static void log_takes_empty_and_single_arrays(lac_context *ctx) {
  check_log(ctx, "");
  check_log(ctx, "0,3");
}

static void log_differentiates_five_times(lac_context *ctx) {
  if (!check_claimed("log")) return;
  static const double factor[] = {1, -1, 2, -6, 24};  // (-1)^(n-1) (n-1)! / x^n
  for (int order = 1; order <= 5; ++order) {
    CHECK_NEAR(creal(probe_derivative(ctx, lac_log, LAC_F64, 0.5, order)), factor[order - 1] * pow(2, order), 1e-13);
  }
}

static void log_at_zero_is_infinite_with_its_derivative(lac_context *ctx) {
  if (!check_claimed("log")) return;
  CHECK(creal(probe_value(ctx, lac_log, LAC_F64, 0)) == -INFINITY);
  CHECK(creal(probe_gradient(ctx, lac_log, LAC_F64, 0)) == INFINITY);
  CHECK_NEAR(creal(probe_gradient(ctx, lac_log, LAC_F64, 1e-300)), 1e300, 1e-14);
}

static void log_of_a_negative_number_is_nan_or_has_an_angle(lac_context *ctx) {
  if (!check_claimed("log")) return;
  CHECK(isnan(creal(probe_value(ctx, lac_log, LAC_F32, -1))));
  CHECK_NEAR(cimag(probe_value(ctx, lac_log, LAC_C128, -1)), acos(-1), 1e-15);
  CHECK(cabs(probe_value(ctx, lac_log, LAC_C128, -2 - 1e-9 * I) - (log(2) - acos(-1) * I)) < 1e-8);
}

static void log_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "log", .shapes = {"70001"}, .result = {"70001"}, .apply = log_apply});
}

CHECK_MAIN(log_differentiates, log_takes_empty_and_single_arrays, log_differentiates_five_times,
           log_at_zero_is_infinite_with_its_derivative, log_of_a_negative_number_is_nan_or_has_an_angle,
           log_does_not_depend_on_threads)
